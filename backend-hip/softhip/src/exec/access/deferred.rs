//! Accesses of LDS that no other wave can have raced with: they are recorded later, or never.
//!
//! Most kernels write LDS, meet at a barrier, and read. Waves write to places of their own; a read of what no other wave
//! has written since the last barrier can race only with a later write. So such accesses go to a list. The next barrier
//! empties the list; only if an access that may race with one of them comes near it before that, all are recorded, in
//! their order. "Near" means within one block of 64 bytes, or within the span of an access whose lanes are scattered. As long
//! as the list is short, what is near is looked up in it: waves that write rows next to each other share the blocks between.

use super::active;
use super::lds::{Lds, Touch};
use super::together::{Marks, Pattern, Together};
use crate::memory::{AccessKind, Lanes, WAVE};

/// Words of a block.
const BLOCK: usize = 16;
/// Blocks that are told apart: 64 KiB.
const BLOCKS: usize = 1024;
/// Accesses, and scattered ones among them, that are listed before they are recorded after all.
const LISTED: usize = 1 << 16;
const SCATTERED: usize = 512;

/// Accesses among which one that is near others is looked up.
const LOOKED_UP: usize = 256;

/// Neighbouring blocks, from the first to the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    first: usize,
    last: usize,
}

impl Span {
    /// Those of the words `first..=last`, which are below `BLOCK * BLOCKS`.
    #[inline(always)]
    fn of_words(first: usize, last: usize) -> Self {
        Self { first: first / BLOCK, last: last / BLOCK }
    }

    /// Calls `visit` with the words of a set that have these blocks, each with their bits. Mostly it is one word.
    #[inline(always)]
    fn for_each(self, mut visit: impl FnMut(usize, u64)) {
        const WORDS: usize = BLOCKS / 64;
        let (first, last) = (self.first / 64, self.last / 64);
        let (from, to) = (u64::MAX << (self.first % 64), u64::MAX >> (63 - self.last % 64));
        if first == last {
            return visit(first % WORDS, from & to);
        }
        visit(first % WORDS, from);
        for word in first + 1..last {
            visit(word % WORDS, u64::MAX);
        }
        visit(last % WORDS, to);
    }

    /// Whether `of` has any of these blocks' bits; it answers a word of a set by its number.
    #[inline(always)]
    fn any(self, of: impl Fn(usize) -> u64) -> bool {
        let mut any = 0;
        self.for_each(|word, mask| any |= mask & of(word));
        any != 0
    }
}

/// A set of blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Blocks([u64; BLOCKS / 64]);

impl Blocks {
    #[inline(always)]
    fn meets(&self, span: Span) -> bool {
        span.any(|word| self.0[word])
    }

    /// Whether all of them that are in the span are in `other`, too.
    #[inline(always)]
    fn meets_only(&self, span: Span, other: &Self) -> bool {
        !span.any(|word| self.0[word] & !other.0[word])
    }

    #[inline(always)]
    fn contains(&self, span: Span) -> bool {
        !span.any(|word| !self.0[word])
    }

    #[inline(always)]
    fn add(&mut self, span: Span) {
        span.for_each(|word, mask| self.0[word] |= mask);
    }

    /// Adds those of the span that are in `all` and not in `own`.
    #[inline(always)]
    fn add_common(&mut self, span: Span, all: &Self, own: &Self) {
        span.for_each(|word, mask| self.0[word] |= mask & all.0[word] & !own.0[word]);
    }

    fn join(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }
}

/// An access that has not been recorded.
#[derive(Debug, Clone, Copy)]
struct Listed {
    writes: bool,
    wave: u32,
    offset: u32,
    exec: u64,
    bytes: u32,
    pattern: Pattern,
    /// The first lane's address, or which entry of the scattered ones has all of them.
    at: u32,
}

impl Listed {
    /// From the first byte to the first one behind; `None` if there are gaps.
    fn bytes(&self) -> Option<[u32; 2]> {
        match self.pattern {
            Pattern::Same => Some([self.at, self.at + self.bytes]),
            Pattern::Packed => Some([self.at, self.at + WAVE as u32 * self.bytes]),
            Pattern::Any => None,
        }
    }
}

/// Waves of a workgroup.
const WAVES: usize = 16;

