//! Contexts: the device has one.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::without_provenance_mut;

use hip_api::Code;

use crate::device::properties;
use crate::export::put;

/// The device's one context.
const CONTEXT: usize = 0x56 << 48;

fn is_context(context: *mut c_void) -> Result<(), Code> {
    if context.addr() == CONTEXT { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

compose! {
    /// `hipCtxGetCurrent`.
    fn hipCtxGetCurrent(context: *mut *mut c_void) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(context, without_provenance_mut(CONTEXT)) }
    }

    /// `hipCtxSetCurrent`: there is one context.
    fn hipCtxSetCurrent(_context: *mut c_void) {
        Ok(())
    }

    /// `hipCtxGetDevice`.
    fn hipCtxGetDevice(device: *mut c_int) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(device, 0) }
    }

    /// `hipDevicePrimaryCtxGetState`: the context is always there.
    fn hipDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) {
        properties(device)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(flags, 0) }?;
        // SAFETY: as above.
        unsafe { put(active, 1) }
    }

    /// `hipDevicePrimaryCtxSetFlags`: there is no choice.
    fn hipDevicePrimaryCtxSetFlags(device: c_int, _flags: c_uint) {
        properties(device).map(|_| ())
    }

    /// `hipCtxCreate`: a device has one context, so that this is another name of it.
    fn hipCtxCreate(context: *mut *mut c_void, _flags: c_uint, device: c_int) {
        properties(device)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(context, without_provenance_mut(CONTEXT)) }
    }

    /// `hipCtxDestroy`: the one context stays.
    fn hipCtxDestroy(context: *mut c_void) {
        is_context(context)
    }

    /// `hipCtxPushCurrent`.
    fn hipCtxPushCurrent(context: *mut c_void) {
        is_context(context)
    }

    /// `hipCtxPopCurrent`.
    fn hipCtxPopCurrent(context: *mut *mut c_void) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(context, without_provenance_mut(CONTEXT)) }
    }

    /// `hipCtxGetFlags`.
    fn hipCtxGetFlags(flags: *mut c_uint) {
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(flags, 0) }
    }

    /// `hipCtxGetApiVersion`.
    fn hipCtxGetApiVersion(context: *mut c_void, version: *mut c_int) {
        is_context(context)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(version, 4) }
    }

    /// `hipDevicePrimaryCtxRetain`.
    fn hipDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) {
        properties(device)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(context, without_provenance_mut(CONTEXT)) }
    }

    /// `hipDevicePrimaryCtxRelease`.
    fn hipDevicePrimaryCtxRelease(device: c_int) {
        properties(device).map(|_| ())
    }

    /// `hipDevicePrimaryCtxReset`: as on ROCm, the context stays as it is.
    fn hipDevicePrimaryCtxReset(device: c_int) {
        properties(device).map(|_| ())
    }
}
