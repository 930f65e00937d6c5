//! Reports: what went wrong, where, by whom, as text for people and as JSON for tools.
//!
//! ```text
//! Invalid global write of size 4 bytes
//!   at rope_f32+0x8b0  (rope.hip:41)  global_store_dword v[2:3], v4, off
//!   by thread (17,0,0) in block (278,0,0), wave 0 lane 17
//!   address 0x5_0000_1004 is out of bounds: 4 bytes past the end of 'q' (4096 bytes)
//!   allocated at engine/src/model/mod.rs:212, launched at backend-hip/src/ops/rope.rs:33
//! ```

mod place;
mod problem;
mod sites;
mod text;

use serde::{Deserialize, Serialize};

pub use place::{CodePlace, HostCall, Operation, ThreadPlace};
pub use problem::{
    Early, HandleKind, HazardFault, LaunchProblem, LdsFault, LdsProblem, Problem, Segment, WaitFault,
};
pub use sites::Event;

use crate::memory::Site;

/// One finding of the device. `Display` gives the text above.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What is wrong.
    pub problem: Problem,
    /// The instruction, when a kernel did it.
    pub at: Option<CodePlace>,
    /// The thread, when one thread did it.
    pub by: Option<ThreadPlace>,
    /// The HIP call, when the host did it, or when the work was queued by it.
    pub call: Option<HostCall>,
    /// Where the host launched the kernel.
    pub launched: Option<Site>,
    /// Further facts, one line each.
    pub notes: Vec<String>,
}

impl Report {
    /// A report that knows the problem alone; the layers above add what they know.
    pub fn new(problem: impl Into<Problem>) -> Self {
        Self { problem: problem.into(), at: None, by: None, call: None, launched: None, notes: Vec::new() }
    }

    /// The report with its instruction.
    #[must_use]
    pub fn at(mut self, place: CodePlace) -> Self {
        self.at = Some(place);
        self
    }

    /// The report with its thread.
    #[must_use]
    pub fn by(mut self, thread: ThreadPlace) -> Self {
        self.by = Some(thread);
        self
    }

    /// The report with the HIP call that did, or queued, the work.
    #[must_use]
    pub fn call(mut self, call: HostCall) -> Self {
        self.call = Some(call);
        self
    }

    /// The report with the place of the launch.
    #[must_use]
    pub fn launched(mut self, site: Option<Site>) -> Self {
        self.launched = site;
        self
    }

    /// The report with one more line.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The report as a JSON object, with its text under `text`.
    pub fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::json!(self);
        value["text"] = self.to_string().into();
        value
    }
}

impl std::error::Error for Report {}
