//! What came of an iteration.

use std::collections::BTreeMap;

use d2h_audit::Linted;
use serde::{Deserialize, Serialize};

use super::variant::{Mode, Schedule};

/// A copy to the host.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct CopyMade {
    /// What was copied.
    pub tensor: String,
    /// The step of the generation.
    pub step: i64,
    /// The layer; `None` outside the layers.
    pub layer: Option<u64>,
    /// Bytes.
    pub bytes: u64,
}

/// What came of an iteration.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Iteration {
    /// The part of the matrix.
    pub mode: Mode,
    /// Its number in this part, from 0.
    pub number: usize,
    /// When queued work ran.
    pub schedule: Schedule,
    /// What went wrong.
    pub errors: Vec<String>,
    /// Copies in the log.
    pub logged: usize,
    /// Copies that had to be made.
    pub expected: usize,
    /// Time that it took.
    pub seconds: f64,
}

/// What is wrong with a log of the copies that had to be made.
pub fn compare(linted: &Linted, expected: &[CopyMade]) -> Vec<String> {
    let mut errors: Vec<String> = linted.findings.iter().map(|finding| format!("log: {finding}")).collect();
    let mut open: BTreeMap<CopyMade, isize> = BTreeMap::new();
    for copy in expected {
        *open.entry(copy.clone()).or_default() += 1;
    }
    for start in &linted.started {
        let (tensor, step, layer, bytes) = (start.tensor.clone(), start.step, start.layer, start.bytes);
        *open.entry(CopyMade { tensor, step, layer, bytes }).or_default() -= 1;
    }
    for (CopyMade { tensor, step, layer, bytes }, more) in open {
        let place =
            layer.map_or_else(|| format!("step {step}"), |layer| format!("step {step}, layer {layer}"));
        match more {
            0 => {}
            n if n > 0 => {
                errors.push(format!("log: {n} copies of {tensor} ({bytes} bytes, {place}) are missing"));
            }
            n => errors.push(format!(
                "log: {} copies of {tensor} ({bytes} bytes, {place}) that nobody asked for",
                -n
            )),
        }
    }
    errors
}
