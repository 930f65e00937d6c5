//! From what the host passes to a launch that can run: the shape is checked against the kernel's limits, and
//! the arguments are laid out as the code object's metadata says.

use code_object::{Argument, ArgumentKind, Hidden, Kernel};

use crate::memory::Memory;
use crate::report::LaunchProblem;

/// LDS bytes that a block can have.
pub const LDS_LIMIT: u32 = 64 << 10;

/// The shape of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z.
    pub block: [u32; 3],
    /// Bytes of LDS beyond those the kernel declares.
    pub dynamic_lds: u32,
    /// All workgroups are there at the same time.
    pub cooperative: bool,
}

/// Compute units of the device.
pub const COMPUTE_UNITS: u32 = 304;
/// Wave slots of a compute unit: 4 SIMDs of 8.
const WAVE_SLOTS: u32 = 32;
/// Threads of a wave.
const LANES: u32 = 64;
/// Vector registers of a SIMD's lane.
const VGPRS: u32 = 512;

/// The two ways of passing arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// `kernelParams`: the bytes of each explicit argument; `None` for a null pointer.
    Each(Vec<Option<Vec<u8>>>),
    /// `extra`: all explicit arguments, laid out by the host.
    Packed(Vec<u8>),
}

impl Shape {
    /// Can `kernel` be launched like this?
    pub fn check(self, kernel: &Kernel) -> Result<(), LaunchProblem> {
        let Self { grid, block, dynamic_lds, cooperative } = self;
        if grid.contains(&0) || block.contains(&0) {
            return Err(LaunchProblem::Empty { grid, block });
        }
        let product = |dims: [u32; 3]| dims.iter().map(|&dim| u128::from(dim)).product::<u128>();
        let axis_overflows =
            grid.iter().zip(block).any(|(&blocks, threads)| blocks.checked_mul(threads).is_none());
        if axis_overflows || product(grid) > u128::from(u32::MAX) {
            return Err(LaunchProblem::GridTooLarge { grid, block });
        }
        let limit = kernel.max_flat_workgroup_size;
        if product(block) > u128::from(limit) {
            // Saturates: what does not fit is above every limit, too.
            let threads = block.iter().fold(1, |threads: u64, &dim| threads.saturating_mul(dim.into()));
            return Err(LaunchProblem::BlockTooLarge { threads, limit });
        }
        if let Some(required) = kernel.required_workgroup_size.filter(|&required| required != block) {
            return Err(LaunchProblem::BlockShape { required, block });
        }
        if kernel.lds_size.saturating_add(dynamic_lds) > LDS_LIMIT {
            return Err(LaunchProblem::LdsTooLarge {
                fixed: kernel.lds_size,
                dynamic: dynamic_lds,
                limit: LDS_LIMIT,
            });
        }
        let limit = self.resident(kernel);
        if cooperative && product(grid) > u128::from(limit) {
            return Err(LaunchProblem::TooManyGroups { groups: grid.iter().product(), limit });
        }
        Ok(())
    }

    /// How many of its workgroups the device has room for at the same time.
    fn resident(self, kernel: &Kernel) -> u32 {
        let threads: u32 = self.block.iter().product();
        let per_simd = (VGPRS / kernel.descriptor.allocated_vgprs().max(1)).clamp(1, WAVE_SLOTS / 4);
        let by_waves = 4 * per_simd / threads.div_ceil(LANES);
        let lds = kernel.lds_size + self.dynamic_lds;
        let by_lds = LDS_LIMIT.checked_div(lds).unwrap_or(u32::MAX);
        COMPUTE_UNITS * by_waves.max(1).min(by_lds)
    }

    /// What the runtime passes in a hidden argument; those that this device has no use for are zero.
    fn hidden(self, argument: &Hidden) -> u64 {
        match argument {
            Hidden::BlockCount(axis) => self.grid[*axis as usize].into(),
            Hidden::GroupSize(axis) => self.block[*axis as usize].into(),
            Hidden::GridDims => 3,
            Hidden::DynamicLdsSize => self.dynamic_lds.into(),
            // The launch lays out what these point to.
            Hidden::HostcallBuffer
            | Hidden::PrintfBuffer
            | Hidden::MultigridSyncArg
            | Hidden::QueuePtr
            | Hidden::PrivateBase
            | Hidden::SharedBase
            | Hidden::Other(_) => 0,
        }
    }
}

/// The kernarg segment of a launch.
pub fn assemble(kernel: &Kernel, shape: Shape, given: &Given) -> Result<Vec<u8>, LaunchProblem> {
    let mut segment = vec![0; kernel.kernarg_size as usize];
    match given {
        Given::Each(values) => {
            for (index, argument) in kernel.explicit_arguments().enumerate() {
                let Some(Some(value)) = values.get(index) else {
                    return Err(LaunchProblem::MissingArgument { index, name: argument.name.clone() });
                };
                put(&mut segment, argument, value);
            }
        }
        Given::Packed(bytes) => {
            check_packed(kernel, bytes.len())?;
            let taken = bytes.len().min(explicit_size(kernel));
            segment[..taken].copy_from_slice(&bytes[..taken]);
        }
    }
    for argument in &kernel.arguments {
        if let ArgumentKind::Hidden(hidden) = &argument.kind {
            put(&mut segment, argument, &shape.hidden(hidden).to_le_bytes());
        }
    }
    Ok(segment)
}

/// The loader has checked that every argument is within the segment.
fn put(segment: &mut [u8], argument: &Argument, value: &[u8]) {
    let start = argument.offset as usize;
    let slot = &mut segment[start..start + argument.size as usize];
    for (byte, &value) in slot.iter_mut().zip(value) {
        *byte = value;
    }
}

/// Bytes up to the end of the last explicit argument.
pub(crate) fn explicit_size(kernel: &Kernel) -> usize {
    kernel.explicit_arguments().map(|argument| (argument.offset + argument.size) as usize).max().unwrap_or(0)
}

/// Packed arguments end where the kernel's do, or at the padding of 8 bytes after them.
fn check_packed(kernel: &Kernel, given: usize) -> Result<(), LaunchProblem> {
    let expected = explicit_size(kernel);
    if given > expected.next_multiple_of(8) {
        return Err(LaunchProblem::ExtraArguments { given, expected });
    }
    let cut = |argument: &&Argument| (argument.offset + argument.size) as usize > given;
    match kernel.explicit_arguments().enumerate().find(|(_, argument)| cut(argument)) {
        Some((index, argument)) => {
            Err(LaunchProblem::ShortArguments { given, expected, index, name: argument.name.clone() })
        }
        None => Ok(()),
    }
}

/// No pointer argument may point into freed memory.
pub fn check_pointers(kernel: &Kernel, segment: &[u8], memory: &Memory) -> Result<(), LaunchProblem> {
    let pointers = kernel.explicit_arguments().enumerate().filter_map(|(index, argument)| {
        let start = argument.offset as usize;
        let pointer = segment.get(start..).and_then(|rest| rest.first_chunk::<8>());
        let address = pointer.filter(|_| matches!(argument.kind, ArgumentKind::GlobalBuffer))?;
        Some(((index, argument), u64::from_le_bytes(*address)))
    });
    match memory.first_freed(pointers) {
        Some(((index, argument), address, allocation)) => Err(LaunchProblem::StaleArgument {
            index,
            name: argument.name.clone(),
            address,
            allocation: Box::new(allocation),
        }),
        None => Ok(()),
    }
}
