//! `hipLaunchKernel` and the call configuration of `<<<>>>`.

use std::cell::RefCell;
use std::ffi::{c_int, c_uint, c_void};
use std::mem::ManuallyDrop;

use hip_api::Code;

use crate::capture;
pub(crate) use crate::dispatch::{Arguments, Configuration, Dim3};
use crate::dispatch::{run, with_packed};
use crate::export::{put, status};
use crate::later::Later;
use crate::node::Node;
use crate::registration;

/// Bytes of arguments that a kernel can have.
const ARGUMENT_BYTES: usize = 4096;
/// Bytes of LDS that a workgroup can have.
pub(crate) const LDS_BYTES: usize = 64 << 10;

/// A launch that has begun, with the arguments that `hipSetupArgument` has given it so far.
type Begun = (Configuration, Vec<u8>);

thread_local! {
    // It is never dropped, so that a static destructor of a C++ program may still launch.
    static BEGUN: ManuallyDrop<RefCell<Vec<Begun>>> = const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Begins a launch.
fn begin(grid: Dim3, block: Dim3, shared_bytes: usize, stream: *mut c_void) {
    let at = Configuration { grid, block, shared_bytes, stream, cooperative: false };
    BEGUN.with(|begun| begun.borrow_mut().push((at, Vec::new())));
}

/// Launches the kernel of a host address.
///
/// # Safety
///
/// `params` is as `hipLaunchKernel` demands.
unsafe fn launch(kernel: *const c_void, at: Configuration, params: *mut *mut c_void) -> Result<(), Code> {
    let function = registration::function(kernel)?;
    // SAFETY: as this function's.
    let queued = unsafe { queue(kernel.cast_mut(), function, at, Arguments::each(params)) };
    queued.map_err(|code| refusal(code, at))
}

/// What the calls that take a kernel by its host address answer, where those that take a function answer `code`.
fn refusal(code: Code, at: Configuration) -> Code {
    let Configuration { grid, block, shared_bytes, cooperative, .. } = at;
    let empty = [grid.x, grid.y, grid.z, block.x, block.y, block.z].contains(&0);
    match code {
        Code::INVALID_CONFIGURATION if empty && !cooperative => Code::INVALID_VALUE,
        Code::INVALID_VALUE if shared_bytes > LDS_BYTES && cooperative => Code::COOPERATIVE_LAUNCH_TOO_LARGE,
        Code::INVALID_VALUE if shared_bytes > LDS_BYTES => Code::OUT_OF_MEMORY,
        code => code,
    }
}

/// Launches a function, which the program calls `symbol`, or records the launch with copies of its arguments.
///
/// # Safety
///
/// The arguments are as `hipModuleLaunchKernel` demands.
pub(crate) unsafe fn queue(
    symbol: *mut c_void,
    function: *mut c_void,
    at: Configuration,
    arguments: Arguments,
) -> Result<(), Code> {
    if !capture::is_capturing(at.stream) {
        let shared = c_uint::try_from(at.shared_bytes).map_err(|_| Code::INVALID_CONFIGURATION)?;
        // SAFETY: as this function's.
        return status(unsafe { run(function, at, shared, arguments) });
    }
    // SAFETY: as this function's.
    let later = unsafe { Later::new(symbol, function, at, arguments) }?;
    capture::record(at.stream, Node::launch(later))
}

/// Records an event, if there is one.
pub(crate) fn record(event: *mut c_void, stream: *mut c_void) -> Result<(), Code> {
    if event.is_null() { Ok(()) } else { capture::record_event(event, stream) }
}

compose! {
    /// `hipConfigureCall`.
    fn hipConfigureCall(grid: Dim3, block: Dim3, shared_bytes: usize, stream: *mut c_void) {
        begin(grid, block, shared_bytes, stream);
        Ok(())
    }

    /// `hipSetupArgument`.
    fn hipSetupArgument(argument: *const c_void, size: usize, offset: usize) {
        let end = offset.checked_add(size).filter(|&end| end <= ARGUMENT_BYTES).ok_or(Code::INVALID_VALUE)?;
        if argument.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        BEGUN.with(|begun| {
            let mut begun = begun.borrow_mut();
            let (_, bytes) = begun.last_mut().ok_or(Code::MISSING_CONFIGURATION)?;
            bytes.resize(bytes.len().max(end), 0);
            // SAFETY: the caller keeps to HIP's contract; the vector has `end` bytes.
            unsafe { bytes[offset..end].as_mut_ptr().copy_from_nonoverlapping(argument.cast(), size) };
            Ok(())
        })
    }

    /// `hipLaunchByPtr`.
    fn hipLaunchByPtr(kernel: *const c_void) {
        let begun = BEGUN.with(|begun| begun.borrow_mut().pop());
        let (at, bytes) = begun.ok_or(Code::MISSING_CONFIGURATION)?;
        let function = registration::function(kernel)?;
        with_packed(&bytes, |arguments| {
            // SAFETY: the arguments are in the buffer.
            unsafe { queue(kernel.cast_mut(), function, at, arguments) }
        })
    }

    /// `__hipPushCallConfiguration`.
    fn __hipPushCallConfiguration(grid: Dim3, block: Dim3, shared_bytes: usize, stream: *mut c_void) {
        begin(grid, block, shared_bytes, stream);
        Ok(())
    }

    /// `__hipPopCallConfiguration`.
    fn __hipPopCallConfiguration(
        grid: *mut Dim3,
        block: *mut Dim3,
        shared_bytes: *mut usize,
        stream: *mut *mut c_void,
    ) {
        let top = BEGUN.with(|begun| begun.borrow_mut().pop());
        let (top, _) = top.ok_or(Code::INVALID_CONFIGURATION)?;
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
        unsafe { queue(function, function, at, Arguments::each(arguments)) }
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
        // SAFETY: not null, so valid by HIP's contract.
        let given = unsafe { given.read() };
        // SAFETY: the caller keeps to HIP's contract.
        let cooperative = unsafe { is_cooperative(given.attributes, given.attribute_count) };
        let DriverLaunch { grid, block, stream, .. } = given;
        let at = Configuration { grid, block, shared_bytes: given.shared_bytes as usize, stream, cooperative };
        // SAFETY: the caller keeps to HIP's contract.
        unsafe { queue(function, function, at, Arguments { params: arguments, extra }) }
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
