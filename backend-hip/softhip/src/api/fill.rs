//! Fills.

use std::ffi::{c_int, c_void};

use hip_api::Code;

use super::enter::enter;
use super::handle::{self, address};
use crate::memory::AccessKind;
use crate::sched::Work;

/// Fills in stream order, and waits if asked to.
fn fill(
    function: &'static str,
    to: *mut c_void,
    pattern: &[u8],
    count: usize,
    stream: *mut c_void,
    wait: bool,
) -> i32 {
    enter(function, |device, call| {
        let stream = handle::stream(stream)?;
        let len = pattern.len().checked_mul(count).ok_or(Code::INVALID_VALUE)?;
        device.check_range(AccessKind::Write, address(to), len as u64, &call)?;
        if len == 0 {
            return Ok(());
        }
        let work = Work::Fill { to: address(to), pattern: pattern.to_vec(), count: count as u64 };
        if wait { device.perform(stream, call, work) } else { device.enqueue(stream, call, work) }
    })
}

/// `hipMemset`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memset(to: *mut c_void, value: c_int, size: usize) -> i32 {
    fill("hipMemset", to, &value.to_le_bytes()[..1], size, std::ptr::null_mut(), true)
}

/// `hipMemsetAsync`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memset_async(
    to: *mut c_void,
    value: c_int,
    size: usize,
    stream: *mut c_void,
) -> i32 {
    fill("hipMemsetAsync", to, &value.to_le_bytes()[..1], size, stream, false)
}

/// `hipMemsetD16`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memset_d16(to: *mut c_void, value: u16, count: usize) -> i32 {
    fill("hipMemsetD16", to, &value.to_le_bytes(), count, std::ptr::null_mut(), true)
}

/// `hipMemsetD16Async`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memset_d16_async(
    to: *mut c_void,
    value: u16,
    count: usize,
    stream: *mut c_void,
) -> i32 {
    fill("hipMemsetD16Async", to, &value.to_le_bytes(), count, stream, false)
}

/// `hipMemsetD32`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memset_d32(to: *mut c_void, value: c_int, count: usize) -> i32 {
    fill("hipMemsetD32", to, &value.to_le_bytes(), count, std::ptr::null_mut(), true)
}

/// `hipMemsetD32Async`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memset_d32_async(
    to: *mut c_void,
    value: c_int,
    count: usize,
    stream: *mut c_void,
) -> i32 {
    fill("hipMemsetD32Async", to, &value.to_le_bytes(), count, stream, false)
}
