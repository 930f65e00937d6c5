//! What became of a case.

use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::time::Instant;

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

/// How far the results of a software device can be trusted: wave instructions by what stands behind them.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Fidelity {
    /// Exact by integer arithmetic or IEEE 754.
    pub exact: u64,
    /// Rounded as a published model of the hardware says: matrix and dot products of floats.
    pub modelled: u64,
    /// Within about one unit in the last place of the hardware: transcendental functions, reciprocals, roots.
    pub approximate: u64,
    /// Operations of the kernels that ran which have no test of their own.
    pub untested: BTreeSet<String>,
}

impl AddAssign<&Self> for Fidelity {
    fn add_assign(&mut self, other: &Self) {
        self.exact += other.exact;
        self.modelled += other.modelled;
        self.approximate += other.approximate;
        self.untested.extend(other.untested.iter().cloned());
    }
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
    /// What stands behind the result, on a software device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Fidelity>,
}

/// Whole microseconds since `begin`.
pub fn micros_since(begin: Instant) -> u64 {
    let time = begin.elapsed();
    time.as_secs() * 1_000_000 + u64::from(time.subsec_micros())
}

/// How many cases became what.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Totals {
    /// Everything that the case demands holds.
    pub passed: usize,
    /// Something does not.
    pub failed: usize,
    /// The backend does not implement the op.
    pub unsupported: usize,
    /// Not run, for a stated reason.
    pub ignored: usize,
    /// Failed as expected.
    pub expected_failures: usize,
}

impl Totals {
    /// Counts a case.
    pub fn count(&mut self, outcome: &Outcome) {
        *match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed(_) => &mut self.failed,
            Outcome::Unsupported(_) => &mut self.unsupported,
            Outcome::Ignored(_) => &mut self.ignored,
            Outcome::ExpectedFailure(_) => &mut self.expected_failures,
        } += 1;
    }

    /// Whether a sweep with these totals conforms: nothing failed, and something passed. Unsupported and ignored are no pass.
    pub const fn conform(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }

    /// Cases in all.
    pub const fn all(&self) -> usize {
        self.passed + self.failed + self.unsupported + self.ignored + self.expected_failures
    }
}
