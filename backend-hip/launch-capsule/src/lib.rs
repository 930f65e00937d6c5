//! Launch capsules: one launch of a HIP program in a file, which runs again on the software device without the program.
//!
//! A file is a safetensors file, so that anyone can open it. Its metadata has `assay.launch` (the version of this format), `generator`
//! (what made it) and `launch`, a JSON object: kernel, grid, block, LDS, arguments, buffers, and the report that the launch led to.
//! The tensor `code_object` is the ELF file, `arguments` the bytes of the arguments, and `buffer.N` the bytes of buffer `N` that
//! something had written, one piece after the other as `pieces` lists them.
//!
//! * [`file`](mod@file): reading and writing. A file may come from anywhere: sizes are checked before anything is allocated.
//! * [`need`]: how large a buffer would have to be.
//! * [`replay`]: the launch again, under all checks.
//! * [`reduce`]: a capsule cut to what the launch touches, and shrunk as long as it fails in the same way.
#![forbid(unsafe_code)]

pub mod file;
pub mod need;
pub mod reduce;
pub mod replay;

use serde::{Deserialize, Serialize};
use softhip::control::LaunchRecord;
use softhip::report::Report;

/// A launch and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchCapsule {
    /// The launch.
    pub record: LaunchRecord,
    /// What came of it in its program.
    pub found: Found,
}

/// What came of a launch in its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// On the software device: this report.
    Report(Box<Report>),
    /// On a GPU: the name of an error.
    Answer(String),
}
