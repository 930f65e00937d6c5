//! The words of an allocation: its own, or memory of the host that somebody else keeps.
#![allow(unsafe_code, reason = "memory of the host that is not a value of Rust's is reached by a pointer")]

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// A slice of words.
pub(super) struct Words {
    start: NonNull<AtomicU32>,
    len: usize,
    /// The words came from a box and go back with it.
    owned: bool,
}

// SAFETY: words are atomics, which any thread may use; a box may be dropped by any thread, and the contract of `foreign` covers every one.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// Words of its own.
    pub(super) fn owned(words: Box<[AtomicU32]>) -> Self {
        let len = words.len();
        let start = NonNull::from(Box::leak(words)).cast();
        Self { start, len, owned: true }
    }

    /// Words that somebody else keeps.
    ///
    /// # Safety
    ///
    /// `start` is aligned for a word. Until the value is dropped, `len` words from there are valid for reads by any thread, and for writes
    /// if anybody writes through this value. Whoever else uses the memory meanwhile does so as HIP allows it for memory that a kernel uses.
    pub(super) unsafe fn foreign(start: NonNull<AtomicU32>, len: usize) -> Self {
        Self { start, len, owned: false }
    }
}

impl Deref for Words {
    type Target = [AtomicU32];

    #[inline]
    fn deref(&self) -> &[AtomicU32] {
        // SAFETY: the words are those of the box that `owned` was given, or valid by the contract of `foreign`.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_ref() }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        if self.owned {
            let words = NonNull::slice_from_raw_parts(self.start, self.len);
            // SAFETY: `owned` leaked a box of this slice, and this is its only release.
            drop(unsafe { Box::from_raw(words.as_ptr()) });
        }
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} words at {:p}", self.len, self.start)
    }
}
