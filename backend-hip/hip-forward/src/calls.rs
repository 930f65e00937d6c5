//! Calls of which only the status is looked at.

use std::ffi::{c_int, c_uint, c_void};

forwarded! {
    hipDeviceSynchronize();
    hipSetDevice(device: c_int);
    hipStreamCreate(stream: *mut *mut c_void);
    hipStreamCreateWithFlags(stream: *mut *mut c_void, flags: c_uint);
    hipStreamDestroy(stream: *mut c_void);
    hipStreamSynchronize(stream: *mut c_void);
    hipStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: c_uint);
    hipEventRecord(event: *mut c_void, stream: *mut c_void);
    hipEventSynchronize(event: *mut c_void);
    hipGraphLaunch(executable: *mut c_void, stream: *mut c_void);
}
