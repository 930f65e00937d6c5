//! What a function says about itself, and how a launch passes its arguments.

use std::ffi::c_int;

/// `hipFuncAttributes`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct FunctionAttributes {
    /// Always 0.
    pub binary_version: c_int,
    /// Always 0.
    pub cache_mode_ca: c_int,
    /// Always 0.
    pub const_size_bytes: usize,
    /// Bytes of scratch per thread.
    pub local_size_bytes: usize,
    /// Bytes of LDS that a launch may add.
    pub max_dynamic_shared_size_bytes: c_int,
    /// Threads per block.
    pub max_threads_per_block: c_int,
    /// Vector registers.
    pub num_regs: c_int,
    /// Always 0.
    pub preferred_shmem_carveout: c_int,
    /// Always 0.
    pub ptx_version: c_int,
    /// Bytes of LDS that the kernel declares.
    pub shared_size_bytes: usize,
}

/// `hipFunction_attribute`, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FunctionAttribute(pub c_int);

impl FunctionAttribute {
    /// `HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`.
    pub const MAX_THREADS_PER_BLOCK: Self = Self(0);
    /// `HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES`.
    pub const SHARED_SIZE_BYTES: Self = Self(1);
    /// `HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES`.
    pub const CONST_SIZE_BYTES: Self = Self(2);
    /// `HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES`.
    pub const LOCAL_SIZE_BYTES: Self = Self(3);
    /// `HIP_FUNC_ATTRIBUTE_NUM_REGS`.
    pub const NUM_REGS: Self = Self(4);
    /// `HIP_FUNC_ATTRIBUTE_PTX_VERSION`.
    pub const PTX_VERSION: Self = Self(5);
    /// `HIP_FUNC_ATTRIBUTE_BINARY_VERSION`.
    pub const BINARY_VERSION: Self = Self(6);
    /// `HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA`.
    pub const CACHE_MODE_CA: Self = Self(7);
    /// `HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: Self = Self(8);
    /// `HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`.
    pub const PREFERRED_SHARED_MEMORY_CARVEOUT: Self = Self(9);
}

/// In `extra`: the next entry points to the packed arguments.
pub const LAUNCH_PARAM_BUFFER_POINTER: usize = 1;
/// In `extra`: the next entry points to their size.
pub const LAUNCH_PARAM_BUFFER_SIZE: usize = 2;
/// In `extra`: the end.
pub const LAUNCH_PARAM_END: usize = 3;
