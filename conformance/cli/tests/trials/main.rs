//! A slice of the suite as test trials: every pair of values of every op, and every golden file, on every backend of this machine.
//!
//! The names are those of `assay check`, so they are filters here too: `cargo test --test trials rope/cpu`.

mod golden;

use std::collections::HashMap;
use std::process::ExitCode;

use assay_cli::backends::{self, KNOWN, OpenError};
use conformance::far;
use conformance::guard::Guard;
use conformance::outcome::Outcome;
use conformance::suite::{self, Filter, Slice};
use conformance::trial::Failure;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let backends = KNOWN.iter().map(|backend| backend.name).chain(["soft-deferred", "soft-random"]);
    let trials = backends.flat_map(trials).chain(golden::forms()).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A GPU that is not there is ignored with the reason, and a failure where one is required.
fn trials(backend: &'static str) -> Vec<Trial> {
    match backends::open(backend, Guard::Canaries) {
        Err(OpenError::NoGpu { why }) => {
            let required = std::env::var("ASSAY_REQUIRE_HIP").is_ok_and(|value| value == "1");
            vec![Trial::test(format!("hip: {why}"), move || Err(why.into())).with_ignored_flag(!required)]
        }
        _ => slice(backend).into_iter().chain(far(backend)).chain(golden::trials(backend)).collect(),
    }
}

/// The smallest covering array of the cases: every two values of an op's fields that occur together.
fn slice(backend: &'static str) -> Vec<Trial> {
    let names = Slice::Least.of(suite::names(backend, &Filter::default()));
    let trial = |name: String| Trial::test(name.clone(), move || run(backend, Guard::Canaries, &name));
    names.into_iter().map(trial).collect()
}

/// Cases of each op with rows gigabytes apart, on the software device.
fn far(backend: &'static str) -> Vec<Trial> {
    if backend != "soft" {
        return Vec::new();
    }
    let mut of_op: HashMap<String, usize> = HashMap::new();
    let mut wanted = |name: &String| {
        let count = of_op.entry(name.split('/').next().unwrap_or_default().into()).or_default();
        let moves = *count < FAR && suite::record(name).is_ok_and(|record| far::moves(&record, 0));
        *count += usize::from(moves);
        moves
    };
    let names = Slice::Least.of(suite::names(backend, &Filter::default()));
    let trial = |name: String| Trial::test(format!("far/{name}"), move || run(backend, Guard::Far, &name));
    names.into_iter().filter(|name| wanted(name)).map(trial).collect()
}

/// Cases of an op with rows far apart.
const FAR: usize = 8;

fn run(backend: &str, guard: Guard, name: &str) -> Result<(), Failed> {
    let target = backends::open(backend, guard)?;
    let result = suite::run(name, target.as_ref(), suite::JUDGE)?;
    verdict(&result.outcome)
        .map_err(|what| format!("{what}\nrerun: {}", assay_cli::report::rerun(name)).into())
}

/// What a trial says of an outcome.
fn verdict(outcome: &Outcome) -> Result<(), String> {
    match outcome {
        Outcome::Passed => Ok(()),
        Outcome::Failed(failures) => Err(describe(failures)),
        other => Err(format!("neither passed nor failed: {other:?}")),
    }
}

fn describe(failures: &[Failure]) -> String {
    let found: Vec<_> = failures.iter().map(|f| format!("{}: {}", f.found_by, f.what)).collect();
    found.join("\n")
}
