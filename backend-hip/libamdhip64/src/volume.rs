//! Memory, copies and fills in three dimensions: slices of rows. Arrays are not supported.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use hip_api::Code;

use crate::capture;
use crate::export::{HIP, put};
use crate::memory::{fill_rows, pitched, synchronise};
use crate::node::NodeKind;

/// `hipPitchedPtr`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PitchedPointer {
    pointer: *mut c_void,
    /// Bytes from row to row.
    pitch: usize,
    /// Bytes of a row.
    width: usize,
    /// Rows of a slice.
    height: usize,
}

/// `hipExtent`: bytes, rows, slices.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Extent {
    width: usize,
    height: usize,
    depth: usize,
}

/// `hipPos`: bytes, rows, slices.
#[derive(Clone, Copy)]
#[repr(C)]
struct Position {
    x: usize,
    y: usize,
    z: usize,
}

/// `hipMemcpy3DParms`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Copy3D {
    from_array: *mut c_void,
    from_position: Position,
    from: PitchedPointer,
    to_array: *mut c_void,
    to_position: Position,
    to: PitchedPointer,
    extent: Extent,
    kind: c_int,
}

impl PitchedPointer {
    /// The address of a row in a slice. `None`: it is beyond all addresses.
    fn at(self, Position { x, y, z }: Position) -> Option<*mut c_void> {
        let slice = self.pitch.checked_mul(self.height)?.checked_mul(z)?;
        let row = self.pitch.checked_mul(y)?;
        Some(self.pointer.wrapping_byte_add(slice.checked_add(row)?.checked_add(x)?))
    }
}

/// Copies slice by slice, in stream order.
///
/// # Safety
///
/// `given` is null or valid, and names memory as HIP demands.
unsafe fn copy(given: *const Copy3D, stream: *mut c_void) -> Result<(), Code> {
    if given.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller vouches for it.
    let given = unsafe { given.read() };
    if !given.from_array.is_null() || !given.to_array.is_null() {
        return Err(Code::NOT_SUPPORTED);
    }
    let Extent { width, height, depth } = given.extent;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    let mut slices = Vec::with_capacity(depth);
    for slice in 0..depth {
        let at = |from: PitchedPointer, position: Position| {
            let z = position.z.checked_add(slice)?;
            from.at(Position { z, ..position })
        };
        let to = at(given.to, given.to_position).ok_or(Code::INVALID_VALUE)?;
        let from = at(given.from, given.from_position).ok_or(Code::INVALID_VALUE)?;
        slices.push((to, from));
    }
    capture::queue(stream, NodeKind::Copy, move |stream| {
        let mut codes = slices.iter().map(|&(to, from)| {
            // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
            unsafe {
                (HIP.memcpy_2d_async)(
                    to,
                    given.to.pitch,
                    from.cast_const(),
                    given.from.pitch,
                    width,
                    height,
                    given.kind,
                    stream,
                )
            }
        });
        codes.find(|&code| code != Code::SUCCESS.0).unwrap_or(Code::SUCCESS.0)
    })
}

/// Fills slice by slice, in stream order.
fn fill(to: PitchedPointer, value: c_int, extent: Extent, stream: *mut c_void) -> Result<(), Code> {
    for z in 0..extent.depth {
        let slice = to.at(Position { x: 0, y: 0, z }).ok_or(Code::INVALID_VALUE)?;
        fill_rows(slice, to.pitch, value, extent.width, extent.height, stream)?;
    }
    Ok(())
}

compose! {
    /// `hipMalloc3D`.
    fn hipMalloc3D(out: *mut PitchedPointer, extent: Extent) {
        let rows = extent.height.checked_mul(extent.depth).ok_or(Code::INVALID_VALUE)?;
        let (mut pointer, mut pitch) = (null_mut(), 0);
        // SAFETY: both outputs are valid for writes.
        unsafe { pitched(&raw mut pointer, &raw mut pitch, extent.width, rows) }?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, PitchedPointer { pointer, pitch, width: extent.width, height: extent.height }) }
    }

    /// `hipMemcpy3D`.
    fn hipMemcpy3D(given: *const Copy3D) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { copy(given, null_mut()) }?;
        synchronise(null_mut())
    }

    /// `hipMemcpy3DAsync`.
    fn hipMemcpy3DAsync(given: *const Copy3D, stream: *mut c_void) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { copy(given, stream) }
    }

    /// `hipMemset3D`.
    fn hipMemset3D(to: PitchedPointer, value: c_int, extent: Extent) {
        fill(to, value, extent, null_mut())?;
        synchronise(null_mut())
    }

    /// `hipMemset3DAsync`.
    fn hipMemset3DAsync(to: PitchedPointer, value: c_int, extent: Extent, stream: *mut c_void) {
        fill(to, value, extent, stream)
    }
}
