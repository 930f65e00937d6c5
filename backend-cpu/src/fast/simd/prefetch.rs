//! The prefetch instruction.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "a hint to the processor is an intrinsic"))]

/// Bytes of a cache line.
pub const CACHE_LINE: usize = 64;

/// Prefetches the cache line at `address` to L2. Any address is allowed, mapped or not.
#[inline(always)]
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables, reason = "no such hint is known here"))]
pub fn prefetch(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint, of the instructions that every x86-64 has; it neither reads nor faults, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::without_provenance(address)) };
    }
}
