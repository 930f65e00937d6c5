//! What a program says about ranges of memory. It changes nothing here, and can be asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;

use crate::export::put;
use crate::location::allocation;

/// `hipCpuDeviceId`.
const HOST: c_int = -1;
/// `hipInvalidDeviceId`: no device.
const NOWHERE: c_int = -2;

/// What is known of an allocation.
struct Advice {
    read_mostly: bool,
    preferred: c_int,
    accessed_by: BTreeSet<c_int>,
    prefetched: c_int,
    coarse: bool,
}

impl Default for Advice {
    fn default() -> Self {
        Self {
            read_mostly: false,
            preferred: NOWHERE,
            accessed_by: BTreeSet::new(),
            prefetched: NOWHERE,
            coarse: false,
        }
    }
}

/// By the first bytes of allocations.
static ADVICE: Mutex<BTreeMap<u64, Advice>> = Mutex::new(BTreeMap::new());

/// The advice about the allocation that holds `size` bytes at `memory`.
fn with<T>(memory: *const c_void, size: usize, body: impl FnOnce(&mut Advice) -> T) -> Result<T, Code> {
    let found = allocation(memory)?;
    let offset = memory.addr() as u64 - found.base;
    if size == 0 || size as u64 > found.size - offset {
        return Err(Code::INVALID_VALUE);
    }
    let mut all = ADVICE.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(body(all.entry(found.base).or_default()))
}

/// Forgets what was said about an allocation that is freed.
pub(crate) fn forget(base: u64) {
    ADVICE.lock().unwrap_or_else(PoisonError::into_inner).remove(&base);
}

fn is_place(device: c_int) -> Result<(), Code> {
    if device == 0 || device == HOST { Ok(()) } else { Err(Code::INVALID_DEVICE) }
}

/// Answers an attribute of a range.
///
/// # Safety
///
/// `out` is null or has `room` bytes.
unsafe fn attribute(
    out: *mut c_void,
    room: usize,
    attribute: c_int,
    memory: *const c_void,
    size: usize,
) -> Result<(), Code> {
    let values = with(memory, size, |advice| match attribute {
        // hipMemRangeAttributeReadMostly.
        1 => Ok(vec![c_int::from(advice.read_mostly)]),
        // hipMemRangeAttributePreferredLocation.
        2 => Ok(vec![advice.preferred]),
        // hipMemRangeAttributeAccessedBy: as many as there is room for.
        3 => {
            Ok(advice.accessed_by.iter().copied().chain(std::iter::repeat(NOWHERE)).take(room / 4).collect())
        }
        // hipMemRangeAttributeLastPrefetchLocation.
        4 => Ok(vec![advice.prefetched]),
        // hipMemRangeAttributeCoherencyMode.
        100 => Ok(vec![c_int::from(advice.coarse)]),
        _ => Err(Code::INVALID_VALUE),
    })??;
    if out.is_null() || !room.is_multiple_of(4) || room / 4 != values.len() || values.is_empty() {
        return Err(Code::INVALID_VALUE);
    }
    for (at, value) in values.into_iter().enumerate() {
        // SAFETY: there is room for as many values.
        unsafe { put(out.cast::<c_int>().wrapping_add(at), value) }?;
    }
    Ok(())
}

compose! {
    /// `hipMemAdvise`.
    fn hipMemAdvise(memory: *const c_void, size: usize, advice: c_int, device: c_int) {
        if !matches!(advice, 1 | 2 | 4 | 100 | 101) {
            is_place(device)?;
        }
        with(memory, size, |known| {
            match advice {
                // hipMemAdviseSetReadMostly and its opposite; likewise below.
                1 => known.read_mostly = true,
                2 => known.read_mostly = false,
                // hipMemAdviseSetPreferredLocation.
                3 => known.preferred = device,
                4 => known.preferred = NOWHERE,
                // hipMemAdviseSetAccessedBy.
                5 => {
                    known.accessed_by.insert(device);
                }
                6 => {
                    known.accessed_by.remove(&device);
                }
                // hipMemAdviseSetCoarseGrain.
                100 => known.coarse = true,
                101 => known.coarse = false,
                _ => return Err(Code::INVALID_VALUE),
            }
            Ok(())
        })?
    }

    /// `hipMemPrefetchAsync`: all memory is where it is needed.
    fn hipMemPrefetchAsync(memory: *const c_void, size: usize, device: c_int, _stream: *mut c_void) {
        is_place(device)?;
        with(memory, size, |known| known.prefetched = device)
    }

    /// `hipMemRangeGetAttribute`.
    fn hipMemRangeGetAttribute(
        out: *mut c_void, room: usize, name: c_int, memory: *const c_void, size: usize,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { attribute(out, room, name, memory, size) }
    }

    /// `hipMemRangeGetAttributes`.
    fn hipMemRangeGetAttributes(
        outs: *mut *mut c_void, rooms: *mut usize, names: *mut c_int, count: usize, memory: *const c_void,
        size: usize,
    ) {
        if outs.is_null() || rooms.is_null() || names.is_null() || count == 0 {
            return Err(Code::INVALID_VALUE);
        }
        for at in 0..count {
            // SAFETY: each list has `count` entries by HIP's contract.
            let out = unsafe { outs.wrapping_add(at).read() };
            // SAFETY: as above.
            let room = unsafe { rooms.wrapping_add(at).read() };
            // SAFETY: as above.
            let name = unsafe { names.wrapping_add(at).read() };
            // SAFETY: the caller keeps to HIP's contract.
            unsafe { attribute(out, room, name, memory, size) }?;
        }
        Ok(())
    }
}
