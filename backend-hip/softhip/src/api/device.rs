//! Devices, versions, memory information.

use std::ffi::c_int;

use hip_api::{Code, DeviceAttribute, DeviceProperties};

use super::enter::{enter, put, remember};
use super::properties;
use crate::control::current;
use crate::host;

/// What `hipRuntimeGetVersion` answers: HIP 6.2.
const VERSION: c_int = 60_200_000;

fn only_device(device: c_int) -> Result<(), Code> {
    if device == 0 { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}

/// `hipInit`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_init(flags: u32) -> i32 {
    enter("hipInit", |_, _| if flags == 0 { Ok(()) } else { Err(Code::INVALID_VALUE) })
}

/// `hipGetDeviceCount`.
///
/// # Safety
///
/// `count` is null or valid for a write.
pub unsafe extern "C" fn hip_get_device_count(count: *mut c_int) -> i32 {
    // SAFETY: as this function's.
    remember(unsafe { put(count, 1) })
}

/// `hipSetDevice`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_set_device(device: c_int) -> i32 {
    enter("hipSetDevice", |_, _| only_device(device))
}

/// `hipGetDevice`.
///
/// # Safety
///
/// `device` is null or valid for a write.
pub unsafe extern "C" fn hip_get_device(device: *mut c_int) -> i32 {
    // SAFETY: as this function's.
    enter("hipGetDevice", |_, _| unsafe { put(device, 0) })
}

/// `hipGetDeviceProperties`, with the layout that the plain symbol has in every release.
///
/// # Safety
///
/// `properties` is null or valid for a write.
pub unsafe extern "C" fn hip_get_device_properties(properties: *mut DeviceProperties, device: c_int) -> i32 {
    enter("hipGetDeviceProperties", |soft, _| {
        only_device(device)?;
        // SAFETY: as this function's.
        unsafe { put(properties, properties::of(soft)) }
    })
}

/// `hipDeviceGetAttribute`.
///
/// # Safety
///
/// `value` is null or valid for a write.
pub unsafe extern "C" fn hip_device_get_attribute(value: *mut c_int, attribute: c_int, device: c_int) -> i32 {
    enter("hipDeviceGetAttribute", |_, _| {
        only_device(device)?;
        let answer = properties::attribute(DeviceAttribute(attribute)).ok_or(Code::INVALID_VALUE)?;
        // SAFETY: as this function's.
        unsafe { put(value, answer) }
    })
}

/// `hipDeviceSynchronize`.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_device_synchronize() -> i32 {
    enter("hipDeviceSynchronize", |device, _| device.synchronise())
}

/// `hipDeviceReset`: the device is as new, also after a fault.
///
/// # Safety
///
/// Pinned memory of the device is no longer used.
pub unsafe extern "C" fn hip_device_reset() -> i32 {
    current().reset();
    remember(Ok(()))
}

/// `hipMemGetInfo`.
///
/// # Safety
///
/// `free` and `total` are null or valid for a write.
pub unsafe extern "C" fn hip_mem_get_info(free: *mut usize, total: *mut usize) -> i32 {
    enter("hipMemGetInfo", |device, _| {
        let (free_bytes, total_bytes) = device.memory().info();
        // SAFETY: as this function's.
        unsafe { put(free, host::size(free_bytes)) }?;
        // SAFETY: as this function's.
        unsafe { put(total, host::size(total_bytes)) }
    })
}

/// `hipRuntimeGetVersion`.
///
/// # Safety
///
/// `version` is null or valid for a write.
pub unsafe extern "C" fn hip_runtime_get_version(version: *mut c_int) -> i32 {
    // SAFETY: as this function's.
    remember(unsafe { put(version, VERSION) })
}

/// `hipDriverGetVersion`.
///
/// # Safety
///
/// `version` is null or valid for a write.
pub unsafe extern "C" fn hip_driver_get_version(version: *mut c_int) -> i32 {
    // SAFETY: as this function's.
    remember(unsafe { put(version, VERSION) })
}
