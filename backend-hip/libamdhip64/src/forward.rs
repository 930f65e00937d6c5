//! Calls that the software device has.

use std::ffi::{c_char, c_int, c_void};

use hip_api::DeviceProperties;

forward! {
    hipInit(flags: u32) = init;
    hipGetDeviceCount(count: *mut c_int) = get_device_count;
    hipSetDevice(device: c_int) = set_device;
    hipGetDevice(device: *mut c_int) = get_device;
    hipGetDeviceProperties(properties: *mut DeviceProperties, device: c_int) = get_device_properties;
    hipGetDevicePropertiesR0000(properties: *mut DeviceProperties, device: c_int) = get_device_properties;
    hipDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) = device_get_attribute;
    hipDeviceSynchronize() = device_synchronize;
    hipCtxSynchronize() = device_synchronize;
    hipRuntimeGetVersion(version: *mut c_int) = runtime_get_version;
    hipDriverGetVersion(version: *mut c_int) = driver_get_version;
    hipGetLastError() = get_last_error;
    hipExtGetLastError() = get_last_error;
    hipPeekAtLastError() = peek_at_last_error;

    hipHostFree(memory: *mut c_void) = host_free;
    hipFreeHost(memory: *mut c_void) = host_free;

    hipMemcpy2D(
        to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize,
        kind: c_int,
    ) = memcpy_2d;
    hipMemcpyHtoD(to: *mut c_void, from: *mut c_void, size: usize) = memcpy_htod;
    hipMemcpyDtoD(to: *mut c_void, from: *mut c_void, size: usize) = memcpy_dtod;

    hipMemset(to: *mut c_void, value: c_int, size: usize) = memset;
    hipMemsetD16(to: *mut c_void, value: u16, count: usize) = memset_d16;
    hipMemsetD32(to: *mut c_void, value: c_int, count: usize) = memset_d32;

    hipStreamCreate(stream: *mut *mut c_void) = stream_create;
    hipStreamDestroy(stream: *mut c_void) = stream_destroy;

    hipEventCreate(event: *mut *mut c_void) = event_create;
    hipEventSynchronize(event: *mut c_void) = event_synchronize;
    hipEventQuery(event: *mut c_void) = event_query;

    hipModuleLoadData(module: *mut *mut c_void, image: *const c_void) = module_load_data;
    hipModuleUnload(module: *mut c_void) = module_unload;
    hipModuleGetGlobal(
        out: *mut *mut c_void, size: *mut usize, module: *mut c_void, name: *const c_char,
    ) = module_get_global;
    hipFuncGetAttribute(value: *mut c_int, attribute: c_int, function: *mut c_void) = func_get_attribute;
}
