//! What every call does first and last.

use std::cell::Cell;

use hip_api::Code;

use crate::control::{CallSite, SoftDevice, current};
use crate::report::HostCall;

thread_local! {
    static LAST: Cell<Code> = const { Cell::new(Code::SUCCESS) };
    static CALLED_AS: Cell<Option<&'static str>> = const { Cell::new(None) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// A call of `function`, from the place that the thread has named.
pub(super) fn call(function: &'static str) -> HostCall {
    HostCall::new(CALLED_AS.get().unwrap_or(function), CallSite::get())
}

/// Runs a call that is made of others. Reports name `function` for all of them.
pub fn called_as<T>(function: &'static str, body: impl FnOnce() -> T) -> T {
    let outer = CALLED_AS.replace(Some(function));
    let outcome = body();
    CALLED_AS.set(outer);
    outcome
}

/// Runs the body of a call on the current device, unless that has faulted.
pub(super) fn enter(
    function: &'static str,
    body: impl FnOnce(&SoftDevice, HostCall) -> Result<(), Code>,
) -> i32 {
    if IN_HOST_FUNCTION.get() {
        // As the real runtime documents: host functions make no HIP calls.
        return remember(Err(Code::NOT_SUPPORTED));
    }
    let device = current();
    let outcome = device.refusal().map_or(Ok(()), Err).and_then(|()| body(&device, call(function)));
    remember(outcome)
}

/// The number of an outcome; an error is kept for `hipGetLastError`.
pub fn remember(outcome: Result<(), Code>) -> i32 {
    let code = outcome.err().unwrap_or(Code::SUCCESS);
    if code != Code::SUCCESS && code != Code::NOT_READY {
        LAST.set(code);
    }
    code.0
}

/// The thread's last error. A fault of the device is never cleared.
pub(super) fn last_error(clear: bool) -> i32 {
    let last = LAST.get();
    if clear {
        LAST.set(Code::SUCCESS);
    }
    current().fault().unwrap_or(last).0
}

/// Runs a host function of a stream, during which the thread may make no HIP calls.
pub(super) fn in_host_function(function: impl FnOnce()) {
    let outer = IN_HOST_FUNCTION.replace(true);
    function();
    IN_HOST_FUNCTION.set(outer);
}

/// Writes an output of a call.
///
/// # Safety
///
/// `to` is null or valid for a write of `T`.
pub(super) unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Code> {
    if to.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller vouches for it.
    unsafe { to.write(value) };
    Ok(())
}
