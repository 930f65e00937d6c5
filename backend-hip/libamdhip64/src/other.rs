//! Exports that answer something else than a status.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null;

use crate::export::HIP;
use crate::session::print_line;
use crate::{function, registration};

/// `hipGetErrorName`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetErrorName(code: i32) -> *const c_char {
    // SAFETY: any number is allowed.
    unsafe { (HIP.get_error_name)(code) }
}

/// `hipGetErrorString`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipGetErrorString(code: i32) -> *const c_char {
    // SAFETY: any number is allowed.
    unsafe { (HIP.get_error_string)(code) }
}

/// `hipChannelFormatDesc`: the bits of each component, and what they are.
#[repr(C)]
struct ChannelFormat {
    bits: [c_int; 4],
    kind: c_int,
}

/// `hipCreateChannelDesc`.
#[unsafe(no_mangle)]
extern "C" fn hipCreateChannelDesc(x: c_int, y: c_int, z: c_int, w: c_int, kind: c_int) -> ChannelFormat {
    ChannelFormat { bits: [x, y, z, w], kind }
}

/// `hipApiName`: no call has a number here.
#[unsafe(no_mangle)]
extern "C" fn hipApiName(_id: u32) -> *const c_char {
    c"unknown".as_ptr()
}

/// `hipKernelNameRef`.
#[unsafe(no_mangle)]
extern "C" fn hipKernelNameRef(function: *mut c_void) -> *const c_char {
    function::name(function)
}

/// `hipKernelNameRefByPtr`.
#[unsafe(no_mangle)]
extern "C" fn hipKernelNameRefByPtr(kernel: *const c_void, _stream: *mut c_void) -> *const c_char {
    registration::kernel_name(kernel)
}

/// `hipGetStreamDeviceId`: there is one device.
#[unsafe(no_mangle)]
extern "C" fn hipGetStreamDeviceId(_stream: *mut c_void) -> c_int {
    0
}

/// `__hipRegisterTexture`: gfx942 has no textures.
#[unsafe(no_mangle)]
extern "C" fn __hipRegisterTexture() {
    print_line("assay: textures are not supported by the software device");
}

/// `__hipRegisterSurface`: gfx942 has no surfaces.
#[unsafe(no_mangle)]
extern "C" fn __hipRegisterSurface() {
    print_line("assay: surfaces are not supported by the software device");
}

/// `__hipGetPCH`: there is no precompiled header.
///
/// # Safety
///
/// The outputs are valid for writes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __hipGetPCH(header: *mut *const c_char, size: *mut c_uint) {
    // SAFETY: as this function's.
    unsafe { header.write(null()) };
    // SAFETY: as this function's.
    unsafe { size.write(0) };
}

lookup! {
    hipGetErrorName
    hipGetErrorString
    hipCreateChannelDesc
    hipApiName
    hipKernelNameRef
    hipKernelNameRefByPtr
    hipGetStreamDeviceId
}