/// What is known about an epoch besides its records.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    list: Vec<Listed>,
    scattered: Vec<Lanes>,
    /// Where the listed reads are.
    read: Blocks,
    /// Where the listed writes are, of all waves and of each.
    written: Blocks,
    written_by: [Blocks; WAVES],
    /// Waves from this one on have no listed writes.
    writers: usize,
    /// Blocks in which several waves have listed writes.
    mixed: Blocks,
    /// Where accesses, and writes among them, have been recorded since the last barrier.
    recorded: Blocks,
    recorded_writes: Blocks,
    /// Blocks of which every byte has been written.
    initialised: Blocks,
    /// Blocks that have been looked at for that since the last barrier.
    looked_at: Blocks,
    /// Something has been written since the last barrier, be it listed or recorded.
    stirred: bool,
}

impl Deferred {
    /// All waves have met.
    pub(super) fn pass_barrier(&mut self) {
        self.clear_list();
        self.stirred = false;
        (self.recorded, self.recorded_writes, self.looked_at) = Default::default();
    }

    /// Nothing has been written.
    pub(super) fn reset(&mut self) {
        self.pass_barrier();
        self.initialised = Blocks::default();
    }

    fn clear_list(&mut self) {
        if self.list.is_empty() {
            return;
        }
        self.list.clear();
        self.scattered.clear();
        (self.read, self.written, self.mixed) = Default::default();
        self.written_by[..self.writers].fill(Blocks::default());
        self.writers = 0;
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.list.len() == LISTED || self.scattered.len() == SCATTERED
    }

    /// Whether an access by a wave may be put on the list: no other wave can have raced with it.
    #[inline(always)]
    fn takes(&self, writes: bool, span: Span, wave: u32) -> bool {
        let Some(own) = self.written_by.get(wave as usize) else { return false };
        if !writes && !self.stirred {
            return true;
        }
        let apart = if writes {
            !self.recorded.meets(span) && !self.read.meets(span)
        } else {
            !self.recorded_writes.meets(span)
        };
        apart && self.written.meets_only(span, own) && !self.mixed.meets(span)
    }

    /// As [`takes`](Self::takes), by looking at each listed access.
    fn takes_after_all(&self, writes: bool, span: Span, lanes: &Together, wave: u32) -> bool {
        let recorded = if writes { &self.recorded } else { &self.recorded_writes };
        let few = self.list.len() <= LOOKED_UP && (wave as usize) < WAVES;
        few && !recorded.meets(span)
            && self.list.iter().filter(|other| other.wave != wave && (writes || other.writes)).all(|other| {
                let [low, high] = [lanes.span[0], lanes.span[1] + lanes.bytes];
                other.bytes().is_some_and(|[start, end]| end <= low || high <= start)
            })
    }

    #[inline(always)]
    fn add(&mut self, writes: bool, span: Span, lanes: &Together, wave: u32, offset: u32) {
        if writes {
            self.stirred = true;
            self.mixed.add_common(span, &self.written, &self.written_by[wave as usize]);
            self.written.add(span);
            self.written_by[wave as usize].add(span);
            self.writers = self.writers.max(wave as usize + 1);
        } else {
            self.read.add(span);
        }
        let at = if lanes.pattern == Pattern::Any {
            self.scattered.push(lanes.addresses);
            self.scattered.len() as u32 - 1
        } else {
            lanes.addresses[0]
        };
        let Together { exec, bytes, pattern, .. } = *lanes;
        self.list.push(Listed { writes, wave, offset, exec, bytes, pattern, at });
    }
}

impl Lds {
    /// The blocks from the lowest to the highest lane; `None` if there are too many to tell apart.
    #[inline(always)]
    fn span(&self, lanes: &Together) -> Option<Span> {
        let [lowest, highest] = lanes.span;
        (self.count <= BLOCK * BLOCKS)
            .then(|| Span::of_words(lowest as usize / 4, (highest + lanes.bytes - 1) as usize / 4))
    }

