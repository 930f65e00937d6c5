//! Races on global memory between the waves of one workgroup.
//!
//! Two waves that touch one byte between two barriers race if one of them writes it and no atomic is between the two. Each
//! wave's accesses since the last barrier stand in lists, one for each instruction: an instruction mostly walks through one
//! buffer, so that its lowest and highest address tell nearly always that nobody else was there.
//!
//! An atomic orders more here than it does on the hardware: it orders its wave after all that other waves did before their
//! own last atomics, whatever the addresses. So locks and flags are no races, and a race that only a wrong address of an
//! atomic makes is missed. So are races with reads that are more than [`MOST`] pieces back.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use super::fault::AccessKind;
use super::shadow::BlockHasher;
use super::stretch::{self, Stretch};
use super::wave::{Addresses, Extent, WAVE, WaveAccess};

/// Pieces that are kept between two barriers, before reads are forgotten.
const MOST: usize = 1 << 15;

/// Instructions whose lists are found at once.
const RECENT: usize = 32;

/// No byte, as the first and the first one behind.
const NOTHING: [u64; 2] = [u64::MAX, 0];

/// Neighbouring bytes that neighbouring lanes accessed.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: u64,
    end: u64,
    /// The lane of the first byte.
    lane: u32,
    /// Bytes per lane.
    bytes: u32,
}

impl Piece {
    fn lane_of(self, byte: u64) -> u32 {
        u32::try_from((u64::from(self.lane) + (byte - self.start) / u64::from(self.bytes)) % WAVE as u64)
            .expect("a lane is below 64")
    }
}

/// What one instruction of one wave accessed between two of the wave's atomics.
#[derive(Debug)]
struct List {
    wave: u32,
    clock: u32,
    pc: u32,
    kind: AccessKind,
    low: u64,
    high: u64,
    /// Each piece begins where the one before ends, or later.
    ascending: bool,
    pieces: Vec<Piece>,
}

impl List {
    fn add(&mut self, piece: Piece) {
        self.low = self.low.min(piece.start);
        self.high = self.high.max(piece.end);
        if let Some(last) = self.pieces.last_mut() {
            let whole = WAVE as u64 * u64::from(last.bytes);
            let full = last.lane == 0 && (last.end - last.start).is_multiple_of(whole);
            if full && last.end == piece.start && (piece.lane, piece.bytes) == (0, last.bytes) {
                last.end = piece.end;
                return;
            }
            self.ascending &= last.end <= piece.start;
        }
        self.pieces.push(piece);
    }

    fn meets(&self, low: u64, high: u64) -> bool {
        self.low < high && low < self.high
    }

    /// The piece with a byte.
    fn at(&self, byte: u64) -> Option<Piece> {
        if !self.meets(byte, byte + 1) {
            return None;
        }
        let holds = |piece: &&Piece| piece.start <= byte && byte < piece.end;
        if self.ascending {
            let next = self.pieces.partition_point(|piece| piece.end <= byte);
            self.pieces.get(next).filter(holds).copied()
        } else {
            self.pieces.iter().find(holds).copied()
        }
    }

    /// Whether a piece has a byte of a range.
    fn touches(&self, low: u64, high: u64) -> bool {
        if self.ascending {
            let next = self.pieces.partition_point(|piece| piece.end <= low);
            self.pieces.get(next).is_some_and(|piece| piece.start < high)
        } else {
            self.pieces.iter().any(|piece| piece.start < high && low < piece.end)
        }
    }
}

/// The accesses of a workgroup's waves since the last barrier.
#[derive(Debug, Default)]
pub struct Within {
    /// Those in use come first; the others keep their memory.
    lists: Vec<List>,
    used: usize,
    /// By wave, clock and instruction.
    index: HashMap<u64, usize, BuildHasherDefault<BlockHasher>>,
    /// Some of `index`, by instruction: loops come back to theirs. A list beyond those in use is none.
    recent: [(u64, usize); RECENT],
    pieces: usize,
    /// Per wave, how many atomics it has done.
    clocks: Vec<u32>,
    /// Per wave, which clocks of the others it is ordered after: accesses at lower ones.
    seen: Vec<Vec<u32>>,
    /// Per wave, the lowest and the highest byte that it has written.
    written: Vec<[u64; 2]>,
    /// As `written`, of all waves.
    written_by_any: [u64; 2],
}

