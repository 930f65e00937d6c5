//! The bytes of one allocation, shared by every host thread that runs workgroups.
//!
//! Storage is an array of 32-bit atomic words accessed with relaxed ordering, so that a racing kernel is
//! a wrong kernel and never undefined behaviour of this program. Every access has the size of a word: a
//! narrower store replaces its bytes by compare-and-exchange, a wider one is several words. On the usual
//! hosts a relaxed word access is a plain move.

use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::allocation::try_zeroed_slice_box;

use super::bulk;
use super::words::Words;
use crate::prefetch::prefetch;

/// Pinned memory is given to the host as a pointer. It has whole pages of this many bytes, as the real runtime's has, so that
/// access to it can be taken from the host and given back.
const PINNED_ALIGN: usize = 4096;

/// Zero-filled bytes; pages that are never touched cost no memory. A word follows the last byte, so that loads which
/// are not aligned need no special case there.
#[derive(Debug)]
pub(super) struct Cells {
    words: Words,
    /// Index of the word that holds offset 0.
    start: usize,
}

/// An offset as an index. Offsets are below the length of a boxed slice, so they fit.
#[expect(clippy::cast_possible_truncation, reason = "offsets are below the length of a slice in memory")]
#[inline]
pub(super) const fn index(offset: u64) -> usize {
    offset as usize
}

impl Cells {
    /// No bytes: what is left of a freed allocation.
    pub(super) fn empty() -> Self {
        Self::of(Words::owned(Box::default()))
    }

    /// These words, of which the last is no part of the bytes.
    pub(super) fn of(words: Words) -> Self {
        Self { words, start: 0 }
    }

    /// `len` zero bytes, or `None` if the host is out of memory.
    pub(super) fn zeroed(len: u64) -> Option<Self> {
        let words = usize::try_from(len.div_ceil(4)).ok()?.checked_add(1)?;
        Some(Self::of(Words::owned(try_zeroed_slice_box(words).ok()?)))
    }

    /// As [`zeroed`](Self::zeroed), with offset 0 on a boundary of [`PINNED_ALIGN`] bytes of host memory.
    pub(super) fn pinned(len: u64) -> Option<Self> {
        let pages = len.checked_next_multiple_of(PINNED_ALIGN as u64)?;
        let mut cells = Self::zeroed(pages.checked_add(PINNED_ALIGN as u64)?)?;
        let misfit = cells.words.as_ptr().addr() % PINNED_ALIGN;
        cells.start = ((PINNED_ALIGN - misfit) % PINNED_ALIGN) / 4;
        Some(cells)
    }

    /// Where the host sees offset 0. The words are atomics, so the host may write through the pointer.
    pub(super) fn host_pointer(&self) -> *mut u8 {
        self.words[self.start..].as_ptr().cast_mut().cast()
    }

    #[inline]
    fn word(&self, offset: u64) -> &AtomicU32 {
        &self.words[self.start + index(offset >> 2)]
    }

    /// The `count` words from `offset`, a multiple of 4.
    #[inline]
    pub(super) fn words(&self, offset: u64, count: usize) -> &[AtomicU32] {
        let first = self.start + index(offset >> 2);
        &self.words[first..first + count]
    }

    /// All words from offset 0, and the one after them.
    #[inline]
    pub(super) fn all(&self) -> &[AtomicU32] {
        &self.words[self.start..]
    }

    /// Asks the host for the bytes at `offset`, if there are any: they are to be loaded soon.
    #[inline]
    pub(super) fn prefetch(&self, offset: u64) {
        if let Some(word) = self.words.get(self.start + index(offset >> 2)) {
            prefetch(word);
        }
    }

    /// The 4 bytes at `offset`, which need not be aligned.
    #[inline]
    pub(super) fn load_u32(&self, offset: u64) -> u32 {
        halves(self.around(offset, 4))[0]
    }

    /// The 1 or 2 bytes at `offset`, zero-extended.
    #[inline]
    pub(super) fn load_narrow(&self, offset: u64, bytes: u32) -> u32 {
        halves(self.around(offset, u64::from(bytes)))[0] & ((1 << (8 * bytes)) - 1)
    }

    /// The `4 * N` bytes at `offset`, which need not be aligned. Without a branch: lanes alternate between aligned and
    /// not.
    #[inline]
    pub(super) fn load_dwords<const N: usize>(&self, offset: u64) -> [u32; N] {
        bulk::load(self.words(offset, N + 1), index(offset % 4))
    }

    /// The words with the first and the last of up to 4 bytes, shifted to begin at `offset`; no branch either.
    #[inline]
    fn around(&self, offset: u64, bytes: u64) -> u64 {
        let low = self.word(offset).load(Ordering::Relaxed);
        let high = self.word(offset + bytes - 1).load(Ordering::Relaxed);
        (u64::from(low) | (u64::from(high) << 32)) >> (8 * (offset % 4))
    }

