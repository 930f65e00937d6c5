//! Arrays, in one and two dimensions: memory with rows, that copies reach by offsets. Textures, which would read them, are missing.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null_mut, with_exposed_provenance_mut, without_provenance_mut};
use std::sync::{Mutex, PoisonError};

use hip_api::{Code, MemcpyKind};

use crate::capture;
use crate::export::{HIP, put, status};
use crate::node::NodeKind;

/// Above the tag's position, addresses of user programs have no bits.
const ARRAY: usize = 0x5b << 48;

/// `hipChannelFormatDesc`: bits of each component, and what they are.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Channels {
    bits: [c_int; 4],
    kind: c_int,
}

/// `HIP_ARRAY_DESCRIPTOR`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Descriptor {
    width: usize,
    height: usize,
    format: c_int,
    channels: c_uint,
}

/// `hipExtent`, in elements.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// An array.
#[derive(Clone, Copy)]
struct Array {
    memory: usize,
    channels: Channels,
    /// In elements; an array of one dimension has a height of 0.
    width: usize,
    height: usize,
    flags: c_uint,
    /// Bytes of a row.
    row: usize,
}

struct Arrays {
    all: BTreeMap<usize, Array>,
    next: usize,
}

static ARRAYS: Mutex<Arrays> = Mutex::new(Arrays { all: BTreeMap::new(), next: 1 });

