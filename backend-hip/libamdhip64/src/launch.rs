//! `hipLaunchKernel` and the call configuration of `<<<>>>`.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;

use hip_api::Code;

use crate::capture::{self, NodeKind};
use crate::export::{HIP, put, status};
use crate::registration;

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

thread_local! {
    // It is never dropped, so that a static destructor of a C++ program may still launch.
    static CONFIGURATIONS: ManuallyDrop<RefCell<Vec<Configuration>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Launches the kernel of a host address.
///
/// # Safety
///
/// `arguments` is as `hipLaunchKernel` demands.
unsafe fn launch(kernel: *const c_void, at: Configuration, arguments: *mut *mut c_void) -> Result<(), Code> {
    let function = registration::function(kernel)?;
    // SAFETY: as this function's.
    unsafe { queue(function, at, arguments) }
}

/// Launches a function, or records the launch with copies of its arguments.
///
/// # Safety
///
/// `arguments` is as `hipLaunchKernel` demands.
pub(crate) unsafe fn queue(
    function: *mut c_void,
    at: Configuration,
    arguments: *mut *mut c_void,
) -> Result<(), Code> {
    let shared = c_uint::try_from(at.shared_bytes).map_err(|_| Code::INVALID_CONFIGURATION)?;
    if !capture::is_capturing(at.stream) {
        // SAFETY: as this function's.
        return status(unsafe { run(function, at, shared, arguments) });
    }
    // SAFETY: as this function's.
    let call = unsafe { later(function, at, arguments) }?;
    capture::queue(at.stream, NodeKind::Kernel, call)
}

/// A launch that is made later, and perhaps several times, with copies of the arguments.
///
/// # Safety
///
/// `arguments` is as `hipLaunchKernel` demands.
pub(crate) unsafe fn later(
    function: *mut c_void,
    at: Configuration,
    arguments: *mut *mut c_void,
) -> Result<impl Fn(*mut c_void) -> i32 + 'static, Code> {
    let shared = c_uint::try_from(at.shared_bytes).map_err(|_| Code::INVALID_CONFIGURATION)?;
    // SAFETY: as this function's.
    let copies = unsafe { softhip::api::copy_arguments(function, arguments) }?;
    Ok(move |stream| {
        let pointer = |copy: &Option<Vec<u8>>| {
            copy.as_ref().map_or(null_mut(), |bytes| bytes.as_ptr().cast_mut().cast::<c_void>())
        };
        // The device only reads through these pointers.
        let mut pointers: Vec<_> = copies.iter().map(pointer).collect();
        // SAFETY: the copies are of the kernel's arguments.
        unsafe { run(function, Configuration { stream, ..at }, shared, pointers.as_mut_ptr()) }
    })
}

/// Makes a launch.
///
/// # Safety
///
/// `arguments` is as `hipLaunchKernel` demands.
unsafe fn run(function: *mut c_void, at: Configuration, shared: c_uint, arguments: *mut *mut c_void) -> i32 {
    let Configuration { grid, block, stream, cooperative, .. } = at;
    if cooperative {
        // SAFETY: as this function's.
        return unsafe {
            (HIP.module_launch_cooperative_kernel)(
                function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments,
            )
        };
    }
    // SAFETY: as this function's.
    unsafe {
        (HIP.module_launch_kernel)(
            function,
            grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            shared,
            stream,
            arguments,
            null_mut(),
        )
    }
}

/// Records an event, if there is one.
fn record(event: *mut c_void, stream: *mut c_void) -> Result<(), Code> {
    if event.is_null() { Ok(()) } else { capture::record_event(event, stream) }
}

