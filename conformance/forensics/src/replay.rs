//! Capsules run again, anywhere: one op on its own data, with the same checks as any case.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kernels::{DeviceError, Expected, Identity, Numerics, OpForm, Record, Support};

use crate::backends::{Guard, checks_itself};
use crate::capsule::{self, Capsule, CapsuleError, Origin, Stored};
use crate::outcome::{CaseResult, Outcome};
use crate::target::{RunError, Target};
use crate::trial::{Finder, Stop, Trial, answers};
use crate::worker::Worker;
use crate::{provenance, reduce, shrink, suite};

/// What stands before a file's path where the name of a case is expected.
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
    if capsules.is_empty() {
        trial.fail(Finder::Vacuous, "the file holds no op");
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
        name: format!("{PREFIX}{}", path.display()),
        outcome,
        worst: found.worst,
        compared: found.compared,
        micros: u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX),
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
            (Some(Stored::Values(value)), Expected::Within { bound, typical, .. }) => {
                Expected::Within { value: value.clone(), bound, typical }
            }
            (_, oracle) => oracle,
        }
    });
    let expected: Vec<_> = pairs.collect();
    trial.compare(&outputs, &expected, Finder::Oracle);
    Ok(())
}

/// What is to notice an access outside a buffer when a capsule of `origin` runs on `backend`: on the backend that it comes
/// from, what did so there. The software device does so by itself, and guard zones would take in what leaves a buffer
/// by little: the fault would become a wrong value.
pub fn guard(origin: Option<&Origin>, backend: &str) -> Guard {
    match origin {
        _ if checks_itself(backend) => Guard::Off,
        Some(Origin { guard: Some(guard), backend: own, .. }) if own == backend => *guard,
        _ => Guard::default(),
    }
}

/// The smallest capsule found that fails on the worker's backend as `capsule` does, or the first with at most `enough` bytes of
/// operands; `None` where that one does not fail. Candidates are written to `folder`.
pub fn shrink(
    capsule: &Capsule,
    enough: usize,
    worker: &mut Worker,
    folder: &Path,
) -> std::io::Result<Option<Capsule>> {
    let path = folder.join(format!("candidate.{}.capsule", std::process::id()));
    let name = format!("{PREFIX}{}", path.display());
    let mut trouble = None;
    let mut run = |record: &Record| -> std::io::Result<CaseResult> {
        let candidate =
            Capsule { record: record.clone(), expected: Vec::new(), observed: Vec::new(), ..capsule.clone() };
        let bytes = capsule::bytes(provenance::build(), &[candidate]).map_err(std::io::Error::other)?;
        std::fs::write(&path, bytes)?;
        worker.run(&name)
    };
    let wanted = shrink::finders(&run(&capsule.record)?);
    let record = (!wanted.is_empty()).then(|| {
        reduce::shrink(&capsule.record, enough, |record| match run(record) {
            Ok(result) => shrink::alike(&wanted, &result),
            Err(error) => {
                trouble.get_or_insert(error);
                false
            }
        })
    });
    // The last candidate is of no interest; a folder that keeps it does no harm.
    let _ = std::fs::remove_file(&path);
    match (trouble, record) {
        (Some(error), _) => Err(error),
        (None, None) => Ok(None),
        (None, Some(record)) => {
            let mut origin = capsule.origin.clone().unwrap_or_default();
            let before = origin.cut.map_or(String::new(), |cut| format!("{cut}; "));
            let (small, whole) = (reduce::size(&record), reduce::size(&capsule.record));
            origin.cut = Some(format!("{before}shrunk from {whole} to {small} bytes of operands"));
            let expected = right_answers(&record);
            Ok(Some(Capsule {
                record,
                expected,
                observed: Vec::new(),
                origin: Some(origin),
                ..capsule.clone()
            }))
        }
    }
}

/// The exact results of an op, as a capsule keeps them; none where it cannot be computed.
pub fn right_answers(record: &Record) -> Vec<(String, Stored)> {
    let names = record.operands().iter().filter(|o| o.role == kernels::Role::Output).map(|o| o.name.clone());
    let right =
        answers(record, &Numerics::F64).unwrap_or_default().into_iter().map(|expected| match expected {
            Expected::Within { value, .. } => Stored::Values(value),
            Expected::Bits(bytes) => Stored::Bits(bytes),
        });
    names.zip(right).collect()
}

/// A target that stores each op before it runs, so that the file is there whatever the op does.
pub struct Keeping {
    inner: Box<dyn Target>,
    backend: String,
    guard: Guard,
    folder: PathBuf,
    runs: Cell<usize>,
}

impl Keeping {
    /// Stores the ops of `inner`, called `backend` on the command line and guarded by `guard`, in `folder`.
    pub fn new(inner: Box<dyn Target>, backend: &str, guard: Guard, folder: PathBuf) -> Self {
        Keeping { inner, backend: backend.into(), guard, folder, runs: Cell::new(0) }
    }
}

impl std::fmt::Debug for Keeping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Keeping({}, {})", self.backend, self.folder.display())
    }
}

impl Target for Keeping {
    fn identity(&self) -> Identity {
        self.inner.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.inner.supports(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.inner.numerics(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        let run = self.runs.replace(self.runs.get() + 1);
        let origin = Origin {
            backend: self.backend.clone(),
            device: self.identity().device,
            build: provenance::build().into(),
            guard: Some(self.guard),
            ..Origin::default()
        };
        let case = Capsule {
            name: record.stem.name().into(),
            record: record.clone(),
            expected: right_answers(record),
            observed: Vec::new(),
            origin: Some(origin),
        };
        let path = self.folder.join(format!("{run:06}.capsule"));
        capsule::write(&path, provenance::build(), &[case]).map_err(|e| DeviceError::Lost(e.to_string()))?;
        self.inner.run(record)
    }
}
