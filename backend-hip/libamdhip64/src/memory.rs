//! Pitched and managed memory, fills of rectangles, copies between devices, what an address is.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null_mut, with_exposed_provenance_mut};

use hip_api::{Code, MemcpyKind, MemoryType, PointerAttributes};

use crate::capture;
use crate::export::{HIP, put, status};
use crate::location::allocation;
use crate::node::NodeKind;
use crate::{advice, audit, managed, pool, session};

/// Rows of pitched memory begin at multiples of this many bytes, as on gfx942.
const PITCH: usize = 256;

/// What a pointer is; managed memory is told from pinned memory.
pub(crate) fn attributes(pointer: *const c_void) -> Result<PointerAttributes, Code> {
    let mut found = PointerAttributes {
        memory_type: 0,
        device: 0,
        device_pointer: null_mut(),
        host_pointer: null_mut(),
        is_managed: 0,
        allocation_flags: 0,
    };
    // SAFETY: `found` is valid for a write.
    status(unsafe { (HIP.pointer_get_attributes)(&raw mut found, pointer) })?;
    let start = allocation(pointer)?.base;
    if managed::has(start) {
        found.memory_type = MemoryType::MANAGED.0;
        found.is_managed = 1;
    }
    Ok(found)
}

/// Allocates rows of `width` bytes.
///
/// # Safety
///
/// The outputs are null or valid for writes.
pub(crate) unsafe fn pitched(
    out: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> Result<(), Code> {
    let row = width.checked_next_multiple_of(PITCH).ok_or(Code::INVALID_VALUE)?;
    let size = row.checked_mul(height).ok_or(Code::INVALID_VALUE)?;
    // SAFETY: as this function's.
    unsafe { put(pitch, row) }?;
    // SAFETY: as this function's.
    status(unsafe { (HIP.malloc)(out, size) })
}

/// Fills bytes, in stream order.
fn fill(to: *mut c_void, value: c_int, size: usize, stream: *mut c_void) -> Result<(), Code> {
    capture::queue(stream, NodeKind::Fill, move |stream| {
        // SAFETY: the software device checks the range.
        unsafe { (HIP.memset_async)(to, value, size, stream) }
    })
}

/// Fills `height` rows of `width` bytes, in stream order.
pub(crate) fn fill_rows(
    to: *mut c_void,
    pitch: usize,
    value: c_int,
    width: usize,
    height: usize,
    stream: *mut c_void,
) -> Result<(), Code> {
    if height > 1 && pitch < width {
        return Err(Code::INVALID_PITCH_VALUE);
    }
    if pitch == width {
        let size = width.checked_mul(height).ok_or(Code::INVALID_VALUE)?;
        return fill(to, value, size, stream);
    }
    for row in 0..height {
        let offset = row.checked_mul(pitch).ok_or(Code::INVALID_VALUE)?;
        fill(to.wrapping_byte_add(offset), value, width, stream)?;
    }
    Ok(())
}

pub(crate) fn synchronise(stream: *mut c_void) -> Result<(), Code> {
    // SAFETY: the software device checks the handle; queued work is under the contract of the calls that queued it.
    status(unsafe { (HIP.stream_synchronize)(stream) })
}

fn only_device(device: c_int) -> Result<(), Code> {
    if device == 0 { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}

/// What a refused allocation is granted with, where that is asked for.
const GRANTED: usize = 64 << 20;

compose! {
    /// `hipMalloc`.
    fn hipMalloc(out: *mut *mut c_void, size: usize) {
        // SAFETY: the caller keeps to HIP's contract.
        let answer = status(unsafe { (HIP.malloc)(out, size) });
        if answer != Err(Code::OUT_OF_MEMORY) || !session::grants() {
            return answer;
        }
        // SAFETY: as before.
        status(unsafe { (HIP.malloc)(out, GRANTED) })
    }

    /// `hipFree`, of managed memory too.
    fn hipFree(memory: *mut c_void) {
        let address = memory.addr() as u64;
        let managed = managed::remove(address);
        advice::forget(address);
        let free = if managed { HIP.host_free } else { HIP.free };
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { free(memory) })?;
        pool::freed(memory);
        Ok(())
    }

    /// `hipMallocManaged`.
    fn hipMallocManaged(out: *mut *mut c_void, size: usize, flags: c_uint) {
        // hipMemAttachGlobal, or hipMemAttachHost.
        if size == 0 || !matches!(flags, 1 | 2) {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.host_malloc)(out, size, 0) })?;
        // SAFETY: the call succeeded, so `out` is valid and holds the address.
        managed::add(unsafe { out.read() });
        Ok(())
    }

    /// `hipStreamAttachMemAsync`: all streams see all managed memory.
    fn hipStreamAttachMemAsync(_stream: *mut c_void, memory: *mut c_void, size: usize, flags: c_uint) {
        let found = allocation(memory)?;
        // All of the allocation, or 0 for the same; hipMemAttachGlobal, Host or Single.
        let whole = size == 0 || size as u64 == found.size;
        if whole && matches!(flags, 1 | 2 | 4) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    /// `hipMemGetInfo`: either output may be left out.
    fn hipMemGetInfo(free: *mut usize, total: *mut usize) {
        let (mut free_bytes, mut total_bytes) = (0, 0);
        // SAFETY: the outputs are valid for writes.
        status(unsafe { (HIP.mem_get_info)(&raw mut free_bytes, &raw mut total_bytes) })?;
        for (out, bytes) in [(free, free_bytes), (total, total_bytes)] {
            if !out.is_null() {
                // SAFETY: not null, so valid by HIP's contract.
                unsafe { put(out, bytes) }?;
            }
        }
        Ok(())
    }

    /// `hipHostGetDevicePointer`: flags must be 0.
    fn hipHostGetDevicePointer(out: *mut *mut c_void, host: *mut c_void, flags: c_uint) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.host_get_device_pointer)(out, host, flags) })
    }

    /// `hipMallocPitch`.
    fn hipMallocPitch(out: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { pitched(out, pitch, width, height) }
    }

    /// `hipMemAllocPitch`.
    fn hipMemAllocPitch(
        out: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize, _element: c_uint,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { pitched(out, pitch, width, height) }
    }

    /// `hipMemset2D`.
    fn hipMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        fill_rows(to, pitch, value, width, height, null_mut())?;
        synchronise(null_mut())
    }

    /// `hipMemset2DAsync`.
    fn hipMemset2DAsync(
        to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: *mut c_void,
    ) {
        fill_rows(to, pitch, value, width, height, stream)
    }

    /// `hipMemsetD8`.
    fn hipMemsetD8(to: *mut c_void, value: u8, count: usize) {
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.memset)(to, value.into(), count) })
    }

    /// `hipMemsetD8Async`.
    fn hipMemsetD8Async(to: *mut c_void, value: u8, count: usize, stream: *mut c_void) {
        fill(to, value.into(), count, stream)
    }

    /// `hipMemcpy`.
    fn hipMemcpy(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) {
        // SAFETY: the caller keeps to HIP's contract.
        status(audit::copy(to, from, size, null_mut(), || unsafe { (HIP.memcpy)(to, from, size, kind) }))
    }

    /// `hipMemcpyDtoH`.
    fn hipMemcpyDtoH(to: *mut c_void, from: *mut c_void, size: usize) {
        // SAFETY: the caller keeps to HIP's contract.
        status(audit::copy(to, from, size, null_mut(), || unsafe { (HIP.memcpy_dtoh)(to, from, size) }))
    }

    /// `hipMemcpyWithStream`.
    fn hipMemcpyWithStream(
        to: *mut c_void, from: *const c_void, size: usize, kind: c_int, stream: *mut c_void,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.memcpy_async)(to, from, size, kind, stream) })?;
        synchronise(stream)
    }

    /// `hipMemcpyPeer`: there is one device.
    fn hipMemcpyPeer(
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, size: usize,
    ) {
        only_device(to_device)?;
        only_device(from_device)?;
        let kind = MemcpyKind::DeviceToDevice.number();
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.memcpy)(to, from, size, kind) })
    }

    /// `hipMemcpyPeerAsync`: there is one device.
    fn hipMemcpyPeerAsync(
        to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, size: usize,
        stream: *mut c_void,
    ) {
        only_device(to_device)?;
        only_device(from_device)?;
        let kind = MemcpyKind::DeviceToDevice.number();
        capture::queue(stream, NodeKind::Copy, move |stream| {
            // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
            unsafe { (HIP.memcpy_async)(to, from, size, kind, stream) }
        })
    }

    /// `hipMemGetAddressRange`.
    fn hipMemGetAddressRange(start: *mut *mut c_void, size: *mut usize, pointer: *mut c_void) {
        let found = allocation(pointer)?;
        let address = usize::try_from(found.base).map_err(|_| Code::INVALID_VALUE)?;
        let bytes = usize::try_from(found.size).map_err(|_| Code::INVALID_VALUE)?;
        if !start.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(start, with_exposed_provenance_mut(address)) }?;
        }
        if !size.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(size, bytes) }?;
        }
        Ok(())
    }

    /// `hipMemPtrGetInfo`.
    fn hipMemPtrGetInfo(pointer: *mut c_void, size: *mut usize) {
        let bytes = usize::try_from(allocation(pointer)?.size).map_err(|_| Code::INVALID_VALUE)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(size, bytes) }
    }

    /// `hipPointerGetAttributes`.
    fn hipPointerGetAttributes(out: *mut PointerAttributes, pointer: *const c_void) {
        let found = attributes(pointer)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, found) }
    }

    /// `hipPointerGetAttribute`: the output's type follows from the attribute.
    fn hipPointerGetAttribute(out: *mut c_void, attribute: c_int, pointer: *mut c_void) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { put_attribute(out, attribute, pointer) }
    }

    /// `hipDrvPointerGetAttributes`: what cannot be told is 0.
    fn hipDrvPointerGetAttributes(
        count: c_uint, attributes: *const c_int, outs: *const *mut c_void, pointer: *mut c_void,
    ) {
        if count == 0 || attributes.is_null() || outs.is_null() || pointer.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        for at in 0..count as usize {
            // SAFETY: each list has `count` entries by HIP's contract.
            let attribute = unsafe { attributes.wrapping_add(at).read() };
            // SAFETY: as above.
            let out = unsafe { outs.wrapping_add(at).read() };
            // SAFETY: the caller keeps to HIP's contract.
            if unsafe { put_attribute(out, attribute, pointer) }.is_err() {
                // SAFETY: as above.
                unsafe { put_nothing(out, attribute) }?;
            }
        }
        Ok(())
    }
}

