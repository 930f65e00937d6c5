//! ROCm's functions, taken from its library when the backend is first opened.
//!
//! The program does not link the library, so that it starts on machines without it. The types are those of [`HipApi`], whose status is a
//! plain integer: a newer runtime may return a number that no enum of ours has.
#![expect(unsafe_code, reason = "functions of a C library are called by address")]

use std::ffi::{c_char, c_uint, c_void};
use std::sync::{Mutex, PoisonError};

use hip_api::{Code, HipApi};
use libloading::Library;

use crate::shared_library::{MissingLibrary, load_first};

/// Names of the runtime's library, newest first. Developers' machines have the last one.
pub(crate) const LIBRARIES: [&str; 4] =
    ["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"];

/// The functions, once they have been loaded, and the library that has them. It is never unloaded: ROCm does not support that.
static RUNTIME: Mutex<Option<(HipApi, Library)>> = Mutex::new(None);

/// ROCm's functions.
pub fn table() -> Result<HipApi, MissingLibrary> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((table, _)) = &*runtime {
        return Ok(*table);
    }
    let loaded = load_first("ROCm's HIP runtime", "libamdhip64-5", &LIBRARIES, |library| {
        Ok((functions(&library)?, library))
    })?;
    Ok(runtime.insert(loaded).0)
}

/// The real runtime ignores the call site.
///
/// # Safety
///
/// None is needed.
unsafe extern "C" fn ignore_call_site(_: *const c_char, _: u32) {}

/// `hipLaunchHostFunc` does not exist in HIP 5.2, which must do too. This backend does not call it, so the entry answers
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

/// `hipModuleLaunchCooperativeKernel` does not exist in HIP 5.2 either, and this backend does not call it.
///
/// # Safety
///
/// None is needed.
unsafe extern "C" fn no_cooperative_launch(
    _: *mut c_void,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: c_uint,
    _: *mut c_void,
    _: *mut *mut c_void,
) -> i32 {
    Code::NOT_SUPPORTED.0
}

/// Fills the table from the library's functions.
macro_rules! table {
    ($library:ident, $($field:ident: $function:ident),* $(,)?) => {
        HipApi {
            $(
                // SAFETY: the type of the field is the function's, after HIP's header; a C enum is returned as an `int`.
                $field: *unsafe { $library.get(concat!(stringify!($function), "\0").as_bytes()) }?,
            )*
            launch_host_func: no_host_function,
            module_launch_cooperative_kernel: no_cooperative_launch,
            set_call_site: ignore_call_site,
        }
    };
}

/// The functions of `library`. They may be called as long as it stays loaded.
fn functions(library: &Library) -> Result<HipApi, libloading::Error> {
    Ok(table! {
        library,
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
        memset_d16: hipMemsetD16,
        memset_d16_async: hipMemsetD16Async,
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
    })
}
