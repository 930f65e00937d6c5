//! Calls of which only the status is looked at.

use std::ffi::{c_int, c_uint, c_void};

use hip_api::Code;

use crate::guard;

/// Work has been waited for.
fn idle(code: i32, call: &str) {
    if code == Code::SUCCESS.0 {
        guard::look_at_all(call);
    }
}

forwarded! {
    hipDeviceSynchronize() => |code| idle(code, "hipDeviceSynchronize");
    hipSetDevice(device: c_int);
    hipStreamCreate(stream: *mut *mut c_void);
    hipStreamCreateWithFlags(stream: *mut *mut c_void, flags: c_uint);
    hipStreamDestroy(stream: *mut c_void);
    hipStreamSynchronize(stream: *mut c_void) => |code| idle(code, "hipStreamSynchronize");
    hipStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: c_uint);
    hipEventRecord(event: *mut c_void, stream: *mut c_void);
    hipEventSynchronize(event: *mut c_void);
    hipGraphLaunch(executable: *mut c_void, stream: *mut c_void);
}
