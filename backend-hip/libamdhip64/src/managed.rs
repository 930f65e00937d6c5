//! Which allocations are managed memory. They are pinned memory, which host and device both see.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// Where they begin.
static MANAGED: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

fn with<T>(body: impl FnOnce(&mut BTreeSet<u64>) -> T) -> T {
    body(&mut MANAGED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Counts pinned memory as managed memory.
pub(crate) fn add(memory: *mut c_void) {
    with(|managed| managed.insert(memory.addr() as u64));
}

/// Whether an allocation that begins at an address is managed memory.
pub(crate) fn has(base: u64) -> bool {
    with(|managed| managed.contains(&base))
}

/// Counts it no more; whether it was managed memory.
pub(crate) fn remove(base: u64) -> bool {
    with(|managed| managed.remove(&base))
}
