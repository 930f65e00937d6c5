//! Accesses of LDS whose lanes are looked at together.
//!
//! One look at the addresses tells whether all lanes are inside and in what pattern; then words are checked, not bytes
//! of lanes. Whatever is wrong, or merely odd, is left to the check lane by lane ([`Lds::touch`]), which finds out what
//! it is: to have recorded some of the access before changes nothing about that.

use super::active;
use super::lds::{Lds, Record, SEVERAL};
use super::narrow::Width;
use crate::memory::{Lanes, WAVE};
use crate::wide::{Job, widest};

/// An access that is inside of LDS, and of which no lane straddles a word that it does not fill.
#[derive(Debug)]
pub(super) struct Together {
    /// Where each lane accesses; inactive lanes have the address of an active one.
    addresses: Lanes,
    exec: u64,
    bytes: u32,
    pattern: Pattern,
}

/// How the lanes' addresses follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// All the same.
    Same,
    /// All lanes are active, each right after the one before.
    Packed,
    /// Any other.
    Any,
}

/// What one look at the addresses tells.
struct Look<'a> {
    addresses: &'a [u64; WAVE],
    exec: u64,
    bytes: u32,
}

struct Seen {
    addresses: Lanes,
    highest: u32,
    /// All bits that are set in some address.
    bits: u32,
    /// Bits that are set above the low half.
    high: u64,
    pattern: Pattern,
}

impl Job for Look<'_> {
    type Out = Seen;
    #[inline(always)]
    fn run(self) -> Seen {
        let mut addresses = [0; WAVE];
        let any = self.addresses[self.exec.trailing_zeros() as usize % WAVE];
        let mut high = 0;
        for (lane, (low, &address)) in addresses.iter_mut().zip(self.addresses).enumerate() {
            let address = if (self.exec >> lane) & 1 != 0 { address } else { any };
            *low = address as u32;
            high |= address >> 32;
        }
        let first = addresses[0];
        let (mut highest, mut bits, mut apart, mut unpacked) = (0, 0, 0, 0);
        let mut next = first;
        for &address in &addresses {
            highest = address.max(highest);
            bits |= address;
            apart |= address ^ first;
            unpacked |= address ^ next;
            next = next.wrapping_add(self.bytes);
        }
        let pattern = if apart == 0 {
            Pattern::Same
        } else if unpacked == 0 && self.exec == u64::MAX {
            Pattern::Packed
        } else {
            Pattern::Any
        };
        Seen { addresses, highest, bits, high, pattern }
    }
}

impl Together {
    /// The access, if it is one for this way.
    #[inline]
    pub(super) fn of(addresses: &[u64; WAVE], exec: u64, bytes: u32, len: u64) -> Option<Self> {
        if exec == 0 {
            return None;
        }
        let seen = widest(Look { addresses, exec, bytes });
        let inside = seen.high == 0 && u64::from(seen.highest) + u64::from(bytes) <= len;
        let aligned = seen.bits & (bytes.min(4) - 1) == 0;
        (inside && aligned).then_some(Self { addresses: seen.addresses, exec, bytes, pattern: seen.pattern })
    }

    #[inline]
    fn word(&self, lane: usize) -> usize {
        self.addresses[lane] as usize / 4
    }
}

/// Four marks of one wave.
const fn marks(mark: u8) -> u32 {
    u32::from_ne_bytes([mark; 4])
}

/// One wave's access, as it is compared with the records.
struct Marks {
    epoch: u32,
    own: u32,
    offset: u32,
}

impl Marks {
    /// Records that the bytes `mask` of a word are accessed, if that is surely no race.
    #[inline(always)]
    fn pass<const WRITE: bool>(&self, record: &mut Record, mask: u32) -> bool {
        let own = self.own & mask;
        if record.epoch != self.epoch {
            *record = Record { epoch: self.epoch, ..Record::default() };
        }
        let (writer, reader) = (u32::from_ne_bytes(record.writer), u32::from_ne_bytes(record.reader));
        let (wrote, read) = (writer & mask, reader & mask);
        if wrote != 0 && wrote != own {
            return false;
        }
        if WRITE {
            if read != 0 && read != own {
                return false;
            }
            record.writer = ((writer & !mask) | own).to_ne_bytes();
            record.write_offset = self.offset;
            return true;
        }
        let mark = if read == 0 || read == own {
            own
        } else if read == marks(SEVERAL) & mask || (mask == u32::MAX && read == read.rotate_left(8)) {
            marks(SEVERAL) & mask
        } else {
            return false;
        };
        record.reader = ((reader & !mask) | mark).to_ne_bytes();
        record.read_offset = self.offset;
        true
    }
}

