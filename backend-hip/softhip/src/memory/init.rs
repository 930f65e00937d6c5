//! One bit per byte of an allocation: has anything written it?

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytemuck::allocation::try_zeroed_slice_box;

use super::blocks::{BLOCK, mask, pieces};
use super::cells::index;

/// The initialised bits of one allocation, one word per block of 64 bytes.
#[derive(Debug)]
pub(super) struct Init {
    words: Box<[AtomicU64]>,
    /// Bytes of the allocation.
    len: u64,
    /// Everything is initialised, as it is after an upload or a fill of the whole.
    complete: AtomicBool,
}

impl Init {
    pub(super) fn empty() -> Self {
        Self { words: Box::default(), len: 0, complete: AtomicBool::new(false) }
    }

    /// Bits for `len` bytes, none of them initialised.
    pub(super) fn clear(len: u64) -> Option<Self> {
        let words = usize::try_from(len.div_ceil(BLOCK)).ok()?;
        Some(Self { words: try_zeroed_slice_box(words).ok()?, len, complete: AtomicBool::new(false) })
    }

    /// Bytes of the allocation.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The bits of a block.
    pub(super) fn block(&self, block: u64) -> u64 {
        self.words[index(block)].load(Ordering::Relaxed)
    }

    /// Gives a block exactly these bits.
    pub(super) fn put_block(&self, block: u64, bits: u64) {
        let all = mask(0, (self.len - block * BLOCK).min(BLOCK));
        if bits & all != all {
            self.complete.store(false, Ordering::Relaxed);
        }
        self.words[index(block)].store(bits, Ordering::Relaxed);
    }

    /// Are all bytes of `mask` in `block` initialised?
    #[inline]
    pub(super) fn has(&self, block: u64, mask: u64) -> bool {
        self.words[index(block)].load(Ordering::Relaxed) & mask == mask
    }

    /// Is every byte initialised, as far as can be told at once?
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Relaxed)
    }

    /// Are all the bytes `offset..offset + len` initialised?
    #[inline]
    pub(super) fn covers(&self, offset: u64, len: u64) -> bool {
        self.is_complete() || pieces(offset, len).all(|(block, mask)| self.has(block, mask))
    }

    /// The first byte of `offset..offset + len` that is not initialised.
    pub(super) fn first_missing(&self, offset: u64, len: u64) -> Option<u64> {
        pieces(offset, len).find_map(|(block, mask)| {
            let missing = !self.words[index(block)].load(Ordering::Relaxed) & mask;
            (missing != 0).then(|| block * BLOCK + u64::from(missing.trailing_zeros()))
        })
    }

    /// The runs `(offset, bytes)` of initialised bytes, none next to another.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.next(at, true)?;
            let end = self.next(start, false).unwrap_or(self.len);
            at = end;
            Some((start, end - start))
        })
    }

    /// The first byte from `from` on that is initialised, or is not.
    fn next(&self, from: u64, initialised: bool) -> Option<u64> {
        if self.is_complete() {
            return (initialised && from < self.len).then_some(from);
        }
        pieces(from, self.len - from).find_map(|(block, mask)| {
            let bits = self.block(block);
            let wanted = if initialised { bits } else { !bits } & mask;
            (wanted != 0).then(|| block * BLOCK + u64::from(wanted.trailing_zeros()))
        })
    }

    /// Marks the bytes of `mask` in `block` as initialised.
    #[inline]
    pub(super) fn set(&self, block: u64, mask: u64) {
        let word = &self.words[index(block)];
        if mask == u64::MAX {
            word.store(mask, Ordering::Relaxed);
        } else if word.load(Ordering::Relaxed) & mask != mask {
            word.fetch_or(mask, Ordering::Relaxed);
        }
    }

    /// Marks `offset..offset + len` as initialised.
    #[inline]
    pub(super) fn cover(&self, offset: u64, len: u64) {
        if self.is_complete() {
            return;
        }
        for (block, mask) in pieces(offset, len) {
            self.set(block, mask);
        }
        if len == self.len {
            self.complete.store(true, Ordering::Relaxed);
        }
    }

    /// Gives `to..to + len` the bits that `from..from + len` has in `source`, which may be `self`.
    pub(super) fn copy(&self, to: u64, source: &Self, from: u64, len: u64) {
        if source.covers(from, len) {
            self.cover(to, len);
            return;
        }
        self.complete.store(false, Ordering::Relaxed);
        let bits: Vec<u64> = pieces(to, len)
            .map(|(block, mask)| {
                let first = u64::from(mask.trailing_zeros());
                source.window(from + (block * BLOCK + first - to)) << first
            })
            .collect();
        for ((block, mask), bits) in pieces(to, len).zip(bits) {
            let word = &self.words[index(block)];
            word.store((word.load(Ordering::Relaxed) & !mask) | (bits & mask), Ordering::Relaxed);
        }
    }

    /// The bits of the 64 bytes from `offset`; those after the end are clear.
    fn window(&self, offset: u64) -> u64 {
        let word = |block| self.words.get(index(block)).map_or(0, |word| word.load(Ordering::Relaxed));
        let (block, shift) = (offset / BLOCK, offset % BLOCK);
        let low = word(block) >> shift;
        if shift == 0 { low } else { low | (word(block + 1) << (BLOCK - shift)) }
    }

    /// Marks `offset..offset + len` as never written.
    pub(super) fn uncover(&self, offset: u64, len: u64) {
        self.complete.store(false, Ordering::Relaxed);
        for (block, mask) in pieces(offset, len) {
            self.words[index(block)].fetch_and(!mask, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_follow_covers_and_uncovers() {
        let init = Init::clear(200).unwrap();
        init.cover(10, 150);
        assert!(init.covers(10, 150));
        assert_eq!(init.first_missing(0, 200), Some(0));
        assert_eq!(init.first_missing(10, 190), Some(160));
        init.uncover(100, 1);
        assert!(!init.covers(10, 150));
        assert_eq!(init.first_missing(10, 150), Some(100));
    }

    #[test]
    fn a_whole_that_loses_a_byte_is_no_longer_complete() {
        let init = Init::clear(100).unwrap();
        init.cover(0, 100);
        assert!(init.is_complete() && init.covers(0, 100));
        init.uncover(50, 1);
        assert!(!init.is_complete() && !init.covers(0, 100) && init.covers(0, 50));
        init.cover(50, 1);
        assert!(init.covers(0, 100));
        let part = Init::clear(100).unwrap();
        init.copy(0, &part, 0, 1);
        assert_eq!(init.first_missing(0, 100), Some(0));
    }

    #[test]
    fn copied_bits_are_those_of_the_source_at_any_shift() {
        for (from, to, len) in [(0, 0, 200), (3, 70, 129), (70, 3, 129), (63, 64, 1), (10, 12, 64)] {
            let source = Init::clear(200).unwrap();
            (0..200).filter(|i| i % 3 == 0 || i % 7 == 0).for_each(|i| source.cover(i, 1));
            let target = Init::clear(200).unwrap();
            (0..200).filter(|i| i % 2 == 0).for_each(|i| target.cover(i, 1));
            target.copy(to, &source, from, len);
            for i in 0..200 {
                let expected =
                    if (to..to + len).contains(&i) { source.covers(i - to + from, 1) } else { i % 2 == 0 };
                assert_eq!(target.covers(i, 1), expected, "byte {i} of {len} from {from} to {to}");
            }
        }
    }
}
