//! Memory that is asked for before it is needed.
#![cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "a hint to the processor is an intrinsic"))]

/// Bytes of a line of memory.
pub const LINE: usize = 64;

/// Says that the line of memory at `address` may be read soon: it is brought near, to the second cache. It need not be there.
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
