//! Guard zones: known bytes before and after each allocation of `hipMalloc`, looked at whenever the device is known to be idle.
//!
//! A GPU lets an overrun of a few bytes pass. Here a write of one changes the zone; a read of one is not seen.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr::with_exposed_provenance_mut;
use std::sync::{Mutex, PoisonError};

use hip_api::{Code, MemcpyKind};
use softhip::memory::{AccessFault, AccessKind, AllocationInfo, FaultKind, Side};
use softhip::report::{Problem, Report, Segment};

use crate::{memory, session};

/// Bytes of a zone: what the program is given stays aligned as it was.
const ZONE: usize = 4096;
/// What zones hold.
const PATTERN: u8 = 0xA5;

/// Sizes of guarded allocations, by the addresses that the program has.
static GUARDED: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn with<T>(body: impl FnOnce(&mut BTreeMap<usize, usize>) -> T) -> T {
    body(&mut GUARDED.lock().unwrap_or_else(PoisonError::into_inner))
}

fn pointer(address: usize) -> *mut c_void {
    with_exposed_provenance_mut(address)
}

/// Whether device memory gets guard zones.
pub(crate) fn guards() -> bool {
    session::guards()
}

/// Bytes to ask of the real library for `size`; `None` if that is too much.
pub(crate) fn padded(size: usize) -> Option<usize> {
    size.checked_add(2 * ZONE)
}

/// Fills the zones of what the real library gave, and answers what the program gets.
pub(crate) fn begin(real: *mut c_void, size: usize) -> *mut c_void {
    let fill = real!(hipMemset: unsafe extern "C" fn(*mut c_void, c_int, usize) -> i32);
    let start = real.expose_provenance() + ZONE;
    for zone in [start - ZONE, start + size] {
        // SAFETY: both zones are in the allocation.
        unsafe { fill(pointer(zone), PATTERN.into(), ZONE) };
    }
    with(|guarded| guarded.insert(start, size));
    pointer(start)
}

/// What the real library gave for an address that the program frees, after a last look at its zones.
pub(crate) fn end(memory: *mut c_void) -> *mut c_void {
    let address = memory.addr();
    let Some(size) = with(|guarded| guarded.get(&address).copied()) else { return memory };
    look(address, size, "hipFree");
    with(|guarded| guarded.remove(&address));
    pointer(address - ZONE)
}

/// Looks at all zones. The device is idle.
pub(crate) fn look_at_all(after: &str) {
    if !guards() {
        return;
    }
    for (address, size) in with(|guarded| guarded.clone()) {
        look(address, size, after);
    }
}

/// The bytes of a zone.
fn read(zone: usize) -> Option<Vec<u8>> {
    let copy = real!(hipMemcpy: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> i32);
    let mut bytes = vec![0; ZONE];
    let kind = MemcpyKind::DeviceToHost.number();
    // SAFETY: the zone is in a live allocation, and the vector has its size.
    let code = unsafe { copy(bytes.as_mut_ptr().cast(), pointer(zone), ZONE, kind) };
    (code == Code::SUCCESS.0).then_some(bytes)
}

fn look(address: usize, size: usize, after: &str) {
    let changed = |byte: &u8| *byte != PATTERN;
    let before = read(address - ZONE).unwrap_or_default();
    let behind = read(address + size).unwrap_or_default();
    let found = [(Side::Before, address - ZONE, &before), (Side::After, address + size, &behind)];
    for (side, zone, bytes) in found {
        let Some(first) = bytes.iter().position(changed) else { continue };
        let Some(last) = bytes.iter().rposition(changed) else { continue };
        tell(side, (zone + first, last - first + 1), (address, size), after);
        let fill = real!(hipMemset: unsafe extern "C" fn(*mut c_void, c_int, usize) -> i32);
        // SAFETY: the zone is in a live allocation.
        unsafe { fill(pointer(zone), PATTERN.into(), ZONE) };
    }
}

/// Tells of changed bytes, from the first to the last.
fn tell(side: Side, (at, bytes): (usize, usize), (address, size): (usize, usize), after: &str) {
    let distance = if side == Side::Before { address - at } else { at - address - size };
    let kind = FaultKind::OutOfBounds { side, distance: distance as u64, outside: bytes as u64 };
    let nearest: Option<Box<AllocationInfo>> = memory::at(address as u64).map(Box::new);
    let fault =
        AccessFault { kind, access: AccessKind::Write, address: at as u64, size: bytes as u64, nearest };
    let report = Report::new(Problem::Access { segment: Segment::Global, fault });
    session::report(
        report.note(format!("its guard zone has changed; seen by {after}, {}", session::latest())),
    );
}
