//! Every backend against results that other people's code computed.
//!
//! Every op has a folder `golden/<op>/` with capsules made by numpy or the Python package `gguf`; each names its generator.

use std::path::PathBuf;

use assay_cli::backends;
use conformance::guard::Guard;
use conformance::oracle;
use conformance::suite::JUDGE;
use conformance::trial::{self, Finder, Stop};
use forensics::capsule::{self, Capsule, Stored};
use kernels::{DType, Expected, Layout, Stem};
use libtest_mimic::{Failed, Trial};

/// A trial for each op: `golden/<backend>/<op>`.
pub fn trials(backend: &'static str) -> Vec<Trial> {
    let trial = |stem: &Stem| {
        let stem = *stem;
        Trial::test(format!("golden/{backend}/{stem}"), move || check_all(backend, stem))
    };
    Stem::ALL.iter().map(trial).collect()
}

/// A trial for each op: `golden/forms/<op>`.
pub fn forms() -> Vec<Trial> {
    let trial = |&stem: &Stem| Trial::test(format!("golden/forms/{stem}"), move || check_forms(stem));
    Stem::ALL.iter().map(trial).collect()
}

fn files(stem: Stem) -> Result<Vec<PathBuf>, Failed> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(stem.name());
    let entries = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "safetensors"));
    files.sort();
    if files.is_empty() {
        return Err(format!("{} has no capsule", folder.display()).into());
    }
    Ok(files)
}

fn check_all(backend: &str, stem: Stem) -> Result<(), Failed> {
    for file in files(stem)? {
        let cases = capsule::read(&file)?;
        if cases.is_empty() {
            return Err(format!("{} is empty", file.display()).into());
        }
        for case in cases {
            check(backend, &case).map_err(|what| format!("{}, {}: {what}", file.display(), case.name))?;
        }
    }
    Ok(())
}

/// Floats in every type, and transposed operands in every one where they may be so, are among the capsules of an op.
fn check_forms(stem: Stem) -> Result<(), Failed> {
    let mut cases = Vec::new();
    for file in files(stem)? {
        cases.extend(capsule::read(&file)?);
    }
    let facts = stem.facts();
    let any = |operand: &str, is: &dyn Fn(&Layout) -> bool| {
        cases.iter().any(|case| case.record.find(operand).is_some_and(|o| is(&o.layout)))
    };
    for &operand in facts.floats {
        for dtype in DType::FLOATS {
            if !any(operand, &|layout| layout.dtype() == dtype) {
                return Err(format!("no capsule of {stem} has '{operand}' in {dtype}").into());
            }
        }
    }
    for &operand in facts.transposable {
        for dtype in DType::FLOATS {
            if !any(operand, &|layout| layout.dtype() == dtype && layout.is_transposed()) {
                return Err(format!("no capsule of {stem} has '{operand}' transposed in {dtype}").into());
            }
        }
    }
    Ok(())
}

/// Runs a case with the checks of every trial, and compares each output with the stored result and with the oracle's.
fn check(backend: &str, case: &Capsule) -> Result<(), String> {
    let target = backends::open(backend, Guard::Canaries).map_err(|e| e.to_string())?;
    let mut trial = trial::Trial::new(target.as_ref(), JUDGE);
    match run(&mut trial, case) {
        Ok(()) | Err(Stop::Failed) => {}
        Err(Stop::Unsupported(why)) => return Err(format!("unsupported: {why}")),
    }
    let found = trial.found();
    if found.failures.is_empty() { Ok(()) } else { Err(super::describe(&found.failures)) }
}

fn run(trial: &mut trial::Trial<'_>, case: &Capsule) -> Result<(), Stop> {
    let outputs = trial.conform(&case.record)?;
    let numerics = trial.numerics(&case.record);
    let right = oracle::answers(&case.record, &numerics).unwrap_or_default();
    if case.expected.len() != outputs.len() || right.len() != outputs.len() {
        trial.fail(Finder::Oracle, "not every output has a stored result");
        return Err(Stop::Failed);
    }
    let stored = outputs.iter().zip(right).map(|((name, ..), oracle)| {
        let stored = case.expected.iter().find(|(of, _)| of == name).map(|(_, stored)| stored.clone());
        match (stored, oracle) {
            (Some(Stored::Bits(bytes)), _) => Some(Expected::Bits(bytes)),
            (Some(Stored::Values(value)), Expected::Within { bound, typical, spread, .. }) => {
                Some(Expected::Within { value, bound, typical, spread })
            }
            _ => None,
        }
    });
    match stored.collect::<Option<Vec<_>>>() {
        Some(expected) => trial.compare(&outputs, &expected, Finder::Oracle),
        None => trial.fail(Finder::Oracle, "a stored result is of another kind than the op's"),
    }
    Ok(())
}