impl Lds {
    /// Checks and records an access. `false`: it may be wrong, to be checked lane by lane.
    #[inline]
    pub(super) fn pass<const WRITE: bool>(&mut self, lanes: &Together, wave: u32, offset: u32) -> bool {
        let marks = Marks { epoch: self.epoch, own: marks(wave as u8 + 1), offset };
        let dwords = lanes.bytes as usize / 4;
        match lanes.pattern {
            _ if dwords == 0 => active(lanes.exec).all(|lane| {
                let first = lanes.addresses[lane] % 4;
                let bytes = (1u32 << lanes.bytes) - 1;
                let mask = (u32::MAX >> (32 - 8 * lanes.bytes)) << (8 * first);
                self.pass_words::<WRITE>(&marks, lanes.word(lane), 1, mask, (bytes << first) as u8)
            }),
            Pattern::Same => self.pass_words::<WRITE>(&marks, lanes.word(0), dwords, u32::MAX, 15),
            Pattern::Packed => self.pass_words::<WRITE>(&marks, lanes.word(0), WAVE * dwords, u32::MAX, 15),
            Pattern::Any => active(lanes.exec)
                .all(|lane| self.pass_words::<WRITE>(&marks, lanes.word(lane), dwords, u32::MAX, 15)),
        }
    }

    /// Neighbouring words, the bytes `mask` of each; `bits` are the same bytes by one bit each.
    #[inline(always)]
    fn pass_words<const WRITE: bool>(
        &mut self,
        marks: &Marks,
        first: usize,
        count: usize,
        mask: u32,
        bits: u8,
    ) -> bool {
        let written = &mut self.written[first..first + count];
        if !WRITE && self.checks.uninitialised && written.iter().any(|word| word & bits != bits) {
            return false;
        }
        if self.checks.races {
            let mut records = self.records[first..first + count].iter_mut();
            if !records.all(|record| marks.pass::<WRITE>(record, mask)) {
                return false;
            }
        }
        if WRITE {
            written.iter_mut().for_each(|word| *word |= bits);
        }
        true
    }

    /// Passes beyond the first that the banks need for an access of the instruction at `offset`.
    #[inline]
    pub(super) fn bank_conflicts(&mut self, lanes: &Together, offset: u32) -> u64 {
        match lanes.pattern {
            Pattern::Same | Pattern::Packed => 0,
            Pattern::Any => self.patterns.conflicts(offset / 4, &lanes.addresses, lanes.exec, lanes.bytes),
        }
    }

    /// Loads what has been checked.
    #[inline]
    pub(super) fn load(&self, lanes: &Together, to: &mut [Lanes], width: Width) {
        match lanes.bytes {
            4 => self.load_dwords::<1>(lanes, to),
            8 => self.load_dwords::<2>(lanes, to),
            12 => self.load_dwords::<3>(lanes, to),
            16 => self.load_dwords::<4>(lanes, to),
            _ => {
                for lane in active(lanes.exec) {
                    let loaded = self.read(lanes.addresses[lane].into(), lanes.bytes);
                    to[0][lane] = width.place(loaded, to[0][lane]);
                }
            }
        }
    }

    #[inline]
    fn load_dwords<const N: usize>(&self, lanes: &Together, to: &mut [Lanes]) {
        let Some(registers) = to.first_chunk_mut::<N>() else { unreachable!("one register per dword") };
        let mut put = |lane: usize, words: &[u32]| {
            for (register, &word) in registers.iter_mut().zip(words) {
                register[lane] = word;
            }
        };
        if lanes.pattern == Pattern::Packed {
            let words = &self.words[lanes.word(0)..lanes.word(0) + N * WAVE];
            for (lane, words) in words.as_chunks::<N>().0.iter().enumerate() {
                put(lane, words);
            }
        } else {
            for lane in active(lanes.exec) {
                put(lane, &self.words[lanes.word(lane)..lanes.word(lane) + N]);
            }
        }
    }

    /// Stores what has been checked; narrow values from `shift` bits up.
    #[inline]
    pub(super) fn store(&mut self, lanes: &Together, from: &[Lanes], shift: u32) {
        match lanes.bytes {
            4 => self.store_dwords::<1>(lanes, from),
            8 => self.store_dwords::<2>(lanes, from),
            12 => self.store_dwords::<3>(lanes, from),
            16 => self.store_dwords::<4>(lanes, from),
            _ => {
                for lane in active(lanes.exec) {
                    self.write(lanes.addresses[lane].into(), lanes.bytes, from[0][lane] >> shift);
                }
            }
        }
    }

