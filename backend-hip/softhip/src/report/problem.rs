//! The kinds of findings.

use serde::{Deserialize, Serialize};

use super::place::{CodePlace, HostCall, Operation};
use crate::memory::{AccessFault, AccessKind, AllocationInfo, FaultKind};

/// Through which kind of instruction, or call, an access came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// `global_*` and `buffer_*`.
    Global,
    /// `flat_*`.
    Flat,
    /// `s_load_*`.
    Scalar,
    /// `scratch_*`.
    Scratch,
    /// `ds_*`.
    Lds,
    /// A copy or fill that the host asked for.
    Copy,
}

/// What a handle names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandleKind {
    /// A stream.
    Stream,
    /// An event.
    Event,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Problem {
    /// An access to device memory.
    Access {
        /// How it was made.
        segment: Segment,
        /// What is wrong with it.
        #[serde(flatten)]
        fault: AccessFault,
    },
    /// An access to LDS or scratch.
    Lds {
        /// What is wrong with it.
        #[serde(flatten)]
        fault: LdsFault,
    },
    /// Some lanes or waves of a block reach a barrier and others never will.
    DivergentBarrier {
        /// Waves that wait at a barrier.
        waiting: Vec<u32>,
        /// Waves that ended, or wait elsewhere.
        absent: Vec<u32>,
    },
    /// The kernel did not end within its budget.
    Budget {
        /// Wave instructions executed.
        instructions: u64,
    },
    /// An instruction that the device cannot decode or execute.
    Instruction {
        /// Its words.
        words: Vec<u32>,
        /// Why not.
        reason: String,
    },
    /// The kernel executed `s_trap` or an assertion of its own.
    Trap {
        /// The trap's number.
        number: u32,
    },
    /// The kernel asked the host for something that it cannot do.
    HostRequest {
        /// Why not.
        reason: String,
    },
    /// A launch that cannot be.
    Launch {
        /// The kernel's symbol.
        kernel: String,
        /// Why not.
        #[serde(flatten)]
        problem: LaunchProblem,
    },
    /// An allocation that was still there when the program ended.
    Leak {
        /// The allocation.
        allocation: Box<AllocationInfo>,
    },
    /// The host touches memory of a copy that it has not waited for.
    HostAccess {
        /// The host writes what the copy reads; otherwise it reads what the copy writes.
        writes: bool,
        /// The address.
        address: u64,
        /// The pinned allocation that holds it.
        allocation: Option<Box<AllocationInfo>>,
        /// The call that queued the copy.
        copy: Box<HostCall>,
    },
    /// A second free of one allocation.
    DoubleFree {
        /// The address given.
        address: u64,
        /// The allocation, with the site of the first free.
        allocation: Box<AllocationInfo>,
    },
    /// A free of something else than an allocation's first byte.
    InvalidFree {
        /// The address given.
        address: u64,
        /// The allocation that it is in, or near.
        nearest: Option<Box<AllocationInfo>>,
    },
    /// Two operations on different streams touch the same bytes with no order between them.
    StreamRace {
        /// First common address.
        address: u64,
        /// Common bytes from there.
        size: u64,
        /// The allocation that holds them.
        allocation: Option<Box<AllocationInfo>>,
        /// The operation that ran first.
        first: Box<Operation>,
        /// The operation that ran second.
        second: Box<Operation>,
    },
    /// A handle that does not exist or no longer does.
    Handle {
        /// What it should have been.
        what: HandleKind,
        /// Its value.
        value: u64,
        /// It existed once.
        destroyed: bool,
    },
    /// A register is used before the load that writes it has landed, or a barrier is passed before a write to LDS has.
    MissingWait {
        /// What is wrong.
        #[serde(flatten)]
        fault: Box<WaitFault>,
    },
    /// Two instructions are fewer wait states apart than the hardware needs.
    Hazard {
        /// What is wrong.
        #[serde(flatten)]
        fault: Box<HazardFault>,
    },
    /// A code object that this device cannot run.
    CodeObject {
        /// Why not.
        reason: String,
    },
}

impl Problem {
    /// The finding's kind in one word or two, with what is wrong where it is an access: `out of bounds`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Access { fault, .. } => match fault.kind {
                FaultKind::Null => "null",
                FaultKind::WildPointer => "wild pointer",
                FaultKind::OutOfBounds { .. } => "out of bounds",
                FaultKind::UseAfterFree { .. } => "use after free",
                FaultKind::Reserved { .. } => "reserved",
                FaultKind::Uninitialised { .. } => "uninitialised",
                FaultKind::Misaligned { .. } => "misaligned",
                FaultKind::ReadOnly { .. } => "read only",
                FaultKind::Race { .. } => "race",
            },
            Self::Lds { fault } => match fault.problem {
                LdsProblem::OutOfBounds { .. } => "local out of bounds",
                LdsProblem::Uninitialised { .. } => "local uninitialised",
                LdsProblem::Misaligned { .. } => "local misaligned",
                LdsProblem::Race { .. } => "local race",
            },
            Self::DivergentBarrier { .. } => "divergent barrier",
            Self::Budget { .. } => "budget",
            Self::Instruction { .. } => "instruction",
            Self::Trap { .. } => "trap",
            Self::HostRequest { .. } => "host request",
            Self::Launch { .. } => "launch",
            Self::Leak { .. } => "leak",
            Self::HostAccess { .. } => "host access",
            Self::DoubleFree { .. } => "double free",
            Self::InvalidFree { .. } => "invalid free",
            Self::StreamRace { .. } => "stream race",
            Self::Handle { .. } => "handle",
            Self::MissingWait { .. } => "missing wait",
            Self::Hazard { .. } => "hazard",
            Self::CodeObject { .. } => "code object",
        }
    }

    /// The instruction that came first, where two came too close to each other.
    pub(crate) fn first_mut(&mut self) -> Option<&mut CodePlace> {
        match self {
            Self::MissingWait { fault } => Some(&mut fault.first),
            Self::Hazard { fault } => Some(&mut fault.first),
            _ => None,
        }
    }
}

