//! Copies.

use std::ffi::{c_int, c_void};

use hip_api::{Code, MemcpyKind};

use super::enter::enter;
use super::handle::{self, address};
use super::host::HostSpan;
use crate::control::SoftDevice;
use crate::memory::AccessKind;
use crate::report::HostCall;
use crate::sched::{CopyShape, End, Work};

/// `hipMemcpyDeviceToDeviceNoCU`: within the device, without its compute units. Here, that is the same.
const WITHOUT_COMPUTE_UNITS: c_int = 1024;

/// The direction that a caller passes.
fn direction(kind: c_int) -> Result<MemcpyKind, Code> {
    if kind == WITHOUT_COMPUTE_UNITS {
        return Ok(MemcpyKind::DeviceToDevice);
    }
    let known = MemcpyKind::ALL.into_iter().find(|known| known.number() == kind);
    known.ok_or(Code::INVALID_MEMCPY_DIRECTION)
}

/// Is the (destination, source) on the device? `None`: the address tells.
fn on_device(kind: MemcpyKind) -> (Option<bool>, Option<bool>) {
    match kind {
        MemcpyKind::HostToHost => (Some(false), Some(false)),
        MemcpyKind::HostToDevice => (Some(true), Some(false)),
        MemcpyKind::DeviceToHost => (Some(false), Some(true)),
        MemcpyKind::DeviceToDevice => (Some(true), Some(true)),
        MemcpyKind::Default => (None, None),
    }
}

/// One request to copy.
struct Copy {
    to: *mut c_void,
    from: *const c_void,
    shape: CopyShape,
    kind: c_int,
    /// The host's source is read before the call returns.
    snapshot: bool,
}

impl Copy {
    fn flat(to: *mut c_void, from: *const c_void, len: usize, kind: MemcpyKind) -> Self {
        Self { to, from, shape: CopyShape::flat(len), kind: kind.number(), snapshot: false }
    }

    /// Bytes from the first to the last of a side whose rows are `pitch` apart.
    fn extent(&self, pitch: usize) -> Result<usize, Code> {
        let rows = (self.shape.height - 1).checked_mul(pitch).ok_or(Code::INVALID_VALUE)?;
        rows.checked_add(self.shape.width).ok_or(Code::INVALID_VALUE)
    }

    /// The operation, its device ends checked; `None` when there is nothing to copy.
    ///
    /// # Safety
    ///
    /// Host ends are as [`HostSpan::new`] demands.
    unsafe fn prepare(&self, device: &SoftDevice, call: &HostCall) -> Result<Option<Work>, Code> {
        let CopyShape { width, height, to_pitch, from_pitch } = self.shape;
        let kind = direction(self.kind)?;
        if width == 0 || height == 0 {
            return Ok(None);
        }
        if height > 1 && (to_pitch < width || from_pitch < width) {
            return Err(Code::INVALID_PITCH_VALUE);
        }
        let (to_device, from_device) = on_device(kind);
        let end = |pointer: *mut c_void, on_device: Option<bool>, pitch, access| {
            let (address, extent) = (address(pointer), self.extent(pitch)?);
            let reachable = || device.is_device_address(address);
            if on_device.unwrap_or_else(reachable) || device.is_pinned(address) {
                device.check_range(access, address, extent as u64, call)?;
                return Ok(End::Device(address));
            }
            if pointer.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            // SAFETY: as this function's.
            let span = unsafe { HostSpan::new(pointer, extent) };
            let snapshot = self.snapshot && access == AccessKind::Read;
            Ok(End::Host(if snapshot { Box::new(span.to_vec()) } else { Box::new(span) }))
        };
        let from = end(self.from.cast_mut(), from_device, from_pitch, AccessKind::Read)?;
        let to = end(self.to, to_device, to_pitch, AccessKind::Write)?;
        Ok(Some(Work::Copy { to, from, shape: self.shape }))
    }

    /// Copies before the call returns.
    ///
    /// # Safety
    ///
    /// Host ends are valid until this returns.
    unsafe fn now(self, function: &'static str) -> i32 {
        enter(function, |device, call| {
            // SAFETY: the work has run when `perform` returns.
            match unsafe { self.prepare(device, &call) }? {
                Some(work) => device.perform(handle::default_stream(), call, work),
                None => Ok(()),
            }
        })
    }

    /// Copies in stream order.
    ///
    /// # Safety
    ///
    /// A destination on the host, and pinned memory, are valid until the stream has been synchronised.
    unsafe fn later(mut self, function: &'static str, stream: *mut c_void) -> i32 {
        self.snapshot = true;
        enter(function, |device, call| {
            let stream = handle::stream(stream)?;
            // SAFETY: as this function's; a pageable source is copied at once.
            match unsafe { self.prepare(device, &call) }? {
                Some(work) => device.enqueue(stream, call, work),
                None => Ok(()),
            }
        })
    }
}

