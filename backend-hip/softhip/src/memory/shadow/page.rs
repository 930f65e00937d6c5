//! The race detector's shadow memory of a page.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a page: a cache line's, so that threads on neighbouring pages do not take it from each other.
pub(super) const PAGE_WORDS: usize = 8;

/// The words of one page.
#[derive(Clone, Copy)]
pub(super) struct Page<'a>(pub(super) &'a [AtomicU64; PAGE_WORDS]);

impl<'a> Page<'a> {
    /// The last launch that touched the page.
    #[inline]
    pub(super) fn last(self) -> &'a AtomicU64 {
        &self.0[1]
    }

    /// The last launch in which all bytes of a block became shared (high half), and how many blocks are so.
    #[inline]
    pub(super) fn shared(self) -> &'a AtomicU64 {
        &self.0[2]
    }

    /// Takes the lock, under which the page's records are changed.
    #[inline]
    pub(super) fn lock(self) -> PageLock<'a> {
        let lock = &self.0[0];
        let mut spins = 0u32;
        while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spins += 1;
            if spins.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        PageLock(lock)
    }
}

/// A page's lock, held.
pub(super) struct PageLock<'a>(&'a AtomicU64);

impl Drop for PageLock<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}
