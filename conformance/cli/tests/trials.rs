//! A slice of the suite as test trials: some cases of every op, format and kind, on every backend of this machine.
//!
//! The names are those of `assay check`, so they are filters here too: `cargo test --test trials rope/cpu`.

use std::collections::HashMap;
use std::process::ExitCode;

use assay_cli::backends::{self, KNOWN, OpenError};
use conformance::guard::Guard;
use conformance::outcome::Outcome;
use conformance::suite::{self, Filter};
use libtest_mimic::{Arguments, Failed, Trial};

/// Cases of one op, format and kind on one backend.
const PER_GROUP: usize = 6;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = KNOWN.iter().flat_map(|backend| trials(backend.name)).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A GPU that is not there is ignored with the reason, and a failure where one is required.
fn trials(backend: &'static str) -> Vec<Trial> {
    match backends::open(backend, Guard::Canaries) {
        Err(OpenError::NoGpu { why }) => {
            let required = std::env::var("ASSAY_REQUIRE_HIP").is_ok_and(|value| value == "1");
            vec![Trial::test(format!("hip: {why}"), move || Err(why.into())).with_ignored_flag(!required)]
        }
        _ => slice(backend),
    }
}

/// The same few cases of each op, format and kind, spread over all there are.
fn slice(backend: &'static str) -> Vec<Trial> {
    let names = suite::names(backend, &Filter::default());
    let mut groups: HashMap<String, Vec<String>> = HashMap::new();
    let mut order = Vec::new();
    for name in names {
        let group: String = name.split(',').next().unwrap_or_default().into();
        if !groups.contains_key(&group) {
            order.push(group.clone());
        }
        groups.entry(group).or_default().push(name);
    }
    let few = |group: &String| {
        let all = &groups[group];
        all.iter().step_by(all.len().div_ceil(PER_GROUP)).cloned().collect::<Vec<_>>()
    };
    let trial = |name: String| Trial::test(name.clone(), move || run(backend, &name));
    order.iter().flat_map(few).map(trial).collect()
}

fn run(backend: &str, name: &str) -> Result<(), Failed> {
    let target = backends::open(backend, Guard::Canaries)?;
    let result = suite::run(name, target.as_ref(), suite::JUDGE)?;
    match result.outcome {
        Outcome::Passed => Ok(()),
        Outcome::Failed(failures) => {
            let found: Vec<_> = failures.iter().map(|f| format!("{}: {}", f.found_by, f.what)).collect();
            Err(format!("{}\nrerun: {}", found.join("\n"), assay_cli::report::rerun(name)).into())
        }
        other => Err(format!("neither passed nor failed: {other:?}").into()),
    }
}
