//! Capsules run again, anywhere: one op on its own data, with the same checks as any case.
//!
//! [`save()`] finds the op of a failing case that fails by itself; [`shrink()`] makes a failing capsule smaller. Both run many
//! candidates, each in a process of its own, which the caller provides as a function from the name of a case to its result.

mod request;
mod save;
mod shrink;

use std::path::Path;
use std::time::Instant;

use conformance::guard::Guard;
use conformance::oracle::answers;
use conformance::outcome::{CaseResult, Outcome, micros_since};
use conformance::suite;
use conformance::target::Target;
use conformance::trial::{Finder, Stop, Trial};
use kernels::Expected;

use crate::capsule::{self, Capsule, CapsuleError, Origin, Stored};

pub use request::{path_of, request};
pub use save::save;
pub use shrink::shrink;

/// What stands before a file's path where the name of a case is expected; see [`request()`].
pub const PREFIX: &str = "capsule:";

/// Runs every op of the capsule at `path` on `target`. Each must conform to the oracle and to the results that the file holds.
pub fn replay(path: &Path, target: &dyn Target) -> Result<CaseResult, CapsuleError> {
    let capsules = capsule::read(path)?;
    let begin = Instant::now();
    let mut trial = Trial::new(target, suite::JUDGE);
    let mut unsupported = None;
    for case in &capsules {
        match conform(&mut trial, case) {
            Err(Stop::Unsupported(reason)) => unsupported = Some(reason),
            Ok(()) | Err(Stop::Failed) => {}
        }
    }
    let mut found = trial.found();
    // The oracle and the stored result say the same of an output, as a rule.
    found.failures.dedup();
    let outcome = match unsupported {
        _ if !found.failures.is_empty() => Outcome::Failed(found.failures),
        Some(reason) => Outcome::Unsupported(reason),
        None => Outcome::Passed,
    };
    Ok(CaseResult {
        name: request(path),
        outcome,
        worst: found.worst,
        compared: found.compared,
        micros: micros_since(begin),
        fidelity: None,
    })
}

fn conform(trial: &mut Trial<'_>, case: &Capsule) -> Result<(), Stop> {
    let outputs = trial.conform(&case.record)?;
    if case.expected.is_empty() {
        return Ok(());
    }
    // Conforming has asked the same oracle, so that it answers here as well.
    let oracle = answers(&case.record, &trial.numerics(&case.record)).unwrap_or_default();
    let pairs = outputs.iter().zip(oracle).map(|((name, ..), oracle)| {
        let stored = case.expected.iter().find(|(output, _)| output == name).map(|(_, stored)| stored);
        match (stored, oracle) {
            (Some(Stored::Bits(bytes)), _) => Expected::Bits(bytes.clone()),
            (Some(Stored::Values(value)), Expected::Within { bound, typical, spread, .. }) => {
                Expected::Within { value: value.clone(), bound, typical, spread }
            }
            (_, oracle) => oracle,
        }
    });
    let expected: Vec<_> = pairs.collect();
    trial.compare(&outputs, &expected, Finder::Oracle);
    Ok(())
}

/// The guard for a capsule of `origin` on `backend`: on the backend that it comes from, the one that stood there. A device
/// that `checks_itself` has none, since guard zones would take in what leaves a buffer by little, and the fault would become a
/// wrong value.
pub fn guard(origin: Option<&Origin>, backend: &str, checks_itself: bool) -> Guard {
    match origin {
        _ if checks_itself => Guard::Off,
        Some(Origin { guard: Some(guard), backend: own, .. }) if own == backend => *guard,
        _ => Guard::default(),
    }
}