compose! {
    /// `__hipPushCallConfiguration`.
    fn __hipPushCallConfiguration(grid: Dim3, block: Dim3, shared_bytes: usize, stream: *mut c_void) {
        let configuration = Configuration { grid, block, shared_bytes, stream, cooperative: false };
        CONFIGURATIONS.with(|stack| stack.borrow_mut().push(configuration));
        Ok(())
    }

    /// `__hipPopCallConfiguration`.
    fn __hipPopCallConfiguration(
        grid: *mut Dim3,
        block: *mut Dim3,
        shared_bytes: *mut usize,
        stream: *mut *mut c_void,
    ) {
        let top = CONFIGURATIONS.with(|stack| stack.borrow_mut().pop());
        let top = top.ok_or(Code::INVALID_CONFIGURATION)?;
        // SAFETY: the compiler's code passes valid outputs.
        unsafe { put(grid, top.grid) }?;
        // SAFETY: as above.
        unsafe { put(block, top.block) }?;
        // SAFETY: as above.
        unsafe { put(shared_bytes, top.shared_bytes) }?;
        // SAFETY: as above.
        unsafe { put(stream, top.stream) }
    }

    /// `hipLaunchKernel`.
    fn hipLaunchKernel(
        kernel: *const c_void,
        grid: Dim3,
        block: Dim3,
        arguments: *mut *mut c_void,
        shared_bytes: usize,
        stream: *mut c_void,
    ) {
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { launch(kernel, Configuration { grid, block, shared_bytes, stream, cooperative: false }, arguments) }
    }

    /// `hipLaunchCooperativeKernel`.
    fn hipLaunchCooperativeKernel(
        kernel: *const c_void,
        grid: Dim3,
        block: Dim3,
        arguments: *mut *mut c_void,
        shared_bytes: c_uint,
        stream: *mut c_void,
    ) {
        let at = Configuration { grid, block, shared_bytes: shared_bytes as usize, stream, cooperative: true };
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { launch(kernel, at, arguments) }
    }

    /// `hipModuleLaunchCooperativeKernel`.
    fn hipModuleLaunchCooperativeKernel(
        function: *mut c_void,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: *mut c_void,
        arguments: *mut *mut c_void,
    ) {
        let at = Configuration {
            grid: Dim3 { x: grid_x, y: grid_y, z: grid_z },
            block: Dim3 { x: block_x, y: block_y, z: block_z },
            shared_bytes: shared as usize,
            stream,
            cooperative: true,
        };
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { queue(function, at, arguments) }
    }

    /// `hipExtLaunchKernel`: a launch between two events.
    fn hipExtLaunchKernel(
        kernel: *const c_void,
        grid: Dim3,
        block: Dim3,
        arguments: *mut *mut c_void,
        shared_bytes: usize,
        stream: *mut c_void,
        start: *mut c_void,
        stop: *mut c_void,
        _flags: c_int,
    ) {
        record(start, stream)?;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { launch(kernel, Configuration { grid, block, shared_bytes, stream, cooperative: false }, arguments) }?;
        record(stop, stream)
    }

    /// `hipDrvLaunchKernelEx`.
    fn hipDrvLaunchKernelEx(
        given: *const DriverLaunch,
        function: *mut c_void,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        if given.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        if !extra.is_null() {
            return Err(Code::NOT_SUPPORTED);
        }
        // SAFETY: not null, so valid by HIP's contract.
        let given = unsafe { given.read() };
        // SAFETY: the caller keeps to HIP's contract.
        let cooperative = unsafe { is_cooperative(given.attributes, given.attribute_count) };
        let DriverLaunch { grid, block, stream, .. } = given;
        let at = Configuration { grid, block, shared_bytes: given.shared_bytes as usize, stream, cooperative };
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { queue(function, at, arguments) }
    }

    /// `hipLaunchKernelExC`.
    fn hipLaunchKernelExC(given: *const RuntimeLaunch, kernel: *const c_void, arguments: *mut *mut c_void) {
        if given.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: not null, so valid by HIP's contract.
        let given = unsafe { given.read() };
        // SAFETY: the caller keeps to HIP's contract.
        let cooperative = unsafe { is_cooperative(given.attributes, given.attribute_count) };
        let RuntimeLaunch { grid, block, shared_bytes, stream, .. } = given;
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { launch(kernel, Configuration { grid, block, shared_bytes, stream, cooperative }, arguments) }
    }

    /// `hipExtModuleLaunchKernel`: a launch between two events, with its grid in threads.
    fn hipExtModuleLaunchKernel(
        function: *mut c_void,
        threads_x: c_uint,
        threads_y: c_uint,
        threads_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: usize,
        stream: *mut c_void,
        arguments: *mut *mut c_void,
        extra: *mut *mut c_void,
        start: *mut c_void,
        stop: *mut c_void,
        _flags: c_uint,
    ) {
        let grid_x = workgroups(threads_x, block_x)?;
        let grid_y = workgroups(threads_y, block_y)?;
        let grid_z = workgroups(threads_z, block_z)?;
        let shared = c_uint::try_from(shared_bytes).map_err(|_| Code::INVALID_CONFIGURATION)?;
        record(start, stream)?;
        // SAFETY: the caller keeps to HIP's contract.
        status(unsafe {
            (HIP.module_launch_kernel)(
                function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments, extra,
            )
        })?;
        record(stop, stream)
    }
}

/// `hipLaunchAttribute`.
#[repr(C)]
struct Attribute {
    id: c_int,
    _padding: c_int,
    /// A union whose first four bytes are the value of [`COOPERATIVE`].
    value: [c_int; 16],
}

/// `hipLaunchAttributeCooperative`.
const COOPERATIVE: c_int = 2;

/// Whether the attributes ask for a cooperative launch. Others are about speed.
///
/// # Safety
///
/// `attributes` has `count` entries.
unsafe fn is_cooperative(attributes: *const Attribute, count: c_uint) -> bool {
    (0..count as usize).any(|at| {
        // SAFETY: as this function's.
        let attribute = unsafe { attributes.wrapping_add(at).read() };
        attribute.id == COOPERATIVE && attribute.value[0] != 0
    })
}

/// `HIP_LAUNCH_CONFIG`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct DriverLaunch {
    grid: Dim3,
    block: Dim3,
    shared_bytes: c_uint,
    stream: *mut c_void,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

/// `hipLaunchConfig_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct RuntimeLaunch {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: *mut c_void,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

/// Workgroups of `block` threads. The software device has no partial ones.
fn workgroups(threads: c_uint, block: c_uint) -> Result<c_uint, Code> {
    if block == 0 || threads == 0 {
        return Err(Code::INVALID_CONFIGURATION);
    }
    if threads.is_multiple_of(block) { Ok(threads / block) } else { Err(Code::NOT_SUPPORTED) }
}

/// [`hipExtModuleLaunchKernel`] as C++ programs of earlier releases name it.
#[unsafe(export_name = "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j")]
unsafe extern "C" fn ext_module_launch_kernel(
    function: *mut c_void,
    threads_x: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared_bytes: usize,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    extra: *mut *mut c_void,
    start: *mut c_void,
    stop: *mut c_void,
    flags: c_uint,
) -> i32 {
    // SAFETY: the contract is the same.
    unsafe {
        hipExtModuleLaunchKernel(
            function,
            threads_x,
            threads_y,
            threads_z,
            block_x,
            block_y,
            block_z,
            shared_bytes,
            stream,
            arguments,
            extra,
            start,
            stop,
            flags,
        )
    }
}
