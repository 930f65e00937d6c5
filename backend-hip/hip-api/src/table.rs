//! HIP's functions as a table of pointers.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::device::DeviceProperties;
use crate::function::FunctionAttributes;
use crate::pointer::PointerAttributes;

/// `hipHostFn_t`: a function that a stream calls on the host.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// HIP's functions, named without `hip`. A backend fills its own table from this one, or from the real runtime.
#[derive(Debug, Clone, Copy)]
pub struct HipApi {
    /// `hipInit`.
    pub init: unsafe extern "C" fn(u32) -> i32,
    /// `hipGetDeviceCount`.
    pub get_device_count: unsafe extern "C" fn(*mut c_int) -> i32,
    /// `hipSetDevice`.
    pub set_device: unsafe extern "C" fn(c_int) -> i32,
    /// `hipGetDevice`.
    pub get_device: unsafe extern "C" fn(*mut c_int) -> i32,
    /// `hipGetDeviceProperties`.
    pub get_device_properties: unsafe extern "C" fn(*mut DeviceProperties, c_int) -> i32,
    /// `hipDeviceGetAttribute`.
    pub device_get_attribute: unsafe extern "C" fn(*mut c_int, c_int, c_int) -> i32,
    /// `hipDeviceSynchronize`.
    pub device_synchronize: unsafe extern "C" fn() -> i32,
    /// `hipDeviceReset`.
    pub device_reset: unsafe extern "C" fn() -> i32,
    /// `hipMemGetInfo`.
    pub mem_get_info: unsafe extern "C" fn(*mut usize, *mut usize) -> i32,
    /// `hipRuntimeGetVersion`.
    pub runtime_get_version: unsafe extern "C" fn(*mut c_int) -> i32,
    /// `hipDriverGetVersion`.
    pub driver_get_version: unsafe extern "C" fn(*mut c_int) -> i32,
    /// `hipGetLastError`.
    pub get_last_error: unsafe extern "C" fn() -> i32,
    /// `hipPeekAtLastError`.
    pub peek_at_last_error: unsafe extern "C" fn() -> i32,
    /// `hipGetErrorName`.
    pub get_error_name: unsafe extern "C" fn(i32) -> *const c_char,
    /// `hipGetErrorString`.
    pub get_error_string: unsafe extern "C" fn(i32) -> *const c_char,
    /// `hipMalloc`.
    pub malloc: unsafe extern "C" fn(*mut *mut c_void, usize) -> i32,
    /// `hipMallocAsync`.
    pub malloc_async: unsafe extern "C" fn(*mut *mut c_void, usize, *mut c_void) -> i32,
    /// `hipFree`.
    pub free: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipFreeAsync`.
    pub free_async: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
    /// `hipHostMalloc`.
    pub host_malloc: unsafe extern "C" fn(*mut *mut c_void, usize, c_uint) -> i32,
    /// `hipHostFree`.
    pub host_free: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipHostGetDevicePointer`.
    pub host_get_device_pointer: unsafe extern "C" fn(*mut *mut c_void, *mut c_void, c_uint) -> i32,
    /// `hipPointerGetAttributes`.
    pub pointer_get_attributes: unsafe extern "C" fn(*mut PointerAttributes, *const c_void) -> i32,
    /// `hipMemcpy`.
    pub memcpy: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> i32,
    /// `hipMemcpyAsync`.
    pub memcpy_async: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int, *mut c_void) -> i32,
    /// `hipMemcpy2D`.
    pub memcpy_2d: unsafe extern "C" fn(*mut c_void, usize, *const c_void, usize, usize, usize, c_int) -> i32,
    /// `hipMemcpy2DAsync`.
    pub memcpy_2d_async: unsafe extern "C" fn(
        *mut c_void,
        usize,
        *const c_void,
        usize,
        usize,
        usize,
        c_int,
        *mut c_void,
    ) -> i32,
    /// `hipMemcpyHtoD`.
    pub memcpy_htod: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i32,
    /// `hipMemcpyDtoH`.
    pub memcpy_dtoh: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i32,
    /// `hipMemcpyDtoD`.
    pub memcpy_dtod: unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> i32,
    /// `hipMemcpyHtoDAsync`.
    pub memcpy_htod_async: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void) -> i32,
    /// `hipMemcpyDtoHAsync`.
    pub memcpy_dtoh_async: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void) -> i32,
    /// `hipMemcpyDtoDAsync`.
    pub memcpy_dtod_async: unsafe extern "C" fn(*mut c_void, *mut c_void, usize, *mut c_void) -> i32,
    /// `hipMemset`.
    pub memset: unsafe extern "C" fn(*mut c_void, c_int, usize) -> i32,
    /// `hipMemsetAsync`.
    pub memset_async: unsafe extern "C" fn(*mut c_void, c_int, usize, *mut c_void) -> i32,
    /// `hipMemsetD16`.
    pub memset_d16: unsafe extern "C" fn(*mut c_void, u16, usize) -> i32,
    /// `hipMemsetD16Async`.
    pub memset_d16_async: unsafe extern "C" fn(*mut c_void, u16, usize, *mut c_void) -> i32,
    /// `hipMemsetD32`.
    pub memset_d32: unsafe extern "C" fn(*mut c_void, c_int, usize) -> i32,
    /// `hipMemsetD32Async`.
    pub memset_d32_async: unsafe extern "C" fn(*mut c_void, c_int, usize, *mut c_void) -> i32,
    /// `hipStreamCreate`.
    pub stream_create: unsafe extern "C" fn(*mut *mut c_void) -> i32,
    /// `hipStreamCreateWithFlags`.
    pub stream_create_with_flags: unsafe extern "C" fn(*mut *mut c_void, c_uint) -> i32,
    /// `hipStreamCreateWithPriority`.
    pub stream_create_with_priority: unsafe extern "C" fn(*mut *mut c_void, c_uint, c_int) -> i32,
    /// `hipStreamDestroy`.
    pub stream_destroy: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipStreamSynchronize`.
    pub stream_synchronize: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipStreamQuery`.
    pub stream_query: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipStreamWaitEvent`.
    pub stream_wait_event: unsafe extern "C" fn(*mut c_void, *mut c_void, c_uint) -> i32,
    /// `hipLaunchHostFunc`.
    pub launch_host_func: unsafe extern "C" fn(*mut c_void, Option<HostFunction>, *mut c_void) -> i32,
    /// `hipEventCreate`.
    pub event_create: unsafe extern "C" fn(*mut *mut c_void) -> i32,
    /// `hipEventCreateWithFlags`.
    pub event_create_with_flags: unsafe extern "C" fn(*mut *mut c_void, c_uint) -> i32,
    /// `hipEventDestroy`.
    pub event_destroy: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipEventRecord`.
    pub event_record: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
    /// `hipEventSynchronize`.
    pub event_synchronize: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipEventQuery`.
    pub event_query: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipEventElapsedTime`.
    pub event_elapsed_time: unsafe extern "C" fn(*mut f32, *mut c_void, *mut c_void) -> i32,
    /// `hipModuleLoadData`.
    pub module_load_data: unsafe extern "C" fn(*mut *mut c_void, *const c_void) -> i32,
    /// `hipModuleUnload`.
    pub module_unload: unsafe extern "C" fn(*mut c_void) -> i32,
    /// `hipModuleGetFunction`.
    pub module_get_function: unsafe extern "C" fn(*mut *mut c_void, *mut c_void, *const c_char) -> i32,
    /// `hipModuleGetGlobal`.
    pub module_get_global:
        unsafe extern "C" fn(*mut *mut c_void, *mut usize, *mut c_void, *const c_char) -> i32,
    /// `hipFuncGetAttribute`.
    pub func_get_attribute: unsafe extern "C" fn(*mut c_int, c_int, *mut c_void) -> i32,
    /// `hipFuncGetAttributes`.
    pub func_get_attributes: unsafe extern "C" fn(*mut FunctionAttributes, *const c_void) -> i32,
    /// `hipModuleLaunchKernel`.
    pub module_launch_kernel: unsafe extern "C" fn(
        *mut c_void,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        *mut c_void,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> i32,
    /// `hipModuleLaunchCooperativeKernel`.
    pub module_launch_cooperative_kernel: unsafe extern "C" fn(
        *mut c_void,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        *mut c_void,
        *mut *mut c_void,
    ) -> i32,
    /// Names the place in host code for reports; no function of HIP.
    pub set_call_site: unsafe extern "C" fn(*const c_char, u32),
}
