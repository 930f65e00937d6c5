//! Launches.

use std::ffi::{c_uint, c_void};

use code_object::Kernel;
use hip_api::{Code, LAUNCH_PARAM_BUFFER_POINTER, LAUNCH_PARAM_BUFFER_SIZE, LAUNCH_PARAM_END};

use super::enter::enter;
use super::handle;
use super::host::HostSpan;
use crate::control::current;
use crate::sched::{Given, HostBytes, Shape};

/// Reads `count` entries of an array of pointers at `at`.
///
/// # Safety
///
/// `array` has an entry at `at`.
unsafe fn entry(array: *mut *mut c_void, at: usize) -> *mut c_void {
    // SAFETY: as this function's.
    unsafe { array.wrapping_add(at).read() }
}

/// Arguments from `kernelParams`.
///
/// # Safety
///
/// `params` has one entry per explicit argument of `kernel`, each null or valid for reads of the argument's size.
pub unsafe fn argument_values(kernel: &Kernel, params: *mut *mut c_void) -> Vec<Option<Vec<u8>>> {
    let mut values = Vec::new();
    for (index, argument) in kernel.explicit_arguments().enumerate() {
        // SAFETY: one entry per argument.
        let value = unsafe { entry(params, index) };
        values.push((!value.is_null()).then(|| {
            // SAFETY: the entry is valid for the argument's size, and read before the launch returns.
            let span = unsafe { HostSpan::new(value, argument.size as usize) };
            span.to_vec()
        }));
    }
    values
}

/// As [`argument_values`], laid out as the kernel has them if none of them is missing.
///
/// # Safety
///
/// As of [`argument_values`].
unsafe fn laid_out(kernel: &Kernel, params: *mut *mut c_void) -> Given {
    let mut bytes = Vec::with_capacity(kernel.kernarg_size as usize);
    for (index, argument) in kernel.explicit_arguments().enumerate() {
        // SAFETY: one entry per argument.
        let value = unsafe { entry(params, index) };
        let (start, size) = (argument.offset as usize, argument.size as usize);
        if value.is_null() || bytes.len() > start {
            // SAFETY: as this function's.
            return Given::Each(unsafe { argument_values(kernel, params) });
        }
        bytes.resize(start + size, 0);
        // SAFETY: the entry is valid for the argument's size, and read before the launch returns.
        unsafe { HostSpan::new(value, size) }.read(0, &mut bytes[start..]);
    }
    Given::Packed(bytes)
}

/// Arguments from `extra`, as they stand in its buffer.
///
/// # Safety
///
/// `extra` is a list as HIP describes it.
pub unsafe fn packed_arguments(extra: *mut *mut c_void) -> Result<Vec<u8>, Code> {
    let (mut buffer, mut size) = (std::ptr::null_mut(), 0);
    let mut at = 0;
    loop {
        // SAFETY: the list has not ended yet.
        let key = unsafe { entry(extra, at) };
        if key.addr() == LAUNCH_PARAM_END {
            break;
        }
        // SAFETY: a key other than the end is followed by a value.
        let value = unsafe { entry(extra, at + 1) };
        match key.addr() {
            LAUNCH_PARAM_BUFFER_POINTER => buffer = value,
            // SAFETY: the value of this key points to the size.
            LAUNCH_PARAM_BUFFER_SIZE if !value.is_null() => size = unsafe { value.cast::<usize>().read() },
            _ => return Err(Code::INVALID_VALUE),
        }
        at += 2;
    }
    if buffer.is_null() && size > 0 {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the list says that the buffer has this size; it is read before the launch returns.
    let span = unsafe { HostSpan::new(buffer, size) };
    Ok(span.to_vec())
}

/// Copies of a launch's arguments, for a launch that comes later.
///
/// # Safety
///
/// `params` is null or has one entry per explicit argument of the function, each null or valid for reads of its size.
pub unsafe fn copy_arguments(
    function: *mut c_void,
    params: *mut *mut c_void,
) -> Result<Vec<Option<Vec<u8>>>, Code> {
    let kernel = current().kernel(handle::function(function)?)?;
    if params.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: as this function's.
    Ok(unsafe { argument_values(kernel.kernel(), params) })
}

/// `hipModuleLaunchKernel`. Arguments come from `params`, or from `extra`; not from both.
///
/// # Safety
///
/// `params` is null or has one entry per explicit argument, each null or valid for reads of its size; `extra` is null
/// or a list of keys and values that ends with [`LAUNCH_PARAM_END`].
pub unsafe extern "C" fn hip_module_launch_kernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> i32 {
    enter("hipModuleLaunchKernel", |device, call| {
        let kernel = device.kernel(handle::function(function)?)?;
        let given = match (params.is_null(), extra.is_null()) {
            // SAFETY: as this function's.
            (false, true) => unsafe { laid_out(kernel.kernel(), params) },
            // SAFETY: as this function's.
            (true, false) => Given::Packed(unsafe { packed_arguments(extra) }?),
            (true, true) => Given::Each(Vec::new()),
            (false, false) => return Err(Code::INVALID_VALUE),
        };
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_lds: shared_bytes,
            cooperative: false,
        };
        device.launch(kernel, shape, &given, handle::stream(stream)?, call)
    })
}

/// `hipModuleLaunchCooperativeKernel`: all workgroups are there at the same time, and can wait for each other.
///
/// # Safety
///
/// `params` is null or has one entry per explicit argument, each null or valid for reads of its size.
pub unsafe extern "C" fn hip_module_launch_cooperative_kernel(
    function: *mut c_void,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: c_uint,
    stream: *mut c_void,
    params: *mut *mut c_void,
) -> i32 {
    enter("hipModuleLaunchCooperativeKernel", |device, call| {
        let kernel = device.kernel(handle::function(function)?)?;
        let given = if params.is_null() {
            Given::Each(Vec::new())
        } else {
            // SAFETY: as this function's.
            Given::Each(unsafe { argument_values(kernel.kernel(), params) })
        };
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_lds: shared_bytes,
            cooperative: true,
        };
        device.launch(kernel, shape, &given, handle::stream(stream)?, call)
    })
}
