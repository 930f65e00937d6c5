//! The suite on a backend of one's own, in this process: [`run`].
//!
//! ```no_run
//! # fn sketch(mine: impl kernels::Backend + 'static) -> Result<(), Box<dyn std::error::Error>> {
//! let target = conformance::guard::with_canaries(mine)?;
//! let report = conformance::run(target.as_ref(), &conformance::Options::default())?;
//! print!("{report}");
//! assert!(report.conforms());
//! # Ok(())
//! # }
//! ```
//!
//! A panic costs one case. A crash or a hang costs the process: the command `assay` runs cases in processes of their own.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use kernels::Stem;

use crate::control;
use crate::name::CaseName;
use crate::outcome::{CaseResult, Outcome, Totals};
use crate::random::RandomCases;
use crate::shrink;
use crate::suite::{self, Filter, Shard, Slice};
use crate::taken::Taken;
use crate::target::Target;
use crate::trial::{Failure, Finder};

/// Failing cases that a report made smaller, for each op.
const SHRUNK: usize = 1;

/// What runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Options {
    /// Words that the names of cases must contain.
    pub filter: Filter,
    /// How many of the cases.
    pub slice: Slice,
    /// Which part of them.
    pub shard: Shard,
    /// Random cases on top.
    pub random: usize,
    /// Their seed.
    pub seed: u64,
}

impl Default for Options {
    /// The slice that `assay check` runs: a verdict in a minute.
    fn default() -> Self {
        let filter = Filter::default();
        Options { filter, slice: Slice::Quick, shard: Shard::WHOLE, random: 0, seed: 1 }
    }
}

/// Why there is no report: nothing would be known from it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NothingRan {
    /// The suite itself is broken.
    #[error("the suite's own controls fail: {}", .0.join("; "))]
    Controls(Vec<&'static str>),
    /// No case has such a name.
    #[error("no case is chosen")]
    NoCase,
    /// The backend implements none of the cases.
    #[error("the backend implements none of the {cases} cases: {why}")]
    NothingImplemented {
        /// Cases that were chosen.
        cases: usize,
        /// The backend's reason for the first.
        why: String,
    },
}

/// What became of the cases.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// Every case.
    pub results: Vec<CaseResult>,
    /// Failing cases made smaller: original name, and the smaller case.
    pub shrunk: Vec<(String, CaseResult)>,
}

/// Runs the suite on `target`; cases are named after its identity.
pub fn run(target: &dyn Target, options: &Options) -> Result<Report, NothingRan> {
    let violated = control::violated(&control::REAL);
    if !violated.is_empty() {
        return Err(NothingRan::Controls(violated));
    }
    let backend = target.identity().name;
    let taken = Taken::by(target);
    let mut names = taken.pose_all(suite::names(backend, &options.filter));
    let known: HashSet<String> = names.iter().cloned().collect();
    let around = suite::names_around_breakpoints(backend, target, &options.filter);
    names.extend(around.into_iter().filter(|name| !known.contains(name)));
    let names = options.shard.of(options.slice.of(names));
    let mut results: Vec<CaseResult> = names.iter().map(|name| case(name, target)).collect();
    let seed = options.shard.seed(options.seed);
    let mut stream = RandomCases::new(backend, options.filter.clone(), seed);
    for _ in 0..options.shard.share(options.random) {
        // Cases of this process have no error of their own.
        let Ok(Some(result)) = stream.next(|name| Ok(case(&taken.pose(name), target))) else { break };
        results.push(result);
    }
    if results.is_empty() {
        return Err(NothingRan::NoCase);
    }
    if !results.iter().any(reached) {
        let why = results.iter().find_map(|result| match &result.outcome {
            Outcome::Unsupported(why) => Some(why.clone()),
            _ => None,
        });
        let why = why.unwrap_or_else(|| "validation refused them all".into());
        return Err(NothingRan::NothingImplemented { cases: results.len(), why });
    }
    let shrunk = shrunk(&results, target);
    Ok(Report { results, shrunk })
}

/// Whether a case got as far as a result or a failure: what validation refuses, no backend sees.
pub fn reached(result: &CaseResult) -> bool {
    match result.outcome {
        Outcome::Passed => result.compared > 0,
        Outcome::Failed(_) | Outcome::ExpectedFailure(_) => true,
        Outcome::Unsupported(_) | Outcome::Ignored(_) => false,
    }
}

/// Runs the case called `name` in this process. A panic is the case's result.
pub fn case(name: &str, target: &dyn Target) -> CaseResult {
    match catch_unwind(AssertUnwindSafe(|| suite::run(name, target, suite::JUDGE))) {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => lost(name, Finder::Refusal, error.to_string()),
        Err(_) => lost(name, Finder::Crash, "the case panicked".into()),
    }
}

/// A case that has no result but what went wrong.
pub fn lost(name: &str, found_by: Finder, what: String) -> CaseResult {
    let outcome = Outcome::Failed(vec![Failure { found_by, what }]);
    CaseResult { name: name.into(), outcome, worst: None, compared: 0, micros: 0, fidelity: None }
}

/// Makes the first failing cases of each op smaller.
fn shrunk(results: &[CaseResult], target: &dyn Target) -> Vec<(String, CaseResult)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = Vec::new();
    for result in results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_))) {
        let count = counts.entry(result.name.split('/').next().unwrap_or_default()).or_default();
        *count += 1;
        if *count <= SHRUNK {
            let small: io::Result<CaseResult> = shrink::named(result.clone(), |name| Ok(case(name, target)));
            all.extend(small.map(|small| (result.name.clone(), small)));
        }
    }
    all
}

impl Report {
    /// How many cases became what.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.results.iter().for_each(|result| totals.count(&result.outcome));
        totals
    }

    /// Whether nothing failed, and something passed.
    pub fn conforms(&self) -> bool {
        self.totals().conform()
    }
}

impl fmt::Display for Report {
    /// A line for each op, then what failed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ops: BTreeMap<Stem, Totals> = BTreeMap::new();
        for result in &self.results {
            if let Ok((name, _)) = CaseName::parse(&result.name) {
                ops.entry(name.stem).or_default().count(&result.outcome);
            }
        }
        for (stem, totals) in ops {
            let Totals { passed, failed, unsupported, .. } = totals;
            writeln!(f, "{stem:<12} {passed:>6} passed {failed:>6} failed {unsupported:>6} unsupported")?;
        }
        for (original, small) in &self.shrunk {
            writeln!(f, "\nFAILED {original}\n  smallest: {}", small.name)?;
            let Outcome::Failed(failures) = &small.outcome else { continue };
            failures.iter().try_for_each(|found| writeln!(f, "  {}: {}", found.found_by, found.what))?;
        }
        Ok(())
    }
}
