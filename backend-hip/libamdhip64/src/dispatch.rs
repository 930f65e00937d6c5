//! A launch as it goes to the device.

use std::ffi::{c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use hip_api::{LAUNCH_PARAM_BUFFER_POINTER, LAUNCH_PARAM_BUFFER_SIZE, LAUNCH_PARAM_END};

use crate::export::HIP;

/// `dim3`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Dim3 {
    pub(crate) x: c_uint,
    pub(crate) y: c_uint,
    pub(crate) z: c_uint,
}

/// What stands between `<<<` and `>>>`.
#[derive(Clone, Copy)]
pub(crate) struct Configuration {
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) shared_bytes: usize,
    pub(crate) stream: *mut c_void,
    /// All workgroups are there at the same time.
    pub(crate) cooperative: bool,
}

/// Where the arguments of a launch are: in an array of pointers, or in a buffer that a list names.
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    pub(crate) params: *mut *mut c_void,
    pub(crate) extra: *mut *mut c_void,
}

impl Arguments {
    /// In an array of pointers.
    pub(crate) fn each(params: *mut *mut c_void) -> Self {
        Self { params, extra: null_mut() }
    }
}

/// Makes a launch.
///
/// # Safety
///
/// The arguments are as `hipModuleLaunchKernel` demands.
pub(crate) unsafe fn run(
    function: *mut c_void,
    at: Configuration,
    shared: c_uint,
    arguments: Arguments,
) -> i32 {
    let Configuration { grid, block, stream, cooperative, .. } = at;
    let Arguments { params, extra } = arguments;
    if cooperative {
        // SAFETY: as this function's.
        return unsafe {
            (HIP.module_launch_cooperative_kernel)(
                function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params,
            )
        };
    }
    // SAFETY: as this function's.
    unsafe {
        (HIP.module_launch_kernel)(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, params, extra,
        )
    }
}

/// Calls `body` with arguments that stand in a buffer.
pub(crate) fn with_packed<T>(bytes: &[u8], body: impl FnOnce(Arguments) -> T) -> T {
    let mut size = bytes.len();
    let mut extra = [
        without_provenance_mut(LAUNCH_PARAM_BUFFER_POINTER),
        bytes.as_ptr().cast_mut().cast::<c_void>(),
        without_provenance_mut(LAUNCH_PARAM_BUFFER_SIZE),
        (&raw mut size).cast(),
        without_provenance_mut(LAUNCH_PARAM_END),
    ];
    body(Arguments { params: null_mut(), extra: extra.as_mut_ptr() })
}
