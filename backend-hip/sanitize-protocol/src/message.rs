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
    },
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

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The process.
    pub process: u32,
    /// Whose finding it is. `None`: the software device cannot run this code.
    pub tool: Option<Tool>,
    /// Whether all later calls fail because of it.
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
