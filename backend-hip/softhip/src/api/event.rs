//! Events.

use std::ffi::{c_uint, c_void};

use hip_api::{Code, flags};

use super::enter::{enter, put};
use super::handle;

/// How far what was written is visible when the event has come: an event has one of these at most.
const RELEASES: c_uint =
    flags::EVENT_DISABLE_SYSTEM_FENCE | flags::EVENT_RELEASE_TO_DEVICE | flags::EVENT_RELEASE_TO_SYSTEM;

/// The flags an event may have.
const FLAGS: c_uint =
    flags::EVENT_BLOCKING_SYNC | flags::EVENT_DISABLE_TIMING | flags::EVENT_INTERPROCESS | RELEASES;

/// `hipEventCreate`.
///
/// # Safety
///
/// `event` is null or valid for a write.
pub unsafe extern "C" fn hip_event_create(event: *mut *mut c_void) -> i32 {
    // SAFETY: as this function's.
    unsafe { hip_event_create_with_flags(event, 0) }
}

/// `hipEventCreateWithFlags`.
///
/// # Safety
///
/// `event` is null or valid for a write.
pub unsafe extern "C" fn hip_event_create_with_flags(event: *mut *mut c_void, flags: c_uint) -> i32 {
    enter("hipEventCreateWithFlags", |device, _| {
        let shared = flags & flags::EVENT_INTERPROCESS != 0;
        let untimed = flags & flags::EVENT_DISABLE_TIMING != 0;
        let releases = (flags & RELEASES).count_ones();
        if event.is_null() || flags & !FLAGS != 0 || releases > 1 || (shared && !untimed) {
            return Err(Code::INVALID_VALUE);
        }
        let created = device.create_event();
        // SAFETY: as this function's.
        unsafe { put(event, handle::of_event(created)) }
    })
}

/// `hipEventDestroy`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_event_destroy(event: *mut c_void) -> i32 {
    enter("hipEventDestroy", |device, call| device.destroy_event(handle::event(event)?, call))
}

/// `hipEventRecord`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_event_record(event: *mut c_void, stream: *mut c_void) -> i32 {
    enter("hipEventRecord", |device, call| {
        device.record_event(handle::stream(stream)?, handle::event(event)?, call)
    })
}

/// `hipEventSynchronize`.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_event_synchronize(event: *mut c_void) -> i32 {
    enter("hipEventSynchronize", |device, call| device.synchronise_event(handle::event(event)?, call))
}

/// `hipEventQuery`. When work is deferred, each question lets one operation run.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_event_query(event: *mut c_void) -> i32 {
    enter("hipEventQuery", |device, call| device.query_event(handle::event(event)?, call))
}

/// `hipEventElapsedTime`, in milliseconds of host time.
///
/// # Safety
///
/// `milliseconds` is null or valid for a write.
pub unsafe extern "C" fn hip_event_elapsed_time(
    milliseconds: *mut f32,
    start: *mut c_void,
    end: *mut c_void,
) -> i32 {
    enter("hipEventElapsedTime", |device, call| {
        if milliseconds.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let elapsed = device.elapsed(handle::event(start)?, handle::event(end)?, call)?;
        // SAFETY: as this function's.
        unsafe { put(milliseconds, elapsed.as_secs_f32() * 1e3) }
    })
}
