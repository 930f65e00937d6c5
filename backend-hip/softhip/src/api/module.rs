//! Modules and functions.

use std::ffi::{CStr, c_char, c_int, c_void};

use code_object::Kernel;
use hip_api::{Code, FunctionAttribute, FunctionAttributes};

use super::enter::{enter, put};
use super::handle::{self, pointer};
use super::image::{self, ImageError};
use crate::host;
use crate::sched::LDS_LIMIT;

/// A name that a caller passes.
///
/// # Safety
///
/// `name` is null or a string that ends with a zero byte, as long as the result is used.
unsafe fn text<'a>(name: *const c_char) -> Result<&'a str, Code> {
    if name.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: not null, so the caller vouches for the string.
    let name = unsafe { CStr::from_ptr(name) };
    name.to_str().map_err(|_| Code::NOT_FOUND)
}

/// `hipModuleLoadData`.
///
/// # Safety
///
/// `module` is null or valid for a write; `image` is null, or a whole code object or offload bundle.
pub unsafe extern "C" fn hip_module_load_data(module: *mut *mut c_void, image: *const c_void) -> i32 {
    enter("hipModuleLoadData", |device, call| {
        if module.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: as this function's.
        let bytes = unsafe { image::find(image) }.map_err(|error| match error {
            ImageError::Null => Code::INVALID_VALUE,
            ImageError::Container(error) => device.refuse_container(&error, call.clone()),
        })?;
        let loaded = device.load_module(&bytes, call)?;
        // SAFETY: as this function's.
        unsafe { put(module, handle::of_module(loaded)) }
    })
}

/// Ten times the major and the minor version of gfx942.
const BINARY_VERSION: c_int = 94;

/// `hipModuleUnload`: everything queued runs first.
///
/// # Safety
///
/// What is still queued may use its host memory until this returns.
pub unsafe extern "C" fn hip_module_unload(module: *mut c_void) -> i32 {
    enter("hipModuleUnload", |device, _| {
        let gone = |code| if code == Code::INVALID_HANDLE { Code::NOT_FOUND } else { code };
        device.unload_module(handle::module(module)?).map_err(gone)
    })
}

/// `hipModuleGetFunction`.
///
/// # Safety
///
/// `function` is null or valid for a write; `name` is null or a string that ends with a zero byte.
pub unsafe extern "C" fn hip_module_get_function(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    enter("hipModuleGetFunction", |device, _| {
        // SAFETY: as this function's.
        let name = unsafe { text(name) }?;
        let found = device.function(handle::module(module)?, name)?;
        // SAFETY: as this function's.
        unsafe { put(function, handle::of_function(found)) }
    })
}

/// `hipModuleGetGlobal`.
///
/// # Safety
///
/// `address` and `size` are null or valid for a write; `name` is null or a string that ends with a zero byte.
pub unsafe extern "C" fn hip_module_get_global(
    address: *mut *mut c_void,
    size: *mut usize,
    module: *mut c_void,
    name: *const c_char,
) -> i32 {
    enter("hipModuleGetGlobal", |device, _| {
        // SAFETY: as this function's.
        let name = unsafe { text(name) }?;
        if name.is_empty() || (address.is_null() && size.is_null()) {
            return Err(Code::INVALID_VALUE);
        }
        let (start, bytes) = device.global(handle::module(module)?, name)?;
        if !size.is_null() {
            // SAFETY: as this function's.
            unsafe { put(size, host::size(bytes)) }?;
        }
        if address.is_null() {
            return Ok(());
        }
        // SAFETY: as this function's.
        unsafe { put(address, pointer(start)) }
    })
}

/// A number of the metadata as C passes it. What does not fit is in no real image.
fn int<T>(value: T) -> Result<c_int, Code>
where
    c_int: TryFrom<T>,
{
    c_int::try_from(value).map_err(|_| Code::INVALID_IMAGE)
}

fn attributes(kernel: &Kernel) -> Result<FunctionAttributes, Code> {
    Ok(FunctionAttributes {
        local_size_bytes: kernel.scratch_size as usize,
        max_dynamic_shared_size_bytes: int(LDS_LIMIT.saturating_sub(kernel.lds_size))?,
        max_threads_per_block: int(kernel.max_flat_workgroup_size)?,
        num_regs: int(kernel.vgprs)?,
        shared_size_bytes: kernel.lds_size as usize,
        ..FunctionAttributes::default()
    })
}

/// `hipFuncGetAttributes`, for a function of a module.
///
/// # Safety
///
/// `out` is null or valid for a write.
pub unsafe extern "C" fn hip_func_get_attributes(
    out: *mut FunctionAttributes,
    function: *const c_void,
) -> i32 {
    enter("hipFuncGetAttributes", |device, _| {
        let kernel = device.kernel(handle::function(function.cast_mut())?)?;
        // SAFETY: as this function's.
        unsafe { put(out, attributes(kernel.kernel())?) }
    })
}

/// `hipFuncGetAttribute`.
///
/// # Safety
///
/// `value` is null or valid for a write.
pub unsafe extern "C" fn hip_func_get_attribute(
    value: *mut c_int,
    attribute: c_int,
    function: *mut c_void,
) -> i32 {
    enter("hipFuncGetAttribute", |device, _| {
        let all = attributes(device.kernel(handle::function(function)?)?.kernel())?;
        let answer = match FunctionAttribute(attribute) {
            FunctionAttribute::MAX_THREADS_PER_BLOCK => all.max_threads_per_block,
            FunctionAttribute::SHARED_SIZE_BYTES => int(all.shared_size_bytes)?,
            FunctionAttribute::LOCAL_SIZE_BYTES => int(all.local_size_bytes)?,
            FunctionAttribute::NUM_REGS => all.num_regs,
            FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES => all.max_dynamic_shared_size_bytes,
            FunctionAttribute::PTX_VERSION | FunctionAttribute::BINARY_VERSION => BINARY_VERSION,
            FunctionAttribute::CONST_SIZE_BYTES
            | FunctionAttribute::CACHE_MODE_CA
            | FunctionAttribute::PREFERRED_SHARED_MEMORY_CARVEOUT => 0,
            _ => return Err(Code::INVALID_VALUE),
        };
        // SAFETY: as this function's.
        unsafe { put(value, answer) }
    })
}