impl From<LdsFault> for Problem {
    fn from(fault: LdsFault) -> Self {
        Self::Lds { fault }
    }
}

/// A wait that is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitFault {
    /// What came too early.
    pub early: Early,
    /// The memory instruction that has not been waited for.
    pub first: CodePlace,
    /// The register that it is about.
    pub register: Option<String>,
    /// The wait that would have covered it, as `s_waitcnt vmcnt(0)`.
    pub wait: String,
}

/// What came before a wait that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Early {
    /// A read of a register.
    Read,
    /// A write of a register.
    Write,
    /// A barrier.
    Barrier,
    /// A read of LDS.
    ReadOfLds,
}

/// Wait states that are missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HazardFault {
    /// The instruction that came first.
    pub first: CodePlace,
    /// The rule, in words.
    pub rule: String,
    /// Where the rule stands.
    pub source: String,
    /// The register that it is about.
    pub register: Option<String>,
    /// Wait states that the rule asks for.
    pub needed: u8,
    /// Wait states between the two.
    pub had: u8,
}

/// Why a launch is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum LaunchProblem {
    /// A grid or block dimension is 0.
    Empty {
        /// Blocks.
        grid: [u32; 3],
        /// Threads per block.
        block: [u32; 3],
    },
    /// The grid has more threads than the device can number.
    GridTooLarge {
        /// Blocks.
        grid: [u32; 3],
        /// Threads per block.
        block: [u32; 3],
    },
    /// More threads per block than the kernel was compiled for.
    BlockTooLarge {
        /// Threads per block.
        threads: u64,
        /// What the kernel allows.
        limit: u32,
    },
    /// More LDS than a block can have.
    LdsTooLarge {
        /// Bytes in the kernel itself.
        fixed: u32,
        /// Bytes asked for at the launch.
        dynamic: u32,
        /// What a block can have.
        limit: u32,
    },
    /// A cooperative launch whose workgroups cannot all be there at the same time.
    TooManyGroups {
        /// Workgroups.
        groups: u32,
        /// What the device has room for.
        limit: u32,
    },
    /// An argument is missing.
    MissingArgument {
        /// Its index.
        index: usize,
        /// Its name, if known.
        name: Option<String>,
    },
    /// More bytes of arguments than the kernel takes.
    ExtraArguments {
        /// Bytes given.
        given: usize,
        /// Bytes that the kernel takes.
        expected: usize,
    },
    /// Fewer bytes of arguments than the kernel takes.
    ShortArguments {
        /// Bytes given.
        given: usize,
        /// Bytes that the kernel takes.
        expected: usize,
        /// The first argument that is not wholly there.
        index: usize,
        /// Its name, if known.
        name: Option<String>,
    },
    /// A pointer argument whose memory has been freed.
    StaleArgument {
        /// Its index.
        index: usize,
        /// Its name, if known.
        name: Option<String>,
        /// Its value.
        address: u64,
        /// The freed allocation.
        allocation: Box<AllocationInfo>,
    },
    /// The kernel demands another block shape.
    BlockShape {
        /// What it demands.
        required: [u32; 3],
        /// Threads per block.
        block: [u32; 3],
    },
}

/// What is wrong with an access to LDS or scratch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LdsFault {
    /// LDS or scratch.
    pub segment: Segment,
    /// Why.
    #[serde(flatten)]
    pub problem: LdsProblem,
    /// What the access does.
    pub access: AccessKind,
    /// Its first byte, from the start of the segment.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// Why an access to LDS or scratch is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "fault")]
pub enum LdsProblem {
    /// Some bytes are beyond what the block, or the thread, has.
    OutOfBounds {
        /// Bytes that it has.
        limit: u64,
    },
    /// A byte that nothing has written is read.
    Uninitialised {
        /// That byte.
        byte: u64,
    },
    /// The offset is no multiple of what the access requires.
    Misaligned {
        /// The required alignment in bytes.
        required: u64,
    },
    /// Another wave touched the byte since the last barrier.
    Race {
        /// That byte.
        byte: u64,
        /// The other wave.
        wave: u32,
        /// What it did.
        other: AccessKind,
        /// Its instruction, bytes from the kernel's entry.
        other_offset: Option<u64>,
    },
}
