//! Modules from files, attributes of functions, occupancy.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::ptr::null;
use std::sync::{Mutex, PoisonError};

use hip_api::{Code, FunctionAttribute, FunctionAttributes};

use crate::export::{HIP, put, status};
use crate::registration;

/// Lanes of a wave.
const WAVE: u32 = 64;
/// SIMDs of a compute unit.
const SIMDS: u32 = 4;
/// Waves that one SIMD holds.
const WAVES_PER_SIMD: u32 = 8;
/// Vector registers of a lane of a SIMD, and how many are given out at once.
const VECTOR_REGISTERS: u32 = 512;
const REGISTER_GRANULE: u32 = 8;
/// Bytes of LDS of a compute unit.
const LDS_BYTES: usize = 64 << 10;
/// Workgroups that a compute unit holds.
const WORKGROUPS: u32 = 32;
/// Compute units.
const UNITS: c_int = 304;

/// Names of functions of modules, by their handles. A handle is not used again.
static NAMES: Mutex<BTreeMap<usize, CString>> = Mutex::new(BTreeMap::new());

/// The name of a module's function, or null.
pub(crate) fn name(function: *mut c_void) -> *const c_char {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get(&function.addr()).map_or(null(), |name| name.as_ptr())
}

/// What a function says about itself.
fn attributes(function: *const c_void) -> Result<FunctionAttributes, Code> {
    let function = registration::function(function)?;
    let mut found = FunctionAttributes::default();
    // SAFETY: `found` is valid for a write.
    status(unsafe { (HIP.func_get_attributes)(&raw mut found, function) })?;
    Ok(found)
}

/// Workgroups of `block` threads that one compute unit runs at a time.
fn workgroups(kernel: &FunctionAttributes, block: c_int, dynamic_lds: usize) -> Result<c_int, Code> {
    let block = u32::try_from(block).ok().filter(|&block| block > 0).ok_or(Code::INVALID_VALUE)?;
    if block > kernel.max_threads_per_block.unsigned_abs() {
        return Ok(0);
    }
    let registers = kernel.num_regs.unsigned_abs().max(1).next_multiple_of(REGISTER_GRANULE);
    let waves = SIMDS * (VECTOR_REGISTERS / registers).min(WAVES_PER_SIMD);
    let by_waves = (waves / block.div_ceil(WAVE)).min(WORKGROUPS);
    let lds = kernel.shared_size_bytes.checked_add(dynamic_lds).ok_or(Code::INVALID_VALUE)?;
    let by_lds =
        LDS_BYTES.checked_div(lds).map_or(WORKGROUPS, |count| u32::try_from(count).unwrap_or(WORKGROUPS));
    c_int::try_from(by_waves.min(by_lds)).map_err(|_| Code::INVALID_VALUE)
}

/// The block size with the most threads on a compute unit, and the blocks that fill the device.
///
/// # Safety
///
/// The outputs are null or valid for writes.
unsafe fn fullest(
    grid: *mut c_int,
    block: *mut c_int,
    function: *const c_void,
    dynamic_lds: usize,
    limit: c_int,
) -> Result<(), Code> {
    let kernel = attributes(function)?;
    let limit =
        if limit > 0 { limit.min(kernel.max_threads_per_block) } else { kernel.max_threads_per_block };
    let (mut best, mut best_count) = (0, 0);
    // From large to small: of equal occupancies, the largest block.
    for size in (1..=limit / 64).rev().map(|waves| waves * 64) {
        let count = workgroups(&kernel, size, dynamic_lds)?;
        if count * size > best * best_count {
            (best, best_count) = (size, count);
        }
    }
    // SAFETY: as this function's.
    unsafe { put(grid, best_count * UNITS) }?;
    // SAFETY: as this function's.
    unsafe { put(block, best) }
}

/// Writes the workgroups that one compute unit runs at a time.
///
/// # Safety
///
/// `count` is null or valid for a write.
unsafe fn active(
    count: *mut c_int,
    function: *const c_void,
    block: c_int,
    dynamic_lds: usize,
) -> Result<(), Code> {
    let found = workgroups(&attributes(function)?, block, dynamic_lds)?;
    // SAFETY: as this function's.
    unsafe { put(count, found) }
}

/// `hipFuncCache_t` and `hipSharedMemConfig` have so many values.
const CACHE_CONFIGURATIONS: c_int = 4;
const SHARED_CONFIGURATIONS: c_int = 3;

