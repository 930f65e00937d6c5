//! What the library tells the command.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use softhip::report::{Event, Report};

use crate::Tool;

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "message")]
pub enum Message {
    /// A process has made its first HIP call.
    Begun {
        /// Its number.
        process: u32,
    },
    /// Something is wrong.
    Finding(Box<Finding>),
    /// A call reports a fault that a kernel has caused before.
    Messenger(Messenger),
    /// On a GPU, a call or a launch has failed.
    Failure(Failure),
    /// A call that the library does not have.
    Unsupported {
        /// Its name.
        function: String,
    },
    /// An allocation was refused.
    Refused {
        /// The process.
        process: u32,
        /// The function: `hipMalloc`.
        function: String,
        /// What it answered: `hipErrorOutOfMemory`.
        answer: String,
    },
    /// Where launches are selected: a kernel's first launch that is selected, or its first that is not.
    Launched {
        /// The kernel's symbol.
        kernel: String,
        /// Whether the launch is one of those that were asked for.
        selected: bool,
    },
    /// A process has ended in order.
    Ended {
        /// Its number.
        process: u32,
        /// Kernels that it launched.
        launches: u64,
        /// Launches, copies and fills that were queued and that nothing waited for.
        never_ran: u64,
        /// Instructions that waves executed; 0 on a GPU.
        instructions: u64,
        /// Findings of kernels that were left out, since one of the same kernel, instruction and kind had been told.
        repeated: u64,
        /// Copies to the host, if they were counted.
        copies_to_host: u64,
    },
    /// A kernel has been running for a while.
    Progress(Progress),
}

impl Message {
    /// The message on a line, which may end with its newline.
    ///
    /// It is read here, not where it is used: deriving readers for tagged and flattened types make much code, which this crate
    /// compiles once and without optimisation.
    pub fn read(line: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(line)
    }
}

/// How far a kernel has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The process.
    pub process: u32,
    /// The kernel, as in the source.
    pub kernel: String,
    /// Workgroups that have ended.
    pub done: u32,
    /// All of them.
    pub groups: u32,
    /// Instructions that waves have executed in those.
    pub instructions: u64,
    /// Seconds since it began.
    pub seconds: u64,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The process.
    pub process: u32,
    /// Whose finding it is. `None`: the software device cannot run this code.
    pub tool: Option<Tool>,
    /// Whether it is of work on the device, so that all later calls fail because of it on ROCm.
    pub sticks: bool,
    /// The device's report. Host sites are the innermost lines of the program.
    pub report: Report,
    /// The report as text.
    pub text: String,
    /// The host's call stacks.
    pub stacks: Vec<Stack>,
    /// The file with the launch, if it is about one and capsules were asked for.
    pub capsule: Option<PathBuf>,
}

/// A call stack of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    /// What happened there.
    pub event: Event,
    /// The innermost frame first.
    pub frames: Vec<Frame>,
}

/// A frame of a call stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function, if the program says so.
    pub function: Option<String>,
    /// The source file, if there is debug information.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The program or library.
    pub module: Option<String>,
    /// Bytes from the start of the module.
    pub offset: u64,
}

/// A call that reports a fault which a kernel has caused before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messenger {
    /// The process.
    pub process: u32,
    /// The function: `hipMemcpy`.
    pub function: String,
    /// What it answers: `hipErrorIllegalAddress`.
    pub answer: String,
    /// Where it was called.
    pub frames: Vec<Frame>,
    /// Launches that answered the same before it.
    pub launches_before: u64,
}

/// A call or a launch that failed on a GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The process.
    pub process: u32,
    /// The function: `hipLaunchKernel`.
    pub function: String,
    /// What it answered, or what waiting for the launch did: `hipErrorIllegalAddress`.
    pub answer: String,
    /// Where it was called.
    pub frames: Vec<Frame>,
    /// The kernel, if it is a launch and the code object could be read.
    pub kernel: Option<String>,
    /// The number of the launch, if it is one; the first is 1.
    pub launch: Option<u64>,
    /// Launches of which it is not known whether they ended well.
    pub unknown_launches: u64,
    /// The file with the launch, if capsules were asked for.
    pub capsule: Option<PathBuf>,
}