    /// Whether an access of whole words needs no record for now. What it reads is initialised, as far as that matters;
    /// what it writes counts as written.
    #[inline(always)]
    pub(super) fn defer<const WRITE: bool>(&mut self, lanes: &Together, wave: u32, offset: u32) -> bool {
        let Some(span) = self.span(lanes) else { return false };
        if self.checks.races
            && !self.deferred.takes(WRITE, span, wave)
            && !self.deferred.takes_after_all(WRITE, span, lanes, wave)
        {
            return false;
        }
        if WRITE {
            self.mark_written(lanes);
        } else if self.checks.uninitialised
            && !self.deferred.initialised.contains(span)
            && !self.is_initialised(lanes, span, offset)
        {
            return false;
        }
        if self.checks.races {
            if self.deferred.is_full() {
                self.record_deferred();
                // The access may meet what has just been recorded.
                if !self.deferred.takes(WRITE, span, wave) {
                    return false;
                }
            }
            self.deferred.add(WRITE, span, lanes, wave, offset);
        }
        true
    }

    /// As [`defer`](Self::defer), of a read of `bytes` (whole words) by each of all lanes, at one address or one after the other.
    /// It is within LDS.
    #[inline(always)]
    pub(super) fn defer_read_in_a_row(
        &mut self,
        at: u32,
        pattern: Pattern,
        bytes: u32,
        wave: u32,
        offset: u32,
    ) -> bool {
        let all = if pattern == Pattern::Same { bytes } else { WAVE as u32 * bytes };
        let (first, last) = (at as usize / 4, (at + all - 1) as usize / 4);
        if self.count > BLOCK * BLOCKS || last >= self.count {
            return false;
        }
        let span = Span::of_words(first, last);
        if self.checks.uninitialised
            && !self.deferred.initialised.contains(span)
            && !self.are_written_in_a_row(first, last, span)
        {
            return false;
        }
        if self.checks.races {
            if self.deferred.is_full() || !self.deferred.takes(false, span, wave) {
                return false;
            }
            self.deferred.read.add(span);
            let exec = u64::MAX;
            self.deferred.list.push(Listed { writes: false, wave, offset, exec, bytes, pattern, at });
        }
        true
    }

    /// All of these words have been written. Learns which blocks are wholly so.
    fn are_written_in_a_row(&mut self, first: usize, last: usize, span: Span) -> bool {
        if !self.deferred.looked_at.contains(span) {
            self.look_at(span);
        }
        self.written[first..=last].iter().fold(15, |all, word| all & word) == 15
    }

    #[inline(always)]
    fn mark_written(&mut self, lanes: &Together) {
        let words = lanes.bytes as usize / 4;
        let first = lanes.addresses[0] as usize / 4;
        match lanes.pattern {
            Pattern::Same => self.written[first..first + words].fill(15),
            Pattern::Packed => self.written[first..first + WAVE * words].fill(15),
            Pattern::Any => match words {
                1 => self.mark_lanes::<1>(lanes),
                2 => self.mark_lanes::<2>(lanes),
                3 => self.mark_lanes::<3>(lanes),
                _ => self.mark_lanes::<4>(lanes),
            },
        }
    }

    /// `N` words of each lane have been written; inactive lanes have the address of an active one.
    #[inline(always)]
    fn mark_lanes<const N: usize>(&mut self, lanes: &Together) {
        for address in lanes.addresses {
            let first = address as usize / 4;
            self.written[first..first + N].copy_from_slice(&[15; N]);
        }
    }

    /// An access is about to be recorded.
    #[inline(always)]
    pub(super) fn meet_deferred(&mut self, lanes: &Together, writes: bool) {
        let Some(span) = self.span(lanes) else { return };
        if self.deferred.read.meets(span) || self.deferred.written.meets(span) {
            self.record_deferred();
        }
        self.deferred.recorded.add(span);
        if writes {
            self.deferred.stirred = true;
            self.deferred.recorded_writes.add(span);
        }
    }

    /// As [`meet_deferred`](Self::meet_deferred), of one lane.
    pub(super) fn meet_deferred_touch(&mut self, touch: Touch) {
        if !self.deferred.list.is_empty() {
            self.record_deferred();
        }
        if self.count <= BLOCK * BLOCKS {
            let last = touch.at + u64::from(touch.size) - 1;
            let span = Span::of_words((touch.at / 4) as usize, (last / 4) as usize);
            self.deferred.recorded.add(span);
            if touch.kind != AccessKind::Read {
                self.deferred.stirred = true;
                self.deferred.recorded_writes.add(span);
            }
        }
    }