/// The other side of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Other {
    pub(super) wave: u32,
    pub(super) lane: u32,
    pub(super) pc: u32,
    pub(super) access: AccessKind,
}

impl Within {
    /// Begins a workgroup of so many waves.
    pub fn begin(&mut self, waves: u32) {
        let waves = waves as usize;
        self.clocks.clear();
        self.clocks.resize(waves, 0);
        self.seen.resize(waves, Vec::new());
        self.pass_barrier();
    }

    /// All waves have met.
    pub fn pass_barrier(&mut self) {
        let waves = self.clocks.len();
        self.used = 0;
        self.pieces = 0;
        self.index.clear();
        self.written.clear();
        self.written.resize(waves, NOTHING);
        self.written_by_any = NOTHING;
        self.recent = [(0, usize::MAX); RECENT];
        for seen in &mut self.seen {
            seen.clear();
            seen.resize(waves, 0);
        }
    }

    /// `wave` does an atomic.
    pub fn synchronise(&mut self, wave: u32) {
        let wave = wave as usize;
        let (clocks, seen) = (&self.clocks, &mut self.seen[wave]);
        seen.iter_mut().zip(clocks).for_each(|(seen, clock)| *seen = *clock);
        self.clocks[wave] += 1;
    }

    /// Whether an access may race with one of another wave.
    #[inline]
    pub(super) fn suspects(&self, wave: u32, kind: AccessKind, access: &WaveAccess<'_>) -> bool {
        let reads = kind == AccessKind::Read || kind == AccessKind::Atomic;
        if reads && self.written_by_any == NOTHING {
            return false;
        }
        let [low, high] = bounds(access);
        let own = wave as usize;
        if reads {
            if !overlap(self.written_by_any, [low, high]) {
                return false;
            }
            let met = |(other, written): (usize, &[u64; 2])| other != own && overlap(*written, [low, high]);
            if !self.written.iter().enumerate().any(met) {
                return false;
            }
        }
        self.lists[..self.used].iter().any(|list| {
            list.meets(low, high) && self.concerns(list, wave, kind) && {
                let mut touched = false;
                pieces(access, |piece| touched |= list.touches(piece.start, piece.end));
                touched
            }
        })
    }

    /// Whether accesses of a list race with one of `wave` if they have bytes in common.
    fn concerns(&self, list: &List, wave: u32, kind: AccessKind) -> bool {
        let one_writes = list.kind == AccessKind::Write || kind == AccessKind::Write;
        one_writes && list.wave != wave && list.clock >= self.seen[wave as usize][list.wave as usize]
    }

    /// The first access of another wave that races with one of `wave` to a byte.
    pub(super) fn conflict(&self, wave: u32, kind: AccessKind, byte: u64) -> Option<Other> {
        let lists = &self.lists[..self.used];
        let wrote = |wave: u32| {
            lists
                .iter()
                .any(|list| list.wave == wave && list.kind == AccessKind::Write && list.at(byte).is_some())
        };
        lists.iter().filter(|list| self.concerns(list, wave, kind)).find_map(|list| {
            let piece = list.at(byte)?;
            // Who has written a byte itself reads what it wrote: others wrote the same, or there was a fault before.
            let reader = match (list.kind, kind) {
                (_, AccessKind::Read) => Some(wave),
                (AccessKind::Read, _) => Some(list.wave),
                _ => None,
            };
            if reader.is_some_and(wrote) {
                return None;
            }
            Some(Other { wave: list.wave, lane: piece.lane_of(byte), pc: list.pc, access: list.kind })
        })
    }

