//! The device's one memory pool. What is freed goes back to the device at once, so that a later use is found.

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

use hip_api::Code;

use crate::export::{HIP, put, status};

/// The default pool's handle.
const POOL: usize = 0x55 << 48;

fn is_pool(pool: *mut c_void) -> Result<(), Code> {
    if pool.addr() == POOL { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

fn is_device(device: c_int) -> Result<(), Code> {
    if device == 0 { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}

compose! {
    /// `hipDeviceGetDefaultMemPool`.
    fn hipDeviceGetDefaultMemPool(pool: *mut *mut c_void, device: c_int) {
        is_device(device)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(pool, without_provenance_mut(POOL)) }
    }

    /// `hipDeviceGetMemPool`.
    fn hipDeviceGetMemPool(pool: *mut *mut c_void, device: c_int) {
        is_device(device)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(pool, without_provenance_mut(POOL)) }
    }

    /// `hipDeviceSetMemPool`.
    fn hipDeviceSetMemPool(device: c_int, pool: *mut c_void) {
        is_device(device)?;
        is_pool(pool)
    }

    /// `hipMallocFromPoolAsync`.
    fn hipMallocFromPoolAsync(out: *mut *mut c_void, size: usize, pool: *mut c_void, stream: *mut c_void) {
        is_pool(pool)?;
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.malloc_async)(out, size, stream) })
    }

    /// `hipMemPoolSetAttribute`: thresholds and reuse change nothing here.
    fn hipMemPoolSetAttribute(pool: *mut c_void, _attribute: c_int, _value: *mut c_void) {
        is_pool(pool)
    }

    /// `hipMemPoolTrimTo`: the pool keeps nothing.
    fn hipMemPoolTrimTo(pool: *mut c_void, _bytes: usize) {
        is_pool(pool)
    }
}
