//! Calls that programs find by name: `hipGetProcAddress` answers this library's function where there is one.
//!
//! What a program finds with `dlsym` in a library that it opened itself goes past this library.

use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;

use hip_api::Code;

use crate::session;

/// The first byte of the library that an address is in.
fn library(address: *const c_void) -> Option<*mut c_void> {
    let mut found = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: the output is valid for a write.
    if unsafe { libc::dladdr(address, found.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: the call has filled it in.
    Some(unsafe { found.assume_init() }.dli_fbase)
}

/// `hipGetProcAddress`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetProcAddress(
    name: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
    result: *mut c_int,
) -> i32 {
    type Find = unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> i32;
    let real = real!(hipGetProcAddress: Find);
    // SAFETY: the caller keeps to HIP's contract, which is the real function's.
    let code = unsafe { real(name, function, version, flags, result) };
    if code == Code::SUCCESS.0 && !name.is_null() && !function.is_null() {
        // SAFETY: not null, so a string by HIP's contract.
        let first = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) };
        let mine: Find = hipGetProcAddress;
        if !first.is_null() && library(first) == library(mine as *const c_void) {
            // SAFETY: the real call has written it.
            unsafe { function.write(first) };
        }
    }
    session::answered("hipGetProcAddress", code);
    code
}
