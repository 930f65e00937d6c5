//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use hip_api::Code;
use hip_api::flags::STREAM_NON_BLOCKING;

use super::enter::{enter, put};
use super::handle;
use super::host::HostFunction;
use crate::control::current;
use crate::sched::{StreamId, Ticket, Work};

/// `hipStreamCreate`.
///
/// # Safety
///
/// `stream` is null or valid for a write.
pub unsafe extern "C" fn hip_stream_create(stream: *mut *mut c_void) -> i32 {
    // SAFETY: as this function's.
    unsafe { hip_stream_create_with_flags(stream, 0) }
}

/// `hipStreamCreateWithFlags`.
///
/// # Safety
///
/// `stream` is null or valid for a write.
pub unsafe extern "C" fn hip_stream_create_with_flags(stream: *mut *mut c_void, flags: c_uint) -> i32 {
    enter("hipStreamCreateWithFlags", |device, _| {
        if stream.is_null() || flags & !STREAM_NON_BLOCKING != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let created = device.create_stream(flags & STREAM_NON_BLOCKING == 0);
        // SAFETY: as this function's.
        unsafe { put(stream, handle::of_stream(created)) }
    })
}

/// `hipStreamCreateWithPriority`; priorities change nothing here.
///
/// # Safety
///
/// `stream` is null or valid for a write.
pub unsafe extern "C" fn hip_stream_create_with_priority(
    stream: *mut *mut c_void,
    flags: c_uint,
    _: c_int,
) -> i32 {
    // SAFETY: as this function's.
    unsafe { hip_stream_create_with_flags(stream, flags) }
}

/// `hipStreamDestroy`: what is queued runs first.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_stream_destroy(stream: *mut c_void) -> i32 {
    enter("hipStreamDestroy", |device, call| match handle::created_stream(stream)? {
        StreamId::NULL => Err(Code::INVALID_HANDLE),
        stream => device.destroy_stream(stream, call),
    })
}

/// `hipStreamSynchronize`.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_stream_synchronize(stream: *mut c_void) -> i32 {
    enter("hipStreamSynchronize", |device, call| device.synchronise_stream(handle::stream(stream)?, call))
}

/// `hipStreamQuery`. When work is deferred, each question lets one operation run.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_stream_query(stream: *mut c_void) -> i32 {
    enter("hipStreamQuery", |device, call| device.query_stream(handle::stream(stream)?, call))
}

/// `hipStreamWaitEvent`.
///
/// # Safety
///
/// None beyond HIP's.
pub unsafe extern "C" fn hip_stream_wait_event(
    stream: *mut c_void,
    event: *mut c_void,
    flags: c_uint,
) -> i32 {
    enter("hipStreamWaitEvent", |device, call| {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        device.wait_event(handle::stream(stream)?, handle::event(event)?, call)
    })
}

/// `hipLaunchHostFunc`.
///
/// # Safety
///
/// `function` may be called with `argument` once, on any thread, until the stream has been synchronised.
pub unsafe extern "C" fn hip_launch_host_func(
    stream: *mut c_void,
    function: Option<unsafe extern "C" fn(*mut c_void)>,
    argument: *mut c_void,
) -> i32 {
    enter("hipLaunchHostFunc", |device, call| {
        let function = function.ok_or(Code::INVALID_VALUE)?;
        // SAFETY: as this function's.
        let function = unsafe { HostFunction::new(function, argument) };
        device.enqueue(handle::stream(stream)?, call, Work::Host(Box::new(move || function.run())))
    })
}

/// What the host has to wait for, to know that all of a stream's work so far is done.
pub fn ticket(stream: *mut c_void) -> Result<Ticket, Code> {
    current().ticket(handle::stream(stream)?)
}
