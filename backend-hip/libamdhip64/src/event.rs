//! Events without a time.

use std::collections::BTreeSet;
use std::ffi::{c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use hip_api::Code;
use hip_api::flags::EVENT_DISABLE_TIMING;

use crate::export::{HIP, status};

/// The events that were created without a time.
static UNTIMED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn with_untimed<T>(body: impl FnOnce(&mut BTreeSet<usize>) -> T) -> T {
    body(&mut UNTIMED.lock().unwrap_or_else(PoisonError::into_inner))
}

compose! {
    /// `hipEventCreateWithFlags`.
    fn hipEventCreateWithFlags(event: *mut *mut c_void, flags: c_uint) {
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.event_create_with_flags)(event, flags) })?;
        if flags & EVENT_DISABLE_TIMING != 0 {
            // SAFETY: the call succeeded, so it is valid and holds the handle.
            let created = unsafe { event.read() }.addr();
            with_untimed(|all| all.insert(created));
        }
        Ok(())
    }

    /// `hipEventDestroy`.
    fn hipEventDestroy(event: *mut c_void) {
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.event_destroy)(event) })?;
        with_untimed(|all| all.remove(&event.addr()));
        Ok(())
    }

    /// `hipEventElapsedTime`: both events must have a time.
    fn hipEventElapsedTime(milliseconds: *mut f32, start: *mut c_void, end: *mut c_void) {
        let untimed = with_untimed(|all| all.contains(&start.addr()) || all.contains(&end.addr()));
        if untimed && !milliseconds.is_null() {
            return Err(Code::INVALID_HANDLE);
        }
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.event_elapsed_time)(milliseconds, start, end) })
    }
}
