//! `hipMalloc` and `hipFree`, with guard zones if they were asked for.

use std::ffi::c_void;

use hip_api::Code;
use softhip::memory::AllocationKind;

use crate::memory::{allocated, freed};
use crate::{guard, session};

/// `hipMalloc`, with guard zones if they were asked for.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipMalloc(out: *mut *mut c_void, size: usize) -> i32 {
    let function = real!(hipMalloc: unsafe extern "C" fn(*mut *mut c_void, usize) -> i32);
    let padded = guard::padded(size).filter(|_| guard::guards() && size > 0 && !out.is_null());
    // SAFETY: the caller keeps to HIP's contract, which is the real function's.
    let code = unsafe { function(out, padded.unwrap_or(size)) };
    if padded.is_some() && code == Code::SUCCESS.0 {
        // SAFETY: the call has written its output.
        let real = unsafe { out.read() };
        // SAFETY: as above.
        unsafe { out.write(guard::begin(real, size)) };
    }
    // SAFETY: a call that succeeds has written its output.
    unsafe { allocated(code, out, size, AllocationKind::Device) };
    session::answered("hipMalloc", code);
    code
}

/// `hipFree`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipFree(memory: *mut c_void) -> i32 {
    let function = real!(hipFree: unsafe extern "C" fn(*mut c_void) -> i32);
    // SAFETY: the caller keeps to HIP's contract, which is the real function's.
    let code = unsafe { function(guard::end(memory)) };
    freed(code, memory);
    session::answered("hipFree", code);
    code
}
