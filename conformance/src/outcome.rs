//! What became of a case.

use kernels::Worst;
use serde::{Deserialize, Serialize};

use crate::trial::Failure;

/// What became of a case.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "detail")]
pub enum Outcome {
    /// Everything that it demands holds.
    Passed,
    /// Something does not.
    Failed(Vec<Failure>),
    /// The backend does not implement the op; its reason. No pass.
    Unsupported(String),
    /// Not run, for a reason. No pass.
    Ignored(String),
    /// Failed as `expectations.toml` says it does, for the reason given there.
    ExpectedFailure(String),
}

/// A case with its outcome.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CaseResult {
    /// Full name, which is also the filter that runs it again.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The element that used most of its bound.
    pub worst: Option<Worst>,
    /// Elements compared with the oracle.
    pub compared: usize,
    /// Time, in microseconds.
    pub micros: u64,
}
