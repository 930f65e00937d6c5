//! The launch again, under all checks.

use softhip::control::{LaunchRecord, Options, ReplayError, SoftDevice};
use softhip::memory::{FaultKind, Footprint};
use softhip::report::{LdsProblem, Problem, Report};
use softhip::sched::Limits;

/// What came of a replay.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// What was found; empty if the launch ran to its end.
    pub reports: Vec<Report>,
    /// What the launch touched.
    pub touched: Footprint,
}

/// Wave instructions after which a replayed launch counts as endless: minutes, not hours.
const BUDGET: u64 = 2_000_000_000;

/// Runs a launch on a device of its own.
pub fn run(record: &LaunchRecord) -> Result<Replayed, ReplayError> {
    let limits = Limits { budget: BUDGET, ..Limits::default() };
    let device = SoftDevice::new(Options { limits, ..Options::default() });
    device.replay(record)?;
    Ok(Replayed { reports: device.take_reports(), touched: device.memory().latest_footprint() })
}

/// What two reports of one failure have in common: what is wrong, at which instruction, and with which buffer.
pub fn same_way(a: &Report, b: &Report) -> bool {
    let place = |report: &Report| report.at.as_ref().map(|at| at.offset);
    kind(&a.problem) == kind(&b.problem) && place(a) == place(b) && buffer(&a.problem) == buffer(&b.problem)
}

/// The kind of a problem, without its numbers.
fn kind(
    problem: &Problem,
) -> (
    std::mem::Discriminant<Problem>,
    Option<std::mem::Discriminant<FaultKind>>,
    Option<std::mem::Discriminant<LdsProblem>>,
) {
    let fault = match problem {
        Problem::Access { fault, .. } => Some(std::mem::discriminant(&fault.kind)),
        _ => None,
    };
    let lds = match problem {
        Problem::Lds { fault } => Some(std::mem::discriminant(&fault.problem)),
        _ => None,
    };
    (std::mem::discriminant(problem), fault, lds)
}

/// Address of the buffer that a problem is about.
pub(crate) fn buffer(problem: &Problem) -> Option<u64> {
    let Problem::Access { fault, .. } = problem else { return None };
    fault.nearest.as_ref().map(|nearest| nearest.base)
}