fn with<T>(body: impl FnOnce(&mut Arrays) -> T) -> T {
    body(&mut ARRAYS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn find(array: *const c_void) -> Result<Array, Code> {
    with(|arrays| arrays.all.get(&array.addr()).copied()).ok_or(Code::INVALID_VALUE)
}

/// Makes an array.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn create(
    out: *mut *mut c_void,
    channels: Channels,
    [width, height]: [usize; 2],
    flags: c_uint,
) -> Result<(), Code> {
    let bits = channels.bits.iter().try_fold(
        0,
        |sum: c_int, bits| {
            if *bits < 0 { None } else { sum.checked_add(*bits) }
        },
    );
    let element = bits.filter(|bits| *bits > 0 && bits % 8 == 0).ok_or(Code::INVALID_VALUE)? / 8;
    let element = usize::try_from(element).map_err(|_| Code::INVALID_VALUE)?;
    if width == 0 || out.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let row = width.checked_mul(element).ok_or(Code::INVALID_VALUE)?;
    let size = row.checked_mul(height.max(1)).ok_or(Code::OUT_OF_MEMORY)?;
    let mut memory = null_mut();
    // SAFETY: the output is valid for a write.
    status(unsafe { (HIP.malloc)(&raw mut memory, size) })?;
    let array = Array { memory: memory.expose_provenance(), channels, width, height, flags, row };
    let handle = with(|arrays| {
        let handle = ARRAY | arrays.next;
        arrays.next += 1;
        arrays.all.insert(handle, array);
        handle
    });
    // SAFETY: as this function's.
    unsafe { put(out, without_provenance_mut(handle)) }
}

fn destroy(array: *mut c_void) -> Result<(), Code> {
    let found = with(|arrays| arrays.all.remove(&array.addr())).ok_or(Code::CONTEXT_IS_DESTROYED)?;
    // SAFETY: the array's memory has no other owner.
    status(unsafe { (HIP.free)(with_exposed_provenance_mut(found.memory)) })
}

impl Array {
    /// The address of bytes of the array, `width` of each of `height` rows.
    fn part(&self, [x, y]: [usize; 2], [width, height]: [usize; 2]) -> Result<*mut c_void, Code> {
        let inside =
            |from: usize, count: usize, all: usize| from.checked_add(count).is_some_and(|end| end <= all);
        if !inside(x, width, self.row) || !inside(y, height, self.height.max(1)) {
            return Err(Code::INVALID_VALUE);
        }
        Ok(with_exposed_provenance_mut::<c_void>(self.memory).wrapping_byte_add(y * self.row + x))
    }

    /// `size` bytes from an offset, which is in the first row or at the begin of a row.
    fn bytes(&self, offset: usize, size: usize) -> Result<*mut c_void, Code> {
        let all = self.row.saturating_mul(self.height.max(1));
        if offset.checked_add(size).is_none_or(|end| end > all) {
            return Err(Code::INVALID_VALUE);
        }
        Ok(with_exposed_provenance_mut::<c_void>(self.memory).wrapping_byte_add(offset))
    }
}

/// A side of a copy of rows.
#[derive(Clone, Copy)]
struct Rows {
    start: *mut c_void,
    pitch: usize,
}

/// Copies rows, and waits unless there is a stream to queue the copy on.
fn copy(
    to: Rows,
    from: Rows,
    [width, height]: [usize; 2],
    kind: c_int,
    stream: Option<*mut c_void>,
) -> Result<(), Code> {
    let (start, pitch, source, source_pitch) = (to.start, to.pitch, from.start.cast_const(), from.pitch);
    match stream {
        None => {
            // SAFETY: the caller keeps to HIP's contract.
            status(unsafe { (HIP.memcpy_2d)(start, pitch, source, source_pitch, width, height, kind) })
        }
        Some(stream) => capture::queue(stream, NodeKind::Copy, move |stream| {
            // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
            unsafe { (HIP.memcpy_2d_async)(start, pitch, source, source_pitch, width, height, kind, stream) }
        }),
    }
}

fn to_array(
    array: *mut c_void,
    at: [usize; 2],
    (from, pitch): (*const c_void, usize),
    size: [usize; 2],
    kind: c_int,
    stream: Option<*mut c_void>,
) -> Result<(), Code> {
    let array = find(array)?;
    let to = Rows { start: array.part(at, size)?, pitch: array.row };
    copy(to, Rows { start: from.cast_mut(), pitch }, size, kind, stream)
}

fn from_array(
    (to, pitch): (*mut c_void, usize),
    array: *const c_void,
    at: [usize; 2],
    size: [usize; 2],
    kind: c_int,
    stream: Option<*mut c_void>,
) -> Result<(), Code> {
    let array = find(array)?;
    let from = Rows { start: array.part(at, size)?, pitch: array.row };
    copy(Rows { start: to, pitch }, from, size, kind, stream)
}

/// `hipArray_Format`: the bits of a component, and its kind in a channel description.
fn format(number: c_int) -> Result<(c_int, c_int), Code> {
    const SIGNED: c_int = 0;
    const UNSIGNED: c_int = 1;
    const FLOAT: c_int = 2;
    Ok(match number {
        1 => (8, UNSIGNED),
        2 => (16, UNSIGNED),
        3 => (32, UNSIGNED),
        8 => (8, SIGNED),
        9 => (16, SIGNED),
        10 => (32, SIGNED),
        16 => (16, FLOAT),
        32 => (32, FLOAT),
        _ => return Err(Code::INVALID_VALUE),
    })
}

compose! {
    /// `hipMallocArray`.
    fn hipMallocArray(
        out: *mut *mut c_void, channels: *const Channels, width: usize, height: usize, flags: c_uint,
    ) {
        if channels.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        let channels = unsafe { channels.read() };
        // SAFETY: null or valid by HIP's contract.
        unsafe { create(out, channels, [width, height], flags) }
    }

    /// `hipArrayCreate`.
    fn hipArrayCreate(out: *mut *mut c_void, about: *const Descriptor) {
        if about.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        let Descriptor { width, height, format: number, channels } = unsafe { about.read() };
        let (size, kind) = format(number)?;
        if !matches!(channels, 1 | 2 | 4) {
            return Err(Code::INVALID_VALUE);
        }
        let bits = std::array::from_fn(|at| if at < channels as usize { size } else { 0 });
        // SAFETY: null or valid by HIP's contract.
        unsafe { create(out, Channels { bits, kind }, [width, height], 0) }
    }

    /// `hipFreeArray`.
    fn hipFreeArray(array: *mut c_void) {
        if array.is_null() { Err(Code::INVALID_VALUE) } else { destroy(array) }
    }

    /// `hipArrayDestroy`.
    fn hipArrayDestroy(array: *mut c_void) {
        if array.is_null() { Err(Code::INVALID_VALUE) } else { destroy(array) }
    }

    /// `hipArrayGetInfo`: outputs may be left out.
    fn hipArrayGetInfo(channels: *mut Channels, extent: *mut Extent, flags: *mut c_uint, array: *mut c_void) {
        let found = find(array).map_err(|_| Code::INVALID_HANDLE)?;
        if !channels.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(channels, found.channels) }?;
        }
        if !extent.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(extent, Extent { width: found.width, height: found.height, depth: 0 }) }?;
        }
        if !flags.is_null() {
            // SAFETY: not null, so valid by HIP's contract.
            unsafe { put(flags, found.flags) }?;
        }
        Ok(())
    }

    /// `hipMemcpy2DToArray`.
    fn hipMemcpy2DToArray(
        to: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int,
    ) {
        to_array(to, [x, y], (from, pitch), [width, height], kind, None)
    }

    /// `hipMemcpy2DToArrayAsync`.
    fn hipMemcpy2DToArrayAsync(
        to: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: c_int,
        stream: *mut c_void,
    ) {
        to_array(to, [x, y], (from, pitch), [width, height], kind, Some(stream))
    }

    /// `hipMemcpy2DFromArray`.
    fn hipMemcpy2DFromArray(
        to: *mut c_void, pitch: usize, from: *const c_void, x: usize, y: usize, width: usize, height: usize, kind: c_int,
    ) {
        from_array((to, pitch), from, [x, y], [width, height], kind, None)
    }

    /// `hipMemcpy2DFromArrayAsync`.
    fn hipMemcpy2DFromArrayAsync(
        to: *mut c_void, pitch: usize, from: *const c_void, x: usize, y: usize, width: usize, height: usize, kind: c_int,
        stream: *mut c_void,
    ) {
        from_array((to, pitch), from, [x, y], [width, height], kind, Some(stream))
    }

    /// `hipMemcpyHtoA`.
    fn hipMemcpyHtoA(to: *mut c_void, offset: usize, from: *const c_void, size: usize) {
        let to = find(to)?.bytes(offset, size)?;
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.memcpy)(to, from, size, MemcpyKind::HostToDevice.number()) })
    }

    /// `hipMemcpyAtoH`.
    fn hipMemcpyAtoH(to: *mut c_void, from: *mut c_void, offset: usize, size: usize) {
        let from = find(from)?.bytes(offset, size)?;
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.memcpy)(to, from, size, MemcpyKind::DeviceToHost.number()) })
    }
}