/// Writes what `hipPointerGetAttribute` tells of a pointer.
///
/// # Safety
///
/// `out` is null or valid for the attribute's type.
unsafe fn put_attribute(out: *mut c_void, attribute: c_int, pointer: *mut c_void) -> Result<(), Code> {
    let found = attributes(pointer)?;
    match attribute {
        // HIP_POINTER_ATTRIBUTE_MEMORY_TYPE.
        // SAFETY: as this function's; likewise below.
        2 => unsafe { put(out.cast(), found.memory_type) },
        // HIP_POINTER_ATTRIBUTE_DEVICE_POINTER.
        // SAFETY: as above.
        3 => unsafe { put(out.cast(), found.device_pointer) },
        // HIP_POINTER_ATTRIBUTE_HOST_POINTER.
        // SAFETY: as above.
        4 => unsafe { put(out.cast(), found.host_pointer) },
        // HIP_POINTER_ATTRIBUTE_IS_MANAGED.
        // SAFETY: as above.
        8 => unsafe { put(out.cast(), found.is_managed != 0) },
        // HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL.
        // SAFETY: as above.
        9 => unsafe { put(out.cast(), found.device) },
        // HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR.
        // SAFETY: as above.
        11 => unsafe { put(out.cast(), allocation(pointer)?.base) },
        // HIP_POINTER_ATTRIBUTE_RANGE_SIZE.
        12 => {
            let size = u32::try_from(allocation(pointer)?.size).unwrap_or(u32::MAX);
            // SAFETY: as above. ROCm writes four bytes.
            unsafe { put(out.cast(), size) }
        }
        // HIP_POINTER_ATTRIBUTE_MAPPED.
        // SAFETY: as above.
        13 => unsafe { put(out.cast(), true) },
        _ => Err(Code::NOT_SUPPORTED),
    }
}

/// Writes what stands for an attribute that a pointer does not have.
///
/// # Safety
///
/// `out` is null or valid for the attribute's type.
unsafe fn put_nothing(out: *mut c_void, attribute: c_int) -> Result<(), Code> {
    match attribute {
        // SAFETY: as this function's; likewise below.
        3 | 4 | 11 => unsafe { put(out.cast(), null_mut::<c_void>()) },
        // SAFETY: as above.
        8 | 13 => unsafe { put(out.cast(), false) },
        // The ordinal of no device.
        // SAFETY: as above.
        9 => unsafe { put(out.cast::<c_int>(), -2) },
        // SAFETY: as above.
        2 | 12 => unsafe { put(out.cast::<c_uint>(), 0) },
        _ => Ok(()),
    }
}