    #[inline]
    fn store_dwords<const N: usize>(&mut self, lanes: &Together, from: &[Lanes]) {
        let Some(registers) = from.first_chunk::<N>() else { unreachable!("one register per dword") };
        let get = |lane: usize, words: &mut [u32]| {
            for (register, word) in registers.iter().zip(words) {
                *word = register[lane];
            }
        };
        if lanes.pattern == Pattern::Packed {
            let words = &mut self.words[lanes.word(0)..lanes.word(0) + N * WAVE];
            for (lane, words) in words.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                get(lane, words);
            }
        } else {
            for lane in active(lanes.exec) {
                get(lane, &mut self.words[lanes.word(lane)..lanes.word(lane) + N]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lds::Touch;
    use super::*;
    use crate::memory::{AccessKind, Checks, splitmix64};
    use crate::report::LdsFault;

    const LEN: u64 = 3000;

    /// Checks lane by lane.
    fn apart(
        lds: &mut Lds,
        kind: AccessKind,
        wave: u32,
        offset: u32,
        (addresses, exec, size): (&[u64; WAVE], u64, u32),
    ) -> Result<(), LdsFault> {
        active(exec).try_for_each(|lane| lds.touch(Touch { kind, wave, at: addresses[lane], size, offset }))
    }

    /// Addresses, active lanes and bytes of an access: packed, equal, strided or scattered, seldom wrong.
    fn draw(state: &mut u64) -> ([u64; WAVE], u64, u32) {
        let mut below = |end: u64| splitmix64(state) % end;
        let bytes = [1, 2, 4, 8, 12, 16][below(6) as usize];
        let align = if below(20) == 0 { 1 } else { u64::from(bytes.min(4)) };
        let step = [0, u64::from(bytes), 4 * below(8), u64::from(bytes)][below(4) as usize];
        let start = below(400) * align;
        let scattered = below(4) == 0;
        let addresses =
            std::array::from_fn(
                |lane| {
                    if scattered { below(700) * align } else { start + step * lane as u64 }
                },
            );
        let exec = [u64::MAX, u64::MAX, u64::MAX << below(64), splitmix64(state)][lane_choice(state)];
        (addresses, exec, bytes)
    }

    fn lane_choice(state: &mut u64) -> usize {
        (splitmix64(state) % 4) as usize
    }

    #[test]
    fn the_last_byte_is_inside_and_the_next_one_is_not() {
        for bytes in [1u32, 2, 4, 8, 12, 16] {
            let at =
                |end: u64| std::array::from_fn(|lane| if lane == 63 { end - u64::from(bytes) } else { 0 });
            let fits = |end, len| Together::of(&at(end), u64::MAX, bytes, len).is_some();
            assert!(fits(64, 64) && !fits(64, 63), "{bytes} bytes");
            // What an inactive lane's register holds is no address.
            assert!(Together::of(&at(64), u64::MAX >> 1, bytes, 32).is_some(), "{bytes} bytes");
            let wrapped = [(1 << 32) + 16; WAVE];
            assert!(Together::of(&wrapped, u64::MAX, bytes, 64).is_none(), "{bytes} bytes");
        }
    }

    #[test]
    fn lanes_together_fare_as_lanes_apart() {
        let mut state = 1;
        let (mut passed, mut failed) = (0, 0);
        for checks in [Checks::ALL, Checks::BOUNDS, Checks { races: false, ..Checks::ALL }] {
            let [mut fast, mut slow] = [(); 2].map(|()| Lds::new(LEN, checks));
            for turn in 0..20_000u32 {
                let access = draw(&mut state);
                let (addresses, exec, bytes) = (&access.0, access.1, access.2);
                let wave = (splitmix64(&mut state) % 3) as u32;
                let write = turn % 500 < 100 || splitmix64(&mut state).is_multiple_of(4);
                let kind = if write { AccessKind::Write } else { AccessKind::Read };
                let together = Together::of(addresses, exec, bytes, LEN).filter(|lanes| {
                    if write {
                        fast.pass::<true>(lanes, wave, turn)
                    } else {
                        fast.pass::<false>(lanes, wave, turn)
                    }
                });
                let expected = apart(&mut slow, kind, wave, turn, (addresses, exec, bytes));
                if let Some(lanes) = together {
                    passed += 1;
                    assert_eq!(expected, Ok(()), "{lanes:?}");
                    let data: [Lanes; 4] =
                        std::array::from_fn(|_| std::array::from_fn(|_| splitmix64(&mut state) as u32));
                    let registers = bytes.div_ceil(4) as usize;
                    let part = bytes.min(4);
                    if write {
                        fast.store(&lanes, &data[..registers], 0);
                        for lane in active(exec) {
                            for (i, register) in data[..registers].iter().enumerate() {
                                slow.write(addresses[lane] + 4 * i as u64, part, register[lane]);
                            }
                        }
                        assert!(fast.words == slow.words);
                    } else {
                        let mut got = data;
                        let width = Width { bytes, signed: false, half: None };
                        fast.load(&lanes, &mut got[..registers], width);
                        for lane in 0..WAVE {
                            for i in 0..registers {
                                let active = (exec >> lane) & 1 != 0;
                                let at = addresses[lane] + 4 * i as u64;
                                let word = if active { slow.read(at, part) } else { data[i][lane] };
                                assert_eq!(got[i][lane], word);
                            }
                        }
                    }
                } else {
                    let got = apart(&mut fast, kind, wave, turn, (addresses, exec, bytes));
                    failed += u32::from(got.is_err());
                    assert_eq!(got, expected);
                }
                if splitmix64(&mut state).is_multiple_of(3) || expected.is_err() {
                    fast.pass_barrier();
                    slow.pass_barrier();
                }
            }
        }
        assert!(passed > 10_000 && failed > 1_000, "{passed} accesses passed together, {failed} failed");
    }
}