    /// Records an access.
    #[inline]
    pub(super) fn record(&mut self, wave: u32, kind: AccessKind, access: &WaveAccess<'_>) {
        if self.pieces >= MOST {
            self.forget_reads();
        }
        if kind != AccessKind::Read {
            let [low, high] = bounds(access);
            let written = &mut self.written[wave as usize];
            *written = [written[0].min(low), written[1].max(high)];
            let [lowest, highest] = self.written_by_any;
            self.written_by_any = [lowest.min(low), highest.max(high)];
        }
        let at = self.list(wave, kind, access.pc);
        let list = &mut self.lists[at];
        let before = list.pieces.len();
        pieces(access, |piece| list.add(piece));
        self.pieces += list.pieces.len() - before;
    }

    #[inline]
    fn list(&mut self, wave: u32, kind: AccessKind, pc: u32) -> usize {
        let clock = self.clocks[wave as usize];
        // Atomics of one instruction and clock are few: clocks advance with each. 2^24 of them repeat a key, which joins lists.
        let key = (u64::from(wave) << 56) | (u64::from(clock & 0xFF_FFFF) << 32) | u64::from(pc);
        let recent = (pc / 8) as usize % RECENT;
        if self.recent[recent].0 == key && self.recent[recent].1 < self.used {
            return self.recent[recent].1;
        }
        if let Some(&at) = self.index.get(&key) {
            self.recent[recent] = (key, at);
            return at;
        }
        let at = self.used;
        self.recent[recent] = (key, at);
        let list =
            List { wave, clock, pc, kind, low: u64::MAX, high: 0, ascending: true, pieces: Vec::new() };
        match self.lists.get_mut(at) {
            Some(old) => {
                let mut pieces = std::mem::take(&mut old.pieces);
                pieces.clear();
                *old = List { pieces, ..list };
            }
            None => self.lists.push(list),
        }
        self.used += 1;
        self.index.insert(key, at);
        at
    }

    #[cold]
    fn forget_reads(&mut self) {
        for list in self.lists[..self.used].iter_mut().filter(|list| list.kind == AccessKind::Read) {
            self.pieces -= list.pieces.len();
            list.pieces.clear();
            (list.low, list.high, list.ascending) = (u64::MAX, 0, true);
        }
    }
}

/// Whether ranges, from the first byte to the first one behind, have a byte in common.
#[inline]
const fn overlap(a: [u64; 2], b: [u64; 2]) -> bool {
    a[0] < b[1] && b[0] < a[1]
}

/// The first byte of an access and the first one behind it.
#[inline]
fn bounds(access: &WaveAccess<'_>) -> [u64; 2] {
    let bytes = u64::from(access.bytes);
    match access.addresses {
        Addresses::Run(run) => {
            let last = run.address().saturating_add((run.count() - 1) * run.step());
            [run.address(), last.saturating_add(bytes)]
        }
        Addresses::Each(addresses) => {
            let Extent { low, high, .. } = Extent::of(access.exec, addresses);
            [low, high.saturating_add(bytes)]
        }
    }
}

