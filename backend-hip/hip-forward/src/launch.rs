//! Launches: what is checked before, and whether they end well.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null_mut, with_exposed_provenance};

use code_object::{ArgumentKind, Kernel};
use hip_api::{Code, MemcpyKind};
use softhip::control::LaunchRecord;
use softhip::memory::{Piece, Site, Snapshot};
use softhip::report::{HostCall, LaunchProblem, Problem, Report};
use softhip::sched::{Given, Shape, assemble};

use crate::kernels::{self, Known};
use crate::{guard, memory, session};

/// Where the image of a capsule is placed: away from what GPUs and the software device use.
const IMAGE: u64 = 0x5000_0000_0000;
/// Largest allocation whose content is searched for further pointers.
const SEARCHED: u64 = 64 << 10;

/// `dim3`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Dim3 {
    x: c_uint,
    y: c_uint,
    z: c_uint,
}

/// A launch before it is made.
struct Launch {
    number: u64,
    kernel: Option<Known>,
    record: Option<LaunchRecord>,
    stream: *mut c_void,
    name: &'static str,
}

impl Launch {
    /// Counts a launch and looks at it.
    ///
    /// # Safety
    ///
    /// `arguments` is null or as `hipLaunchKernel` demands.
    unsafe fn begin(
        name: &'static str,
        function: *const c_void,
        shape: Shape,
        arguments: *mut *mut c_void,
        stream: *mut c_void,
    ) -> Self {
        let number = session::next_launch();
        let known = kernels::find(function);
        let kernel_name = known.as_ref().map_or("an unknown kernel", |known| &known.name);
        session::launches(number, kernel_name);
        let records = session::records(kernel_name, number);
        let mut launch = Self { number, kernel: known.clone(), record: None, stream, name };
        let Some((known, kernel)) =
            known.as_ref().and_then(|known| Some((known, known.object.kernel(&known.name)?)))
        else {
            return launch;
        };
        if arguments.is_null() {
            return launch;
        }
        // SAFETY: as this function's.
        let given = Given::Each(unsafe { softhip::api::argument_values(kernel, arguments) });
        let call = HostCall::new(name, Some(Site::of_stack(host_stack::take())));
        let checked = shape.check(kernel).and_then(|()| {
            let segment = assemble(kernel, shape, &given)?;
            check_pointers(kernel, &segment)?;
            Ok(segment)
        });
        match checked {
            Ok(segment) => {
                if records {
                    let memory = reachable(&segment);
                    let image = known.file.clone();
                    let kernel = known.name.clone();
                    launch.record =
                        Some(LaunchRecord { image, image_base: IMAGE, kernel, shape, given, memory, call });
                }
            }
            Err(problem) => {
                let problem = Problem::Launch { kernel: kernel.name.clone(), problem };
                session::report(Report::new(problem).call(call));
            }
        }
        launch
    }

    /// Looks at how the launch went, after it has ended if that was asked for.
    fn end(self, code: i32) -> i32 {
        let mut answer = code;
        if code == Code::SUCCESS.0 && session::synchronises() {
            let synchronise = real!(hipStreamSynchronize: unsafe extern "C" fn(*mut c_void) -> i32);
            // SAFETY: the stream is the caller's.
            answer = unsafe { synchronise(self.stream) };
            if answer == Code::SUCCESS.0 {
                guard::look_at_all(self.name);
            }
        }
        session::launched(answer == Code::SUCCESS.0 && session::synchronises());
        if answer != Code::SUCCESS.0 {
            let kernel = self.kernel.map(|known| known.name);
            session::launch_failed(self.name, answer, kernel, self.number, self.record);
        }
        code
    }
}

