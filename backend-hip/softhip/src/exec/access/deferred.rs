//! Reads of LDS that no earlier write can race with: they are recorded later, or never.
//!
//! Most kernels write LDS, meet at a barrier, and read. A read of what no wave has written since the last barrier can
//! race only with a later write. So such reads go to a list. The next barrier empties the list; only if a write, or a
//! read that is recorded at once, comes near one of them before that, all are recorded, in their order. "Near" means
//! within one block of 64 bytes, or within the span of an access whose lanes are scattered.

use super::active;
use super::lds::{Lds, Touch};
use super::together::{Marks, Pattern, Together};
use crate::memory::{AccessKind, Lanes, WAVE};

/// Words of a block.
const BLOCK: usize = 16;
/// Blocks that are told apart: 64 KiB.
const BLOCKS: usize = 1024;
/// Scattered reads that are listed, before they are recorded after all.
const LISTED: usize = 512;

/// A set of blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Blocks([u64; BLOCKS / 64]);

impl Blocks {
    /// Those of the words `first..=last`, of which there are at most `BLOCK * BLOCKS`.
    #[inline(always)]
    fn span(first: usize, last: usize) -> Self {
        let (first, end) = ((first / BLOCK) as u32, (last / BLOCK) as u32 + 1);
        let below = |limit: u32| u64::MAX.checked_shr(64 - limit.min(64)).unwrap_or(0);
        let mut words = [0; BLOCKS / 64];
        for (i, word) in (0..).zip(&mut words) {
            *word = below(end.saturating_sub(64 * i)) & !below(first.saturating_sub(64 * i));
        }
        Self(words)
    }

    #[inline(always)]
    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |met, (a, b)| met | (a & b)) != 0
    }

    #[inline(always)]
    fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |outside, (a, b)| outside | (a & !b)) == 0
    }

    #[inline(always)]
    fn add(&mut self, other: &Self) {
        for (word, more) in self.0.iter_mut().zip(other.0) {
            *word |= more;
        }
    }
}

/// A read that has not been recorded.
#[derive(Debug, Clone, Copy)]
struct Read {
    wave: u32,
    offset: u32,
    exec: u64,
    bytes: u32,
    pattern: Pattern,
    /// The first lane's address, or which entry of the scattered ones has all of them.
    at: u32,
}

/// What is known about an epoch besides its records.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    reads: Vec<Read>,
    scattered: Vec<Lanes>,
    /// Where the listed reads are.
    read: Blocks,
    /// Where waves have written since the last barrier.
    written: Blocks,
    /// Blocks of which every byte has been written.
    initialised: Blocks,
    /// Blocks that have been looked at for that since the last barrier.
    looked_at: Blocks,
}

impl Deferred {
    /// All waves have met.
    pub(super) fn pass_barrier(&mut self) {
        self.reads.clear();
        self.scattered.clear();
        (self.read, self.written, self.looked_at) = Default::default();
    }

    /// Nothing has been written.
    pub(super) fn reset(&mut self) {
        self.pass_barrier();
        self.initialised = Blocks::default();
    }

    #[inline(always)]
    fn list(&mut self, lanes: &Together, wave: u32, offset: u32) {
        let at = if lanes.pattern == Pattern::Any {
            self.scattered.push(lanes.addresses);
            self.scattered.len() as u32 - 1
        } else {
            lanes.addresses[0]
        };
        let Together { exec, bytes, pattern, .. } = *lanes;
        self.reads.push(Read { wave, offset, exec, bytes, pattern, at });
    }
}

impl Lds {
    /// The blocks from the lowest to the highest lane; `None` if there are too many to tell apart.
    #[inline(always)]
    fn blocks(&self, lanes: &Together) -> Option<Blocks> {
        let [lowest, highest] = lanes.span;
        (self.words.len() <= BLOCK * BLOCKS)
            .then(|| Blocks::span(lowest as usize / 4, (highest + lanes.bytes - 1) as usize / 4))
    }