    /// All bytes that the lanes read by the instruction at `offset` have been written.
    fn is_initialised(&mut self, lanes: &Together, span: Span, offset: u32) -> bool {
        if lanes.pattern != Pattern::Any {
            return self.have_been_written(lanes, span);
        }
        let (instruction, Together { addresses, exec, bytes, .. }) = (offset / 4, lanes);
        let (checked, mark) = self.patterns.checked(instruction, addresses, *exec, *bytes);
        if *checked == mark {
            return true;
        }
        let written = self.have_been_written(lanes, span);
        if written {
            *self.patterns.checked(instruction, addresses, *exec, *bytes).0 = mark;
        }
        written
    }

    /// As [`is_initialised`](Self::is_initialised). Learns which blocks are wholly so.
    fn have_been_written(&mut self, lanes: &Together, span: Span) -> bool {
        if !self.deferred.looked_at.contains(span) {
            self.look_at(span);
            if self.deferred.initialised.contains(span) {
                return true;
            }
        }
        let words = lanes.bytes as usize / 4;
        let first = lanes.addresses[0] as usize / 4;
        let whole = |words: &[u8]| words.iter().fold(15, |all, word| all & word) == 15;
        match (lanes.pattern, words) {
            (Pattern::Same, _) => whole(&self.written[first..first + words]),
            (Pattern::Packed, _) => whole(&self.written[first..first + WAVE * words]),
            (Pattern::Any, 1) => self.are_written::<1>(&lanes.addresses),
            (Pattern::Any, 2) => self.are_written::<2>(&lanes.addresses),
            (Pattern::Any, 3) => self.are_written::<3>(&lanes.addresses),
            (Pattern::Any, _) => self.are_written::<4>(&lanes.addresses),
        }
    }

    /// `N` words of each lane; inactive lanes have the address of an active one.
    fn are_written<const N: usize>(&self, addresses: &Lanes) -> bool {
        let mut all = [15; N];
        for address in addresses {
            let first = *address as usize / 4;
            for (all, word) in all.iter_mut().zip(&self.written[first..first + N]) {
                *all &= word;
            }
        }
        all == [15; N]
    }

    #[cold]
    fn look_at(&mut self, span: Span) {
        span.for_each(|at, mask| {
            let mut rest = mask & !self.deferred.looked_at.0[at];
            while rest != 0 {
                let first = BLOCK * (64 * at + rest.trailing_zeros() as usize);
                let words = &self.written[first..(first + BLOCK).min(self.count)];
                if words.iter().all(|&word| word == 15) {
                    self.deferred.initialised.0[at] |= rest & rest.wrapping_neg();
                }
                rest &= rest - 1;
            }
        });
        self.deferred.looked_at.add(span);
    }

    /// Records all accesses of the list.
    #[cold]
    fn record_deferred(&mut self) {
        let deferred = &mut self.deferred;
        let (list, scattered) = (std::mem::take(&mut deferred.list), std::mem::take(&mut deferred.scattered));
        deferred.recorded.join(&deferred.read);
        deferred.recorded.join(&deferred.written);
        deferred.recorded_writes.join(&deferred.written);
        (deferred.read, deferred.written, deferred.mixed) = Default::default();
        deferred.written_by[..deferred.writers].fill(Blocks::default());
        deferred.writers = 0;
        for Listed { writes, wave, offset, exec, bytes, pattern, at } in list {
            let addresses = match pattern {
                Pattern::Any => scattered[at as usize],
                Pattern::Same => [at; WAVE],
                Pattern::Packed => std::array::from_fn(|lane| at + bytes * lane as u32),
            };
            // Spans are no longer asked for.
            let lanes = Together { addresses, exec, bytes, pattern, span: [0; 2] };
            let marks = Marks::new(self.epoch, wave, offset);
            if if writes { self.record::<true>(&marks, &lanes) } else { self.record::<false>(&marks, &lanes) }
            {
                continue;
            }
            // Lanes that others read by bytes: one by one.
            let kind = if writes { AccessKind::Write } else { AccessKind::Read };
            for lane in active(exec) {
                let at = lanes.addresses[lane].into();
                let touch = Touch { kind, wave, at, size: bytes, offset, lane: lane as u8, equal: 0 };
                let recorded = self.touch(touch);
                debug_assert!(
                    recorded.is_ok(),
                    "no other wave has met what was put on the list: {recorded:?}"
                );
            }
        }
    }
}
