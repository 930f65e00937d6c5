//! Launches whose grid is given in threads.

use std::ffi::{c_uint, c_void};

use hip_api::Code;

use crate::dispatch::{Arguments, Configuration, Dim3};
use crate::launch::{LDS_BYTES, queue, record};

/// Threads that a workgroup can have.
const BLOCK_THREADS: c_uint = 1024;

/// Launches a grid of so many threads, in blocks, between two events.
///
/// # Safety
///
/// The arguments are as `hipExtModuleLaunchKernel` demands.
unsafe fn launch_threads(
    function: *mut c_void,
    (threads, block): (Dim3, Dim3),
    shared_bytes: usize,
    stream: *mut c_void,
    arguments: Arguments,
    (start, stop): (*mut c_void, *mut c_void),
) -> Result<(), Code> {
    if function.is_null() {
        return Err(Code::INVALID_HANDLE);
    }
    let sizes = [block.x, block.y, block.z];
    let product = sizes.into_iter().try_fold(1, c_uint::checked_mul);
    if product.is_none_or(|threads| threads > BLOCK_THREADS) || shared_bytes > LDS_BYTES {
        return Err(Code::INVALID_VALUE);
    }
    let (x, y, z) =
        (workgroups(threads.x, block.x)?, workgroups(threads.y, block.y)?, workgroups(threads.z, block.z)?);
    let grid = Dim3 { x: x.0, y: y.0, z: z.0 };
    let block = Dim3 { x: x.1, y: y.1, z: z.1 };
    let at = Configuration { grid, block, shared_bytes, stream, cooperative: false };
    record(start, stream)?;
    // SAFETY: as this function's.
    unsafe { queue(function, function, at, arguments) }?;
    record(stop, stream)
}

/// Workgroups of `block` threads, and their size: none is larger than the grid. The software device has no partial ones.
fn workgroups(threads: c_uint, block: c_uint) -> Result<(c_uint, c_uint), Code> {
    if block == 0 || threads == 0 {
        return Err(Code::INVALID_CONFIGURATION);
    }
    let block = block.min(threads);
    if threads.is_multiple_of(block) { Ok((threads / block, block)) } else { Err(Code::NOT_SUPPORTED) }
}

compose! {
    /// `hipExtModuleLaunchKernel`: a launch between two events, with its grid in threads.
    fn hipExtModuleLaunchKernel(
        function: *mut c_void,
        threads_x: c_uint,
        threads_y: c_uint,
        threads_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: usize,
        stream: *mut c_void,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
        start: *mut c_void,
        stop: *mut c_void,
        _flags: c_uint,
    ) {
        let threads = Dim3 { x: threads_x, y: threads_y, z: threads_z };
        let block = Dim3 { x: block_x, y: block_y, z: block_z };
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { launch_threads(function, (threads, block), shared_bytes, stream, Arguments { params: arguments, extra }, (start, stop)) }
    }

    /// `hipHccModuleLaunchKernel`: the same, without flags.
    fn hipHccModuleLaunchKernel(
        function: *mut c_void,
        threads_x: c_uint,
        threads_y: c_uint,
        threads_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: usize,
        stream: *mut c_void,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
        start: *mut c_void,
        stop: *mut c_void,
    ) {
        let threads = Dim3 { x: threads_x, y: threads_y, z: threads_z };
        let block = Dim3 { x: block_x, y: block_y, z: block_z };
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { launch_threads(function, (threads, block), shared_bytes, stream, Arguments { params: arguments, extra }, (start, stop)) }
    }
}

/// [`hipExtModuleLaunchKernel`] as C++ programs of earlier releases name it.
#[unsafe(export_name = "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j")]
unsafe extern "C" fn ext_module_launch_kernel(
    function: *mut c_void,
    threads_x: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: usize,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: *mut c_void,
    stop: *mut c_void,
    flags: c_uint,
) -> i32 {
    // SAFETY: the contract is the same.
    unsafe {
        hipExtModuleLaunchKernel(
            function,
            threads_x,
            threads_y,
            threads_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream,
            arguments,
            extra,
            start,
            stop,
            flags,
        )
    }
}
