//! Allocations and what pointers are.

use std::ffi::{c_uint, c_void};

use hip_api::{Code, MemoryType, PointerAttributes};

use super::enter::{enter, put};
use super::handle::{self, address, pointer};
use crate::control::{CallSite, SoftDevice};
use crate::memory::AllocationKind;
use crate::sched::Work;

/// Allocates and writes the address to `out`.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn allocate(
    device: &SoftDevice,
    out: *mut *mut c_void,
    size: usize,
    kind: AllocationKind,
) -> Result<(), Code> {
    if out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let address = if size == 0 { 0 } else { device.allocate(size as u64, kind, CallSite::get())? };
    // SAFETY: as this function's.
    unsafe { put(out, pointer(address)) }
}

/// `hipMalloc`.
///
/// # Safety
///
/// `out` is null or valid for a write.
pub unsafe extern "C" fn hip_malloc(out: *mut *mut c_void, size: usize) -> i32 {
    // SAFETY: as this function's.
    enter("hipMalloc", |device, _| unsafe { allocate(device, out, size, AllocationKind::Device) })
}

/// `hipMallocAsync`: the memory is usable at once.
///
/// # Safety
///
/// `out` is null or valid for a write.
pub unsafe extern "C" fn hip_malloc_async(out: *mut *mut c_void, size: usize, stream: *mut c_void) -> i32 {
    enter("hipMallocAsync", |device, _| {
        handle::stream(stream)?;
        // SAFETY: as this function's.
        unsafe { allocate(device, out, size, AllocationKind::Device) }
    })
}

/// `hipHostMalloc`: pinned host memory, which kernels reach at the host's address.
///
/// # Safety
///
/// `out` is null or valid for a write.
pub unsafe extern "C" fn hip_host_malloc(out: *mut *mut c_void, size: usize, _flags: c_uint) -> i32 {
    // SAFETY: as this function's.
    enter("hipHostMalloc", |device, _| unsafe { allocate(device, out, size, AllocationKind::Pinned) })
}

/// `hipHostGetDevicePointer`: the same address.
///
/// # Safety
///
/// `out` is null or valid for a write.
pub unsafe extern "C" fn hip_host_get_device_pointer(
    out: *mut *mut c_void,
    host: *mut c_void,
    _flags: c_uint,
) -> i32 {
    enter("hipHostGetDevicePointer", |device, _| {
        if !device.is_pinned(address(host)) {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: as this function's.
        unsafe { put(out, host) }
    })
}

/// `hipFree`: everything queued runs first.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_free(memory: *mut c_void) -> i32 {
    enter(
        "hipFree",
        |device, call| {
            if memory.is_null() { Ok(()) } else { device.free(address(memory), false, call) }
        },
    )
}

/// `hipHostFree`: everything queued runs first.
///
/// # Safety
///
/// The host no longer uses the memory.
pub unsafe extern "C" fn hip_host_free(memory: *mut c_void) -> i32 {
    enter(
        "hipHostFree",
        |device, call| {
            if memory.is_null() { Ok(()) } else { device.free(address(memory), true, call) }
        },
    )
}

/// `hipFreeAsync`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_free_async(memory: *mut c_void, stream: *mut c_void) -> i32 {
    enter("hipFreeAsync", |device, call| {
        let work = Work::Free { address: address(memory), site: call.site.clone() };
        if memory.is_null() {
            Err(Code::INVALID_VALUE)
        } else {
            device.enqueue(handle::stream(stream)?, call, work)
        }
    })
}

/// `hipPointerGetAttributes`.
///
/// # Safety
///
/// `attributes` is null or valid for a write.
pub unsafe extern "C" fn hip_pointer_get_attributes(
    attributes: *mut PointerAttributes,
    pointer: *const c_void,
) -> i32 {
    enter("hipPointerGetAttributes", |device, _| {
        let found = device.allocation_at(address(pointer)).filter(|found| !found.is_freed);
        let found = found.ok_or(Code::INVALID_VALUE)?;
        let pinned = found.kind.is_host();
        let pointer = pointer.cast_mut();
        let answer = PointerAttributes {
            memory_type: if pinned { MemoryType::HOST } else { MemoryType::DEVICE }.0,
            device: 0,
            device_pointer: pointer,
            host_pointer: if pinned { pointer } else { std::ptr::null_mut() },
            is_managed: 0,
            allocation_flags: 0,
        };
        // SAFETY: as this function's.
        unsafe { put(attributes, answer) }
    })
}
