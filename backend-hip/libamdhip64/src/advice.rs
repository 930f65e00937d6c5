//! What a program says about ranges of memory. It changes nothing here, and can be asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use hip_api::Code;

use crate::export::put;
use crate::location::allocation;
use crate::{managed, stream};

/// `hipCpuDeviceId`.
const HOST: c_int = -1;
/// `hipInvalidDeviceId`: no device.
const NOWHERE: c_int = -2;

/// `hipMemRangeCoherencyModeIndeterminate`.
const INDETERMINATE: c_int = 2;

/// A change to what is known of a page, with the device that the program names.
type Change = fn(&mut Advice, c_int);

/// What is known of a page.
#[derive(Clone)]
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

/// Pages that advice is kept for.
const PAGE: u64 = 4096;

/// Advice about the pages of an allocation: each entry holds from its offset to that of the next. The first is at 0.
struct Pages(BTreeMap<u64, Advice>);

impl Default for Pages {
    fn default() -> Self {
        Self(BTreeMap::from([(0, Advice::default())]))
    }
}

impl Pages {
    /// Lets an entry begin at an offset.
    fn split(&mut self, at: u64) {
        if let Some((_, before)) = self.0.range(..=at).next_back() {
            let same = before.clone();
            self.0.entry(at).or_insert(same);
        }
    }

    /// Changes what is known of all pages that have a byte of a range.
    fn change(&mut self, bytes: &Range<u64>, change: impl Fn(&mut Advice)) {
        let (start, end) = (bytes.start / PAGE * PAGE, bytes.end.next_multiple_of(PAGE));
        self.split(start);
        self.split(end);
        self.0.range_mut(start..end).for_each(|(_, advice)| change(advice));
    }

    /// What is known of the pages that have a byte of a range: once for all that are alike and side by side.
    fn about(&self, bytes: &Range<u64>) -> Vec<&Advice> {
        let first = self.0.range(..=bytes.start).next_back();
        let others = self.0.range(bytes.start + 1..bytes.end.max(bytes.start + 1));
        first.into_iter().chain(others).map(|(_, advice)| advice).collect()
    }
}

/// By the first bytes of allocations.
static ADVICE: Mutex<BTreeMap<u64, Pages>> = Mutex::new(BTreeMap::new());

/// The allocation that holds `size` bytes at `memory`, and their offsets in it.
fn place(memory: *const c_void, size: usize) -> Result<(u64, Range<u64>), Code> {
    let found = allocation(memory)?;
    let offset = memory.addr() as u64 - found.base;
    if size == 0 || size as u64 > found.size - offset {
        return Err(Code::INVALID_VALUE);
    }
    Ok((found.base, offset..offset + size as u64))
}

/// As [`place`], of managed memory alone.
fn managed(memory: *const c_void, size: usize) -> Result<(u64, Range<u64>), Code> {
    place(memory, size)
        .and_then(|found| if managed::has(found.0) { Ok(found) } else { Err(Code::INVALID_VALUE) })
}

/// The advice about an allocation.
fn with<T>(base: u64, body: impl FnOnce(&mut Pages) -> T) -> T {
    body(ADVICE.lock().unwrap_or_else(PoisonError::into_inner).entry(base).or_default())
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
    let (base, bytes) = managed(memory, size)?;
    let values = with(base, |pages| {
        let all = pages.about(&bytes);
        // What is not the same for all pages is `mixed`.
        let common = |of: fn(&Advice) -> c_int, mixed: c_int| {
            let first = all.first().map_or(mixed, |advice| of(advice));
            vec![if all.iter().all(|advice| of(advice) == first) { first } else { mixed }]
        };
        match attribute {
            // hipMemRangeAttributeReadMostly.
            1 => Ok(common(|advice| advice.read_mostly.into(), 0)),
            // hipMemRangeAttributePreferredLocation.
            2 => Ok(common(|advice| advice.preferred, NOWHERE)),
            // hipMemRangeAttributeAccessedBy: as many as there is room for.
            3 => {
                let by_all = |device: &c_int| all.iter().all(|advice| advice.accessed_by.contains(device));
                let devices = [HOST, 0].into_iter().filter(by_all);
                Ok(devices.chain(std::iter::repeat(NOWHERE)).take(room / 4).collect())
            }
            // hipMemRangeAttributeLastPrefetchLocation.
            4 => Ok(common(|advice| advice.prefetched, NOWHERE)),
            // hipMemRangeAttributeCoherencyMode.
            100 => Ok(common(|advice| advice.coarse.into(), INDETERMINATE)),
            _ => Err(Code::INVALID_VALUE),
        }
    })?;
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
        let (base, bytes) = managed(memory, size)?;
        let change: Change = match advice {
            // hipMemAdviseSetReadMostly and its opposite; likewise below.
            1 => |known, _| known.read_mostly = true,
            2 => |known, _| known.read_mostly = false,
            // hipMemAdviseSetPreferredLocation.
            3 => |known, device| known.preferred = device,
            4 => |known, _| known.preferred = NOWHERE,
            // hipMemAdviseSetAccessedBy.
            5 => |known, device| _ = known.accessed_by.insert(device),
            6 => |known, device| _ = known.accessed_by.remove(&device),
            // hipMemAdviseSetCoarseGrain.
            100 => |known, _| known.coarse = true,
            101 => |known, _| known.coarse = false,
            _ => return Err(Code::INVALID_VALUE),
        };
        with(base, |pages| pages.change(&bytes, |known| change(known, device)));
        Ok(())
    }

    /// `hipMemPrefetchAsync`: all memory is where it is needed.
    fn hipMemPrefetchAsync(memory: *const c_void, size: usize, device: c_int, stream: *mut c_void) {
        if memory.is_null() || size == 0 {
            return Err(Code::INVALID_VALUE);
        }
        stream::check(stream)?;
        let (base, bytes) = place(memory, size)?;
        is_place(device)?;
        with(base, |pages| pages.change(&bytes, |known| known.prefetched = device));
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_holds_for_whole_pages_and_no_others() {
        let mut pages = Pages::default();
        let preferred = |pages: &Pages, bytes: Range<u64>| {
            pages.about(&bytes).iter().map(|advice| advice.preferred).collect::<Vec<_>>()
        };
        pages.change(&(5000..5001), |advice| advice.preferred = 0);
        assert_eq!(preferred(&pages, 0..3 * PAGE), [NOWHERE, 0, NOWHERE]);
        assert_eq!(preferred(&pages, PAGE..2 * PAGE), [0]);
        assert_eq!(preferred(&pages, 0..PAGE), [NOWHERE]);
        assert_eq!(preferred(&pages, 8191..8193), [0, NOWHERE]);
        pages.change(&(0..2 * PAGE + 1), |advice| advice.preferred = HOST);
        assert_eq!(preferred(&pages, 0..3 * PAGE), [HOST, HOST, HOST]);
        assert_eq!(preferred(&pages, 3 * PAGE..3 * PAGE + 1), [NOWHERE]);
    }
}
