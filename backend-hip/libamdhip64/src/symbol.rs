//! Variables of the device, by their host addresses.

use std::ffi::{c_int, c_void};

use hip_api::{Code, MemcpyKind};

use crate::capture;
use crate::export::{HIP, put, status};
use crate::node::NodeKind;
use crate::registration;

/// The kinds of copies that end, or begin, at a variable; the last is `hipMemcpyDeviceToDeviceNoCU`.
const TO: [c_int; 4] = [
    MemcpyKind::HostToDevice.number(),
    MemcpyKind::DeviceToDevice.number(),
    MemcpyKind::Default.number(),
    1024,
];
const FROM: [c_int; 4] = [
    MemcpyKind::DeviceToHost.number(),
    MemcpyKind::DeviceToDevice.number(),
    MemcpyKind::Default.number(),
    1024,
];

/// Refuses a copy in a direction that is none of `known`.
fn check_direction(kind: c_int, known: [c_int; 4]) -> Result<(), Code> {
    if known.contains(&kind) { Ok(()) } else { Err(Code::INVALID_MEMCPY_DIRECTION) }
}

/// The address of `size` bytes from `offset` on in a variable.
fn part(symbol: *const c_void, size: usize, offset: usize) -> Result<*mut c_void, Code> {
    let variable = registration::variable(symbol)?;
    let inside = offset.checked_add(size).is_some_and(|end| end <= variable.size);
    if inside { Ok(variable.address.wrapping_byte_add(offset)) } else { Err(Code::INVALID_VALUE) }
}

compose! {
    /// `hipGetSymbolAddress`.
    fn hipGetSymbolAddress(out: *mut *mut c_void, symbol: *const c_void) {
        let variable = registration::variable(symbol)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, variable.address) }
    }

    /// `hipGetSymbolSize`.
    fn hipGetSymbolSize(out: *mut usize, symbol: *const c_void) {
        let variable = registration::variable(symbol)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, variable.size) }
    }

    /// `hipMemcpyToSymbol`.
    fn hipMemcpyToSymbol(symbol: *const c_void, from: *const c_void, size: usize, offset: usize, kind: c_int) {
        check_direction(kind, TO)?;
        let to = part(symbol, size, offset)?;
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.memcpy)(to, from, size, kind) })
    }

    /// `hipMemcpyToSymbolAsync`.
    fn hipMemcpyToSymbolAsync(
        symbol: *const c_void, from: *const c_void, size: usize, offset: usize, kind: c_int, stream: *mut c_void,
    ) {
        check_direction(kind, TO)?;
        let to = part(symbol, size, offset)?;
        capture::queue(stream, NodeKind::Copy, move |stream| {
            // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
            unsafe { (HIP.memcpy_async)(to, from, size, kind, stream) }
        })
    }

    /// `hipMemcpyFromSymbol`.
    fn hipMemcpyFromSymbol(to: *mut c_void, symbol: *const c_void, size: usize, offset: usize, kind: c_int) {
        check_direction(kind, FROM)?;
        let from = part(symbol, size, offset)?;
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.memcpy)(to, from, size, kind) })
    }

    /// `hipMemcpyFromSymbolAsync`.
    fn hipMemcpyFromSymbolAsync(
        to: *mut c_void, symbol: *const c_void, size: usize, offset: usize, kind: c_int, stream: *mut c_void,
    ) {
        check_direction(kind, FROM)?;
        let from = part(symbol, size, offset)?;
        capture::queue(stream, NodeKind::Copy, move |stream| {
            // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
            unsafe { (HIP.memcpy_async)(to, from, size, kind, stream) }
        })
    }
}