/// No pointer argument may point into freed memory. Arguments give allocations their names.
fn check_pointers(kernel: &Kernel, segment: &[u8]) -> Result<(), LaunchProblem> {
    for (index, argument) in kernel.explicit_arguments().enumerate() {
        let start = argument.offset as usize;
        let pointer = segment.get(start..).and_then(|rest| rest.first_chunk::<8>());
        let (ArgumentKind::GlobalBuffer, Some(bytes)) = (&argument.kind, pointer) else { continue };
        let address = u64::from_le_bytes(*bytes);
        if let Some(name) = &argument.name {
            memory::suggest_label(address, name);
        }
        if let Some(allocation) = memory::at(address).filter(|found| found.is_freed) {
            let (name, allocation) = (argument.name.clone(), Box::new(allocation));
            return Err(LaunchProblem::StaleArgument { index, name, address, allocation });
        }
    }
    Ok(())
}

/// The allocations that a launch can reach, with what they hold: those that its arguments point into, and those that small ones
/// among them point into.
fn reachable(segment: &[u8]) -> Vec<Snapshot> {
    let words = |bytes: &[u8]| -> Vec<u64> {
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    };
    let mut pointers = words(segment);
    let mut bases = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(pointer) = pointers.pop() {
        let Some(info) = memory::at(pointer).filter(|info| bases.insert(info.base)) else { continue };
        let mut pieces = Vec::new();
        if !info.is_freed {
            let Some(bytes) = read(info.base, info.size) else { continue };
            if info.size <= SEARCHED {
                pointers.extend(words(&bytes));
            }
            pieces.push(Piece { offset: 0, bytes });
        }
        found.push(Snapshot { info, pieces });
    }
    found
}

/// Bytes of device memory.
fn read(address: u64, size: u64) -> Option<Vec<u8>> {
    let copy = real!(hipMemcpy: unsafe extern "C" fn(*mut c_void, *const c_void, usize, c_int) -> i32);
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    let from = with_exposed_provenance(usize::try_from(address).ok()?);
    let kind = MemcpyKind::Default.number();
    // SAFETY: the allocation is live and has as many bytes, and so has the vector.
    let code = unsafe { copy(bytes.as_mut_ptr().cast(), from, bytes.len(), kind) };
    (code == Code::SUCCESS.0).then_some(bytes)
}

/// `hipLaunchKernel`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipLaunchKernel(
    kernel: *const c_void,
    grid: Dim3,
    block: Dim3,
    arguments: *mut *mut c_void,
    shared: usize,
    stream: *mut c_void,
) -> i32 {
    let function = real!(hipLaunchKernel: unsafe extern "C" fn(*const c_void, Dim3, Dim3, *mut *mut c_void, usize, *mut c_void) -> i32);
    let shape = Shape {
        grid: [grid.x, grid.y, grid.z],
        block: [block.x, block.y, block.z],
        // More is refused by the real library, and by the check.
        dynamic_lds: c_uint::try_from(shared).unwrap_or(c_uint::MAX),
        cooperative: false,
    };
    // SAFETY: the caller keeps to HIP's contract.
    let launch = unsafe { Launch::begin("hipLaunchKernel", kernel, shape, arguments, stream) };
    // SAFETY: the caller keeps to HIP's contract, which is the real function's.
    launch.end(unsafe { function(kernel, grid, block, arguments, shared, stream) })
}

/// The signature of `hipModuleLaunchKernel`.
type ModuleLaunch = unsafe extern "C" fn(
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
) -> i32;

/// `hipModuleLaunchKernel`.
#[unsafe(no_mangle)]
unsafe extern "C" fn hipModuleLaunchKernel(
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
    extra: *mut *mut c_void,
) -> i32 {
    let real = real!(hipModuleLaunchKernel: ModuleLaunch);
    let shape = Shape {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_lds: shared,
        cooperative: false,
    };
    let known = if extra.is_null() { arguments } else { null_mut() };
    // SAFETY: the caller keeps to HIP's contract.
    let launch = unsafe { Launch::begin("hipModuleLaunchKernel", function, shape, known, stream) };
    // SAFETY: the caller keeps to HIP's contract, which is the real function's.
    launch.end(unsafe {
        real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, arguments, extra)
    })
}