/// Calls `each` with the pieces of an access, in the order of lanes.
#[inline]
fn pieces(access: &WaveAccess<'_>, mut each: impl FnMut(Piece)) {
    let bytes = access.bytes;
    let size = u64::from(bytes);
    if let Addresses::Run(run) = access.addresses
        && (run.step() == size || run.count() == 1)
    {
        let (start, lane) = (run.address(), access.exec.trailing_zeros());
        each(Piece { start, end: start.saturating_add(run.count() * size), lane, bytes });
        return;
    }
    access.addresses.with(|addresses| {
        stretch::for_each(access.exec, addresses, size, |Stretch { start, end, lane }| {
            each(Piece { start, end, lane, bytes });
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(addresses: &[u64; WAVE], exec: u64, bytes: u32, pc: u32) -> WaveAccess<'_> {
        WaveAccess { exec, addresses: Addresses::of(exec, addresses), bytes, align: 1, pc, atomic: false }
    }

    fn lanes_from(start: u64, step: u64) -> [u64; WAVE] {
        std::array::from_fn(|lane| start + step * lane as u64)
    }

    fn within() -> Within {
        let mut within = Within::default();
        within.begin(4);
        within
    }

    #[test]
    fn lanes_and_instructions_of_the_other_side_are_named() {
        use AccessKind::{Read, Write};
        let mut within = within();
        let strided = lanes_from(0x1000, 64);
        within.record(1, Write, &access(&strided, u64::MAX, 4, 0x40));
        let reader = lanes_from(0x1000 + 64 * 5, 4);
        assert!(!within.suspects(1, Read, &access(&reader, 1, 4, 0x80)), "its own");
        assert!(within.suspects(2, Read, &access(&reader, 1, 4, 0x80)));
        let other = Other { wave: 1, lane: 5, pc: 0x40, access: Write };
        assert_eq!(within.conflict(2, Read, 0x1000 + 64 * 5 + 3), Some(other));
        assert_eq!(within.conflict(2, Read, 0x1000 + 64 * 5 + 4), None);
        within.pass_barrier();
        assert!(!within.suspects(2, Read, &access(&reader, 1, 4, 0x80)));
    }

    #[test]
    fn reads_race_with_later_writes_only() {
        use AccessKind::{Atomic, Read, Write};
        let mut within = within();
        let place = lanes_from(0x2000, 4);
        within.record(0, Read, &access(&place, u64::MAX, 4, 0));
        assert!(!within.suspects(1, Read, &access(&place, 2, 4, 8)));
        assert!(within.suspects(1, Write, &access(&place, 2, 4, 8)));
        assert!(!within.suspects(1, Atomic, &access(&place, 2, 4, 8)), "the load before a compare-and-swap");
        within.record(2, Atomic, &access(&lanes_from(0x3000, 4), 1, 4, 4));
        assert!(within.suspects(1, Write, &access(&lanes_from(0x3000, 4), 1, 4, 8)));
        assert!(!within.suspects(1, Atomic, &access(&lanes_from(0x3000, 4), 1, 4, 8)));
    }

    #[test]
    fn atomics_order_what_came_before_them() {
        use AccessKind::Write;
        let mut within = within();
        let place = lanes_from(0x2000, 4);
        let first = access(&place, u64::MAX, 4, 0);
        within.record(0, Write, &first);
        within.synchronise(0);
        assert!(within.suspects(1, Write, &first));
        within.synchronise(1);
        assert!(!within.suspects(1, Write, &first));
        within.record(0, Write, &first);
        assert!(within.suspects(1, Write, &first), "after the atomic");
    }

    #[test]
    fn interleaved_waves_do_not_race() {
        use AccessKind::Write;
        let mut within = within();
        for step in 0..100 {
            for wave in 0..4 {
                let place = lanes_from(0x2000 + 1024 * step + 256 * u64::from(wave), 4);
                let one = access(&place, u64::MAX, 4, 0x10);
                assert!(!within.suspects(wave, Write, &one));
                within.record(wave, Write, &one);
            }
        }
        let place = lanes_from(0x2000 + 1024 * 50 + 252, 4);
        assert!(within.suspects(0, Write, &access(&place, 3, 4, 0x20)));
        let other = within.conflict(0, Write, 0x2000 + 1024 * 50 + 256).unwrap();
        assert_eq!((other.wave, other.lane), (1, 0));
    }

    #[test]
    fn many_reads_are_forgotten_and_writes_are_not() {
        use AccessKind::{Read, Write};
        let mut within = within();
        within.record(0, Write, &access(&lanes_from(0, 4), u64::MAX, 4, 0));
        for step in 0..2 * MOST as u64 {
            within.record(1, Read, &access(&lanes_from(0x10_0000 + 1024 * step, 4), 1, 4, 4));
        }
        assert!(within.pieces <= MOST + 1);
        assert!(within.suspects(1, Write, &access(&lanes_from(0, 4), 1, 4, 8)));
    }
}
