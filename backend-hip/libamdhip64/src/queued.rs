//! Calls that a stream runs later. A stream that captures records them instead.

use std::ffi::{c_int, c_uint, c_void};

use hip_api::{Code, HostFunction};

use crate::capture;
use crate::export::{HIP, status};
use crate::launch::{self, Arguments, Configuration, Dim3};
use crate::node::NodeKind;

/// Calls whose last argument is the stream: `kind name(arguments) = field of HipApi;`, for copies with their ends and their size.
macro_rules! queued {
    ($($kind:ident $name:ident($($argument:ident: $type:ty),* $(,)?) = $target:ident $([$to:ident, $from:ident, $size:ident])?;)*) => {
        compose! {
            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                fn $name($($argument: $type,)* stream: *mut c_void) {
                    capture::queue(stream, NodeKind::$kind, move |stream| {
                        // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
                        let run = || unsafe { (HIP.$target)($($argument,)* stream) };
                        $(let run = || crate::audit::copy($to, $from, $size, stream, run);)?
                        let code = run();
                        $(crate::host_access::copied(code, $to, $from, $size, stringify!($name), stream);)?
                        code
                    })
                }
            )*
        }
    };
}

mod last {
    use super::{HIP, NodeKind, c_int, c_void, capture};

    queued! {
        Copy hipMemcpyAsync(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) = memcpy_async [to, from, size];
        Copy hipMemcpy2DAsync(
            to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize,
            kind: c_int,
        ) = memcpy_2d_async;
        Copy hipMemcpyHtoDAsync(to: *mut c_void, from: *mut c_void, size: usize) = memcpy_htod_async [to, from, size];
        Copy hipMemcpyDtoHAsync(to: *mut c_void, from: *mut c_void, size: usize) = memcpy_dtoh_async [to, from, size];
        Copy hipMemcpyDtoDAsync(to: *mut c_void, from: *mut c_void, size: usize) = memcpy_dtod_async;
        Fill hipMemsetAsync(to: *mut c_void, value: c_int, size: usize) = memset_async;
        Fill hipMemsetD16Async(to: *mut c_void, value: u16, count: usize) = memset_d16_async;
        Fill hipMemsetD32Async(to: *mut c_void, value: c_int, count: usize) = memset_d32_async;
    }
}
pub(crate) use last::{address as last_address, hipMemcpy2DAsync, hipMemcpyAsync, hipMemsetAsync};

compose! {
    /// `hipLaunchHostFunc`.
    fn hipLaunchHostFunc(stream: *mut c_void, function: Option<HostFunction>, argument: *mut c_void) {
        capture::queue(stream, NodeKind::Host, move |stream| {
            // SAFETY: the caller keeps to HIP's contract, for as long as a graph has the call.
            unsafe { (HIP.launch_host_func)(stream, function, argument) }
        })
    }

    /// `hipModuleLaunchKernel`.
    fn hipModuleLaunchKernel(
        function: *mut c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared: c_uint, stream: *mut c_void, params: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        let at = Configuration {
            grid: Dim3 { x: grid_x, y: grid_y, z: grid_z },
            block: Dim3 { x: block_x, y: block_y, z: block_z },
            shared_bytes: shared as usize,
            stream,
            cooperative: false,
        };
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { launch::queue(function, function, at, Arguments { params, extra }) }
    }

    /// `hipEventRecord`: an event of a capture stands for what has been recorded so far.
    fn hipEventRecord(event: *mut c_void, stream: *mut c_void) {
        capture::record_event(event, stream)
    }

    /// `hipStreamWaitEvent`: a stream that waits for an event of a capture joins it.
    fn hipStreamWaitEvent(stream: *mut c_void, event: *mut c_void, flags: c_uint) {
        capture::wait_event(stream, event, flags)
    }

    /// `hipStreamSynchronize`.
    fn hipStreamSynchronize(stream: *mut c_void) {
        synchronise(stream)
    }

    /// `hipStreamQuery`.
    fn hipStreamQuery(stream: *mut c_void) {
        query(stream)
    }
}

fn not_capturing(stream: *mut c_void) -> Result<(), Code> {
    if capture::is_capturing(stream) { Err(Code::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
}

fn synchronise(stream: *mut c_void) -> Result<(), Code> {
    not_capturing(stream)?;
    // SAFETY: the software device checks the handle; queued work is under the contract of the calls that queued it.
    status(unsafe { (HIP.stream_synchronize)(stream) })
}

fn query(stream: *mut c_void) -> Result<(), Code> {
    not_capturing(stream)?;
    // SAFETY: as above.
    status(unsafe { (HIP.stream_query)(stream) })
}