    /// Stores the low `bytes` (1 to 4) bytes of `value` at `offset`, which need not be aligned.
    #[inline]
    pub(super) fn store(&self, offset: u64, bytes: u32, value: u32) {
        if bytes == 4 && offset.is_multiple_of(4) {
            self.word(offset).store(value, Ordering::Relaxed);
            return;
        }
        let shift = (offset % 4) * 8;
        let mask = ((1u64 << (8 * bytes)) - 1) << shift;
        let value = (u64::from(value) << shift) & mask;
        let [low_mask, high_mask] = halves(mask);
        let [low, high] = halves(value);
        self.replace(offset, low_mask, low);
        if high_mask != 0 {
            self.replace(offset + 4, high_mask, high);
        }
    }

    /// Replaces the bits of `mask` in the word at `offset`.
    fn replace(&self, offset: u64, mask: u32, value: u32) {
        self.update(offset, Ordering::Relaxed, |old| (old & !mask) | value);
    }

    /// Replaces the aligned word at `offset` by `f` of it, atomically, and returns the old value.
    #[inline]
    pub(super) fn update(&self, offset: u64, order: Ordering, mut f: impl FnMut(u32) -> u32) -> u32 {
        let word = self.word(offset);
        let mut old = word.load(Ordering::Relaxed);
        loop {
            match word.compare_exchange_weak(old, f(old), order, Ordering::Relaxed) {
                Ok(old) => return old,
                Err(seen) => old = seen,
            }
        }
    }

    /// Copies the bytes from `offset` into `out`.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) {
        let head = out.len().min(index(offset.wrapping_neg() & 3));
        let (first, rest) = out.split_at_mut(head);
        for (i, byte) in (0u64..).zip(first) {
            *byte = self.load_narrow(offset + i, 1).to_le_bytes()[0];
        }
        let offset = offset + head as u64;
        let (body, tail) = rest.as_chunks_mut::<4>();
        let end = offset + 4 * body.len() as u64;
        if !body.is_empty() {
            for (word, chunk) in self.words(offset, body.len()).iter().zip(body) {
                *chunk = word.load(Ordering::Relaxed).to_le_bytes();
            }
        }
        for (i, byte) in (0u64..).zip(tail) {
            *byte = self.load_narrow(end + i, 1).to_le_bytes()[0];
        }
    }

    /// Copies `data` to `offset`.
    pub(super) fn write(&self, offset: u64, data: &[u8]) {
        let head = data.len().min(index(offset.wrapping_neg() & 3));
        let (first, rest) = data.split_at(head);
        for (i, &byte) in (0u64..).zip(first) {
            self.store(offset + i, 1, u32::from(byte));
        }
        let offset = offset + head as u64;
        let (body, tail) = rest.as_chunks::<4>();
        let end = offset + 4 * body.len() as u64;
        if !body.is_empty() {
            for (word, &chunk) in self.words(offset, body.len()).iter().zip(body) {
                word.store(u32::from_le_bytes(chunk), Ordering::Relaxed);
            }
        }
        for (i, &byte) in (0u64..).zip(tail) {
            self.store(end + i, 1, u32::from(byte));
        }
    }
}

/// The low and the high half of a double word.
#[expect(clippy::cast_possible_truncation, reason = "taking halves is the purpose")]
#[inline]
pub(super) const fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_offset_and_width_reads_back_what_was_stored() {
        for offset in 0..8u64 {
            for bytes in [1u32, 2, 4] {
                let cells = Cells::zeroed(16).unwrap();
                cells.write(0, &[0xEE; 16]);
                cells.store(offset, bytes, 0x8765_4321);
                let mut expected = [0xEE; 16];
                let width = bytes as usize;
                let at = index(offset);
                expected[at..at + width].copy_from_slice(&0x8765_4321u32.to_le_bytes()[..width]);
                let mut got = [0; 16];
                cells.read(0, &mut got);
                assert_eq!(got, expected, "offset {offset}, {bytes} bytes");
                let narrow = 0x8765_4321u32 & u32::MAX.checked_shr(32 - 8 * bytes).unwrap();
                let loaded =
                    if bytes == 4 { cells.load_u32(offset) } else { cells.load_narrow(offset, bytes) };
                assert_eq!(loaded, narrow);
            }
        }
    }

    #[test]
    fn bulk_copies_keep_the_bytes_around_them() {
        for start in 0..5u64 {
            for len in 0..13usize {
                let cells = Cells::zeroed(32).unwrap();
                cells.write(0, &[0xAA; 32]);
                let data: Vec<u8> = (1..).take(len).collect();
                cells.write(start, &data);
                let mut expected = [0xAA; 32];
                expected[index(start)..index(start) + len].copy_from_slice(&data);
                let mut all = [0; 32];
                cells.read(0, &mut all);
                assert_eq!(all, expected);
                let mut part = vec![0; len];
                cells.read(start, &mut part);
                assert_eq!(part, data);
            }
        }
    }

    #[test]
    fn pinned_bytes_are_those_the_host_pointer_shows() {
        let cells = Cells::pinned(100).unwrap();
        assert_eq!(cells.host_pointer().addr() % PINNED_ALIGN, 0);
        cells.write(0, &[7; 100]);
        assert_eq!(cells.load_narrow(99, 1), 7);
    }
}