    /// Whether a read of whole words needs no record for now. What it reads is initialised, as far as that matters.
    #[inline(always)]
    pub(super) fn defer(&mut self, lanes: &Together, wave: u32, offset: u32) -> bool {
        let Some(blocks) = self.blocks(lanes) else { return false };
        if blocks.meets(&self.deferred.written) {
            if blocks.meets(&self.deferred.read) {
                self.record_deferred();
            }
            return false;
        }
        if self.checks.uninitialised
            && !blocks.is_within(&self.deferred.initialised)
            && !self.is_initialised(lanes, &blocks)
        {
            return false;
        }
        if self.checks.races {
            if self.deferred.scattered.len() == LISTED {
                self.record_deferred();
            }
            self.deferred.read.add(&blocks);
            self.deferred.list(lanes, wave, offset);
        }
        true
    }

    /// An access is about to be recorded.
    #[inline(always)]
    pub(super) fn meet_deferred(&mut self, lanes: &Together, writes: bool) {
        let Some(blocks) = self.blocks(lanes) else { return };
        if blocks.meets(&self.deferred.read) {
            self.record_deferred();
        }
        if writes {
            self.deferred.written.add(&blocks);
        }
    }

    /// As [`meet_deferred`](Self::meet_deferred), of one lane.
    pub(super) fn meet_deferred_touch(&mut self, touch: Touch) {
        if !self.deferred.reads.is_empty() {
            self.record_deferred();
        }
        if touch.kind != AccessKind::Read && self.words.len() <= BLOCK * BLOCKS {
            let last = touch.at + u64::from(touch.size) - 1;
            self.deferred.written.add(&Blocks::span((touch.at / 4) as usize, (last / 4) as usize));
        }
    }

    /// All bytes that the lanes read have been written. Learns which blocks are wholly so.
    fn is_initialised(&mut self, lanes: &Together, blocks: &Blocks) -> bool {
        if !blocks.is_within(&self.deferred.looked_at) {
            self.look_at(blocks);
            if blocks.is_within(&self.deferred.initialised) {
                return true;
            }
        }
        let words = lanes.bytes as usize / 4;
        let (first, written) = (lanes.addresses[0] as usize / 4, &self.written[..]);
        let whole = |words: &[u8]| words.iter().fold(15, |all, word| all & word) == 15;
        match lanes.pattern {
            Pattern::Same => whole(&written[first..first + words]),
            Pattern::Packed => whole(&written[first..first + WAVE * words]),
            Pattern::Any => {
                let mut all = 15;
                for lane in active(lanes.exec) {
                    let first = lanes.addresses[lane] as usize / 4;
                    all = written[first..first + words].iter().fold(all, |all, word| all & word);
                }
                all == 15
            }
        }
    }

    #[cold]
    fn look_at(&mut self, blocks: &Blocks) {
        for (at, word) in blocks.0.iter().enumerate() {
            let mut rest = word & !self.deferred.looked_at.0[at];
            while rest != 0 {
                let first = BLOCK * (64 * at + rest.trailing_zeros() as usize);
                let words = &self.written[first..(first + BLOCK).min(self.written.len())];
                if words.iter().all(|&word| word == 15) {
                    self.deferred.initialised.0[at] |= rest & rest.wrapping_neg();
                }
                rest &= rest - 1;
            }
        }
        self.deferred.looked_at.add(blocks);
    }

    /// Records all reads of the list.
    #[cold]
    fn record_deferred(&mut self) {
        let (reads, scattered) =
            (std::mem::take(&mut self.deferred.reads), std::mem::take(&mut self.deferred.scattered));
        self.deferred.read = Blocks::default();
        for Read { wave, offset, exec, bytes, pattern, at } in reads {
            let addresses = match pattern {
                Pattern::Any => scattered[at as usize],
                Pattern::Same => [at; WAVE],
                Pattern::Packed => std::array::from_fn(|lane| at + bytes * lane as u32),
            };
            // Spans are no longer asked for.
            let lanes = Together { addresses, exec, bytes, pattern, span: [0; 2] };
            if self.record::<false>(&Marks::new(self.epoch, wave, offset), &lanes) {
                continue;
            }
            // Lanes that others read by bytes: one by one.
            for lane in active(exec) {
                let at = lanes.addresses[lane].into();
                let touch = Touch {
                    kind: AccessKind::Read,
                    wave,
                    at,
                    size: bytes,
                    offset,
                    lane: lane as u8,
                    equal: 0,
                };
                let recorded = self.touch(touch);
                debug_assert!(recorded.is_ok(), "no wave wrote what was put on the list: {recorded:?}");
            }
        }
    }
}
