//! Calls as programs make them that are compiled with a default stream for each thread: of no stream they mean the thread's own.

use std::ffi::{c_int, c_uint, c_void};

use hip_api::HostFunction;
use softhip::api::on_thread_stream;

use crate::launch::Dim3;
use crate::stream::Callback;
use crate::volume::{Copy3D, Extent, PitchedPointer};
use crate::{forward, graph, launch, memory, queued, stream, symbol, volume};

/// `name(arguments) = the call that it is on another stream;`. Reports name that one, as the program's source does.
macro_rules! per_thread {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) = $target:path;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> i32 {
                on_thread_stream(|| {
                    // SAFETY: the contract is the same.
                    unsafe { $target($($argument),*) }
                })
            }
        )*
        lookup! { $($name)* }
    };
}

per_thread! {
    hipMemcpy_spt(to: *mut c_void, from: *const c_void, size: usize, kind: c_int) = memory::hipMemcpy;
    hipMemcpyAsync_spt(
        to: *mut c_void, from: *const c_void, size: usize, kind: c_int, stream: *mut c_void,
    ) = queued::hipMemcpyAsync;
    hipMemcpy2D_spt(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize,
        kind: c_int,
    ) = forward::hipMemcpy2D;
    hipMemcpy2DAsync_spt(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize,
        kind: c_int, stream: *mut c_void,
    ) = queued::hipMemcpy2DAsync;
    hipMemcpy3D_spt(given: *const Copy3D) = volume::hipMemcpy3D;
    hipMemcpy3DAsync_spt(given: *const Copy3D, stream: *mut c_void) = volume::hipMemcpy3DAsync;
    hipMemcpyToSymbol_spt(
        to: *const c_void, from: *const c_void, size: usize, offset: usize, kind: c_int,
    ) = symbol::hipMemcpyToSymbol;
    hipMemcpyToSymbolAsync_spt(
        to: *const c_void, from: *const c_void, size: usize, offset: usize, kind: c_int, stream: *mut c_void,
    ) = symbol::hipMemcpyToSymbolAsync;
    hipMemcpyFromSymbol_spt(
        to: *mut c_void, from: *const c_void, size: usize, offset: usize, kind: c_int,
    ) = symbol::hipMemcpyFromSymbol;
    hipMemcpyFromSymbolAsync_spt(
        to: *mut c_void, from: *const c_void, size: usize, offset: usize, kind: c_int, stream: *mut c_void,
    ) = symbol::hipMemcpyFromSymbolAsync;

    hipMemset_spt(to: *mut c_void, value: c_int, size: usize) = forward::hipMemset;
    hipMemsetAsync_spt(to: *mut c_void, value: c_int, size: usize, stream: *mut c_void) = queued::hipMemsetAsync;
    hipMemset2D_spt(
        to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize,
    ) = memory::hipMemset2D;
    hipMemset2DAsync_spt(
        to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: *mut c_void,
    ) = memory::hipMemset2DAsync;
    hipMemset3D_spt(to: PitchedPointer, value: c_int, extent: Extent) = volume::hipMemset3D;
    hipMemset3DAsync_spt(
        to: PitchedPointer, value: c_int, extent: Extent, stream: *mut c_void,
    ) = volume::hipMemset3DAsync;

    hipLaunchKernel_spt(
        kernel: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared_bytes: usize,
        stream: *mut c_void,
    ) = launch::hipLaunchKernel;
    hipLaunchCooperativeKernel_spt(
        kernel: *const c_void, grid: Dim3, block: Dim3, arguments: *mut *mut c_void, shared_bytes: c_uint,
        stream: *mut c_void,
    ) = launch::hipLaunchCooperativeKernel;
    hipLaunchHostFunc_spt(
        stream: *mut c_void, function: Option<HostFunction>, argument: *mut c_void,
    ) = queued::hipLaunchHostFunc;
    hipGraphLaunch_spt(executable: *mut c_void, stream: *mut c_void) = graph::hipGraphLaunch;

    hipEventRecord_spt(event: *mut c_void, stream: *mut c_void) = queued::hipEventRecord;
    hipStreamSynchronize_spt(stream: *mut c_void) = queued::hipStreamSynchronize;
    hipStreamQuery_spt(stream: *mut c_void) = queued::hipStreamQuery;
    hipStreamWaitEvent_spt(
        stream: *mut c_void, event: *mut c_void, flags: c_uint,
    ) = queued::hipStreamWaitEvent;
    hipStreamAddCallback_spt(
        stream: *mut c_void, callback: Option<Callback>, data: *mut c_void, flags: c_uint,
    ) = stream::hipStreamAddCallback;
    hipStreamGetFlags_spt(stream: *mut c_void, flags: *mut c_uint) = stream::hipStreamGetFlags;
    hipStreamGetPriority_spt(stream: *mut c_void, priority: *mut c_int) = stream::hipStreamGetPriority;
    hipStreamBeginCapture_spt(stream: *mut c_void, mode: c_int) = graph::hipStreamBeginCapture;
    hipStreamEndCapture_spt(stream: *mut c_void, graph: *mut *mut c_void) = graph::hipStreamEndCapture;
    hipStreamIsCapturing_spt(stream: *mut c_void, state: *mut c_int) = graph::hipStreamIsCapturing;
    hipStreamGetCaptureInfo_spt(
        stream: *mut c_void, state: *mut c_int, id: *mut u64,
    ) = graph::hipStreamGetCaptureInfo;
}
