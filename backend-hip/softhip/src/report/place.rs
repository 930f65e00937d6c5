//! Where a finding happened: in device code, in the grid, in host code.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::memory::Site;

/// An instruction of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodePlace {
    /// The kernel's symbol.
    pub kernel: String,
    /// Bytes from the kernel's entry.
    pub offset: u64,
    /// The instruction as a disassembler prints it.
    pub instruction: String,
    /// The line of device source, when the code object has line tables.
    pub source: Option<Site>,
}

/// A thread of a launch, or a whole wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadPlace {
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// The wave within the block.
    pub wave: u32,
    /// The lane within the wave; `None` when the instruction acts for the wave as a whole.
    pub lane: Option<u32>,
    /// The thread's coordinates in the block; for a whole wave, those of its first thread.
    pub thread: [u32; 3],
}

impl ThreadPlace {
    /// The thread at `lane` of `wave` in a block of dimensions `dims`.
    pub fn of_lane(block: [u32; 3], dims: [u32; 3], wave: u32, lane: u32) -> Self {
        Self { lane: Some(lane), ..Self::at(block, dims, wave, lane) }
    }

    /// The whole of `wave` in a block of dimensions `dims`.
    pub fn of_wave(block: [u32; 3], dims: [u32; 3], wave: u32) -> Self {
        Self::at(block, dims, wave, 0)
    }

    fn at(block: [u32; 3], dims: [u32; 3], wave: u32, lane: u32) -> Self {
        let [x, y, _] = dims.map(|dim| dim.max(1));
        let flat = wave * 64 + lane;
        Self { block, wave, lane: None, thread: [flat % x, flat / x % y, flat / x / y] }
    }
}

/// A HIP call of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCall {
    /// The function: `hipMemcpyAsync`.
    pub function: Cow<'static, str>,
    /// Where it was called.
    pub site: Option<Site>,
}

impl HostCall {
    /// A call of `function` at `site`.
    pub fn new(function: impl Into<Cow<'static, str>>, site: Option<Site>) -> Self {
        Self { function: function.into(), site }
    }
}

/// One side of a race between streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The call that queued it.
    pub call: HostCall,
    /// The kernel, if it is a launch.
    pub kernel: Option<String>,
    /// The stream's number, in order of creation; 0 is the null stream.
    pub stream: u32,
    /// Whether it writes the bytes in question.
    pub writes: bool,
}
