//! ROCm's functions, through `hip-sys`.
//!
//! `hip-sys` declares that they return a Rust enum. A newer runtime may return a number that the enum does not have, which
//! would be undefined behaviour, so the functions are taken by address and given the types of [`HipApi`], whose status is
//! a plain integer.
#![expect(unsafe_code, reason = "functions of a C library change their declared type")]
#![expect(clippy::missing_transmute_annotations, reason = "the target types are those of the table's fields")]

use std::ffi::{c_char, c_void};
use std::mem::transmute;

use hip_api::{Code, HipApi};
use hip_sys::hiprt;

/// The real runtime ignores the call site.
///
/// # Safety
///
/// None is needed.
unsafe extern "C" fn ignore_call_site(_: *const c_char, _: u32) {}

/// `hipLaunchHostFunc` does not exist in HIP 5.2, which must link too. This backend does not call it, so the entry answers
/// `hipErrorNotSupported`.
///
/// # Safety
///
/// None is needed.
unsafe extern "C" fn no_host_function(
    _: *mut c_void,
    _: Option<unsafe extern "C" fn(*mut c_void)>,
    _: *mut c_void,
) -> i32 {
    Code::NOT_SUPPORTED.0
}

/// Fills the table from the library's functions.
macro_rules! table {
    ($($field:ident: $function:ident),* $(,)?) => {
        HipApi {
            $(
                // SAFETY: both sides are pointers to `extern "C"` functions; the parameters are those of HIP's header, and
                // a C enum is returned as an `int`.
                $field: unsafe { transmute(hiprt::$function as *const ()) },
            )*
            launch_host_func: no_host_function,
            set_call_site: ignore_call_site,
        }
    };
}

/// ROCm's functions.
pub fn table() -> HipApi {
    table! {
        init: hipInit,
        get_device_count: hipGetDeviceCount,
        set_device: hipSetDevice,
        get_device: hipGetDevice,
        get_device_properties: hipGetDeviceProperties,
        device_get_attribute: hipDeviceGetAttribute,
        device_synchronize: hipDeviceSynchronize,
        device_reset: hipDeviceReset,
        mem_get_info: hipMemGetInfo,
        runtime_get_version: hipRuntimeGetVersion,
        driver_get_version: hipDriverGetVersion,
        get_last_error: hipGetLastError,
        peek_at_last_error: hipPeekAtLastError,
        get_error_name: hipGetErrorName,
        get_error_string: hipGetErrorString,
        malloc: hipMalloc,
        malloc_async: hipMallocAsync,
        free: hipFree,
        free_async: hipFreeAsync,
        host_malloc: hipHostMalloc,
        host_free: hipHostFree,
        host_get_device_pointer: hipHostGetDevicePointer,
        pointer_get_attributes: hipPointerGetAttributes,
        memcpy: hipMemcpy,
        memcpy_async: hipMemcpyAsync,
        memcpy_2d: hipMemcpy2D,
        memcpy_2d_async: hipMemcpy2DAsync,
        memcpy_htod: hipMemcpyHtoD,
        memcpy_dtoh: hipMemcpyDtoH,
        memcpy_dtod: hipMemcpyDtoD,
        memcpy_htod_async: hipMemcpyHtoDAsync,
        memcpy_dtoh_async: hipMemcpyDtoHAsync,
        memcpy_dtod_async: hipMemcpyDtoDAsync,
        memset: hipMemset,
        memset_async: hipMemsetAsync,
        memset_d32: hipMemsetD32,
        memset_d32_async: hipMemsetD32Async,
        stream_create: hipStreamCreate,
        stream_create_with_flags: hipStreamCreateWithFlags,
        stream_create_with_priority: hipStreamCreateWithPriority,
        stream_destroy: hipStreamDestroy,
        stream_synchronize: hipStreamSynchronize,
        stream_query: hipStreamQuery,
        stream_wait_event: hipStreamWaitEvent,
        event_create: hipEventCreate,
        event_create_with_flags: hipEventCreateWithFlags,
        event_destroy: hipEventDestroy,
        event_record: hipEventRecord,
        event_synchronize: hipEventSynchronize,
        event_query: hipEventQuery,
        event_elapsed_time: hipEventElapsedTime,
        module_load_data: hipModuleLoadData,
        module_unload: hipModuleUnload,
        module_get_function: hipModuleGetFunction,
        module_get_global: hipModuleGetGlobal,
        func_get_attribute: hipFuncGetAttribute,
        func_get_attributes: hipFuncGetAttributes,
        module_launch_kernel: hipModuleLaunchKernel,
    }
}