/// Looks at a configuration of a function, which changes nothing.
fn no_choice(function: *const c_void, configuration: c_int, known: c_int) -> Result<(), Code> {
    registration::function(function)?;
    if (0..known).contains(&configuration) { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

/// `hipOccupancyDefault` and `hipOccupancyDisableCachingOverride`, which change nothing.
fn check_occupancy_flags(flags: c_uint) -> Result<(), Code> {
    if flags <= 1 { Ok(()) } else { Err(Code::INVALID_VALUE) }
}

compose! {
    /// `hipModuleLoad`.
    fn hipModuleLoad(module: *mut *mut c_void, path: *const c_char) {
        if module.is_null() || path.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so a string by HIP's contract.
        let path = OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes());
        if path.is_empty() {
            return Err(Code::INVALID_VALUE);
        }
        let image = std::fs::read(path).map_err(|_| Code::FILE_NOT_FOUND)?;
        // SAFETY: the file is whole, and is read before the call returns.
        status(unsafe { (HIP.module_load_data)(module, image.as_ptr().cast()) })
    }

    /// `hipModuleLoadDataEx`: options are for a compiler that is not needed.
    fn hipModuleLoadDataEx(
        module: *mut *mut c_void, image: *const c_void, _count: c_uint, _options: *mut c_int,
        _values: *mut *mut c_void,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.module_load_data)(module, image) })
    }

    /// `hipModuleGetFunction`.
    fn hipModuleGetFunction(function: *mut *mut c_void, module: *mut c_void, name: *const c_char) {
        if name.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe { (HIP.module_get_function)(function, module, name) })?;
        // SAFETY: not null, so a string by HIP's contract.
        let name = unsafe { CStr::from_ptr(name) };
        // SAFETY: the call succeeded, so it is valid and holds the handle.
        let found = unsafe { function.read() };
        NAMES.lock().unwrap_or_else(PoisonError::into_inner).entry(found.addr()).or_insert_with(|| name.to_owned());
        Ok(())
    }

    /// `hipGetFuncBySymbol`.
    fn hipGetFuncBySymbol(function: *mut *mut c_void, symbol: *const c_void) {
        let found = registration::function(symbol)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(function, found) }
    }

    /// `hipFuncGetAttributes`.
    fn hipFuncGetAttributes(out: *mut FunctionAttributes, function: *const c_void) {
        let found = attributes(function)?;
        // SAFETY: null or valid by HIP's contract.
        unsafe { put(out, found) }
    }

    /// `hipFuncSetAttribute`: LDS up to the limit needs no permission.
    fn hipFuncSetAttribute(function: *const c_void, attribute: c_int, value: c_int) {
        let kernel = attributes(function)?;
        match FunctionAttribute(attribute) {
            FunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES
                if (0..=kernel.max_dynamic_shared_size_bytes).contains(&value) => Ok(()),
            // Percent, or -1 for the default.
            FunctionAttribute::PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => Ok(()),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// `hipFuncSetCacheConfig`: there is no choice.
    fn hipFuncSetCacheConfig(function: *const c_void, configuration: c_int) {
        no_choice(function, configuration, CACHE_CONFIGURATIONS)
    }

    /// `hipFuncSetSharedMemConfig`: there is no choice.
    fn hipFuncSetSharedMemConfig(function: *const c_void, configuration: c_int) {
        no_choice(function, configuration, SHARED_CONFIGURATIONS)
    }

    /// `hipOccupancyMaxActiveBlocksPerMultiprocessor`.
    fn hipOccupancyMaxActiveBlocksPerMultiprocessor(
        count: *mut c_int, function: *const c_void, block: c_int, dynamic_lds: usize,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { active(count, function, block, dynamic_lds) }
    }

    /// `hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
    fn hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: *mut c_int, function: *const c_void, block: c_int, dynamic_lds: usize, flags: c_uint,
    ) {
        check_occupancy_flags(flags)?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { active(count, function, block, dynamic_lds) }
    }

    /// `hipModuleOccupancyMaxActiveBlocksPerMultiprocessor`.
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        count: *mut c_int, function: *mut c_void, block: c_int, dynamic_lds: usize,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { active(count, function, block, dynamic_lds) }
    }

    /// `hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        count: *mut c_int, function: *mut c_void, block: c_int, dynamic_lds: usize, flags: c_uint,
    ) {
        check_occupancy_flags(flags)?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { active(count, function, block, dynamic_lds) }
    }

    /// `hipOccupancyMaxPotentialBlockSize`.
    fn hipOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: *const c_void, dynamic_lds: usize, limit: c_int,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { fullest(grid, block, function, dynamic_lds, limit) }
    }

    /// `hipModuleOccupancyMaxPotentialBlockSizeWithFlags`.
    fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut c_int, block: *mut c_int, function: *mut c_void, dynamic_lds: usize, limit: c_int, flags: c_uint,
    ) {
        check_occupancy_flags(flags)?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { fullest(grid, block, function, dynamic_lds, limit) }
    }

    /// `hipModuleOccupancyMaxPotentialBlockSize`.
    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: *mut c_int, block: *mut c_int, function: *mut c_void, dynamic_lds: usize, limit: c_int,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { fullest(grid, block, function, dynamic_lds, limit) }
    }
}