/// `hipMemcpy`.
///
/// # Safety
///
/// Host memory is valid for `size` bytes.
pub unsafe extern "C" fn hip_memcpy(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) -> i32 {
    let copy = Copy { to, from, shape: CopyShape::flat(size), kind, snapshot: false };
    // SAFETY: as this function's.
    unsafe { copy.now("hipMemcpy") }
}

/// `hipMemcpyAsync`.
///
/// # Safety
///
/// A destination on the host, and pinned memory, are valid for `size` bytes until the stream has been synchronised.
pub unsafe extern "C" fn hip_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    size: usize,
    kind: c_int,
    stream: *mut c_void,
) -> i32 {
    let copy = Copy { to, from, shape: CopyShape::flat(size), kind, snapshot: false };
    // SAFETY: as this function's.
    unsafe { copy.later("hipMemcpyAsync", stream) }
}

/// `hipMemcpy2D`.
///
/// # Safety
///
/// Host memory is valid for all rows.
pub unsafe extern "C" fn hip_memcpy_2d(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
) -> i32 {
    let copy =
        Copy { to, from, shape: CopyShape { width, height, to_pitch, from_pitch }, kind, snapshot: false };
    // SAFETY: as this function's.
    unsafe { copy.now("hipMemcpy2D") }
}

/// `hipMemcpy2DAsync`.
///
/// # Safety
///
/// A destination on the host, and pinned memory, are valid for all rows until the stream has been synchronised.
pub unsafe extern "C" fn hip_memcpy_2d_async(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: c_int,
    stream: *mut c_void,
) -> i32 {
    let copy =
        Copy { to, from, shape: CopyShape { width, height, to_pitch, from_pitch }, kind, snapshot: false };
    // SAFETY: as this function's.
    unsafe { copy.later("hipMemcpy2DAsync", stream) }
}

/// `hipMemcpyHtoD`.
///
/// # Safety
///
/// `from` is valid for reads of `size` bytes.
pub unsafe extern "C" fn hip_memcpy_htod(to: *mut c_void, from: *mut c_void, size: usize) -> i32 {
    // SAFETY: as this function's.
    unsafe { Copy::flat(to, from, size, MemcpyKind::HostToDevice).now("hipMemcpyHtoD") }
}

/// `hipMemcpyDtoH`.
///
/// # Safety
///
/// `to` is valid for writes of `size` bytes.
pub unsafe extern "C" fn hip_memcpy_dtoh(to: *mut c_void, from: *mut c_void, size: usize) -> i32 {
    // SAFETY: as this function's.
    unsafe { Copy::flat(to, from, size, MemcpyKind::DeviceToHost).now("hipMemcpyDtoH") }
}

/// `hipMemcpyDtoD`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memcpy_dtod(to: *mut c_void, from: *mut c_void, size: usize) -> i32 {
    // SAFETY: both ends are on the device.
    unsafe { Copy::flat(to, from, size, MemcpyKind::DeviceToDevice).now("hipMemcpyDtoD") }
}

/// `hipMemcpyHtoDAsync`.
///
/// # Safety
///
/// `from` is valid for reads of `size` bytes; if pinned, until the stream has been synchronised.
pub unsafe extern "C" fn hip_memcpy_htod_async(
    to: *mut c_void,
    from: *mut c_void,
    size: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: as this function's.
    unsafe { Copy::flat(to, from, size, MemcpyKind::HostToDevice).later("hipMemcpyHtoDAsync", stream) }
}

/// `hipMemcpyDtoHAsync`.
///
/// # Safety
///
/// `to` is valid for writes of `size` bytes until the stream has been synchronised.
pub unsafe extern "C" fn hip_memcpy_dtoh_async(
    to: *mut c_void,
    from: *mut c_void,
    size: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: as this function's.
    unsafe { Copy::flat(to, from, size, MemcpyKind::DeviceToHost).later("hipMemcpyDtoHAsync", stream) }
}

/// `hipMemcpyDtoDAsync`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_memcpy_dtod_async(
    to: *mut c_void,
    from: *mut c_void,
    size: usize,
    stream: *mut c_void,
) -> i32 {
    // SAFETY: both ends are on the device.
    unsafe { Copy::flat(to, from, size, MemcpyKind::DeviceToDevice).later("hipMemcpyDtoDAsync", stream) }
}
