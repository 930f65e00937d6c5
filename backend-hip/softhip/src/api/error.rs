//! Errors and their names.

use std::ffi::{CStr, c_char};

use hip_api::Code;

use super::enter::last_error;
use crate::control::CallSite;
use crate::memory::Site;

/// `hipGetLastError`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_get_last_error() -> i32 {
    last_error(true)
}

/// `hipPeekAtLastError`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_peek_at_last_error() -> i32 {
    last_error(false)
}

/// `hipGetErrorName`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_get_error_name(code: i32) -> *const c_char {
    Code(code).name().as_ptr()
}

/// `hipGetErrorString`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_get_error_string(code: i32) -> *const c_char {
    Code(code).text().as_ptr()
}

/// Names the place in host code that reports give for the thread's next calls; a null file takes the name away.
/// This is no function of HIP.
///
/// # Safety
///
/// `file` is null or a string that ends with a zero byte.
pub unsafe extern "C" fn softhip_set_call_site(file: *const c_char, line: u32) {
    let site = (!file.is_null()).then(|| {
        // SAFETY: not null, so the caller vouches for the string.
        let file = unsafe { CStr::from_ptr(file) };
        Site::new(file.to_string_lossy().into_owned(), line)
    });
    CallSite::set(site);
}
