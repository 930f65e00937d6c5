//! One verdict on foreign kernels of an op, with its evidence: for kernels that a machine wrote, and may have learnt to please tests.
//!
//! * [`probes`]: ops run in ways that honest kernels do not notice: over the results of other data, in the buffers of an earlier run.
//! * [`sweep`]: the suite's cases, the same on other data, and cases of fresh sizes.
//! * [`declared`]: what the kernels declare against what is measured.
//! * [`listing`]: what the machine code says by itself.
//! * [`examined`]: what a plug-in is asked in a process of its own.
//! * [`cost`]: bytes moved against the fewest possible and against our own kernels.

pub mod cost;
pub mod declared;
pub mod examined;
pub mod listing;
pub mod probes;
pub mod sweep;

use std::collections::BTreeMap;

use conformance::outcome::{CaseResult, Outcome, Totals};
use conformance::suite;
use conformance::trial::Finder;
use kernels::Stem;
use serde::Serialize;
use serde_json::{Value as Json, json};

pub use cost::Cost;
pub use declared::Declaration;
pub use probes::Trick;
pub use sweep::Swept;

/// The verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// Everything that was asked holds.
    Conforms,
    /// Results are wrong.
    Wrong,
    /// A kernel touches memory that is not its own, or never ends.
    Unsafe,
    /// Results are right only where somebody looks, or a declaration is false.
    Cheats,
    /// No form of the op is one that the kernels take.
    Unsupported,
}

/// Everything that was found out.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The op.
    pub stem: Stem,
    /// Seed of fresh sizes and data.
    pub seed: u64,
    /// The sweeps.
    pub swept: Swept,
    /// Tricks that probes found.
    pub tricks: Vec<Trick>,
    /// Declarations and measurements.
    pub declaration: Declaration,
    /// Costs at the sizes of models; nothing where they cannot be counted.
    pub costs: Vec<Cost>,
    /// Why costs are missing.
    pub costs_missing: Option<String>,
    /// How the process died in which the kernels were examined.
    pub died: Option<String>,
}

/// A verdict and what it rests on.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// In a word.
    pub ruling: Ruling,
    /// In sentences.
    pub because: Vec<String>,
    /// What it rests on.
    pub evidence: Evidence,
}

/// Findings of the oracle.
const VALUES: [Finder; 4] = [Finder::Oracle, Finder::Exact, Finder::Rms, Finder::Bias];

/// Findings of the device and its guards: accesses outside memory, hangs, crashes.
const UNSAFE: [Finder; 4] = [Finder::Device, Finder::Guard, Finder::Crash, Finder::Hang];

impl Verdict {
    /// What follows from the evidence. What is unsafe is said first; a trick explains wrong results, and comes before them.
    pub fn of(evidence: Evidence) -> Self {
        let failed: Vec<&CaseResult> = evidence.swept.failed().collect();
        let harmful = failed.iter().filter(|result| found(result).any(|finder| UNSAFE.contains(&finder)));
        let harmful = harmful.min_by_key(|result| (suite::extent(&result.name), result.name.len()));
        let mut tricks = evidence.tricks.clone();
        tricks.extend(evidence.swept.tricks());
        // Where values are wrong, rows differ alone and together for that reason.
        let wrong = failed.iter().any(|result| found(result).any(|finder| VALUES.contains(&finder)));
        let contradictions = evidence.declaration.contradictions().into_iter();
        tricks.extend(contradictions.filter(|trick| !(wrong && trick.name == "not_batch_invariant")));
        let (ruling, because) = if evidence.swept.ran() == 0 {
            (Ruling::Unsupported, evidence.swept.reasons())
        } else if let Some(worst) = harmful {
            (Ruling::Unsafe, vec![first_words(worst)])
        } else if let Some(how) = &evidence.died {
            (Ruling::Unsafe, vec![format!("while it was examined, {how}")])
        } else if !tricks.is_empty() {
            (Ruling::Cheats, tricks.iter().map(|trick| trick.what.clone()).collect())
        } else if failed.is_empty() {
            (Ruling::Conforms, Vec::new())
        } else {
            (Ruling::Wrong, evidence.swept.how())
        };
        let evidence = Evidence { tricks, ..evidence };
        Verdict { ruling, because, evidence }
    }

    /// The verdict as JSON.
    pub fn json(&self) -> Json {
        let Evidence { stem, seed, swept, tricks, declaration, costs, costs_missing, .. } = &self.evidence;
        json!({
            "op": stem.name(),
            "verdict": self.ruling,
            "because": self.because,
            "tricks": tricks,
            "declared": declaration.json(),
            "deterministic": declaration.deterministic,
            "batch_invariant": declaration.batch_invariant,
            "seed": seed,
            "cases": {
                "suite": counted(&swept.suite),
                "other_data": counted(&swept.other_data),
                "fresh_sizes": counted(&swept.fresh),
            },
            "failures": failures(swept),
            "cost": costs,
            "cost_missing": costs_missing,
        })
    }
}

/// What found something wrong in a case.
fn found(result: &CaseResult) -> impl Iterator<Item = Finder> + '_ {
    let failures = match &result.outcome {
        Outcome::Failed(failures) => failures.as_slice(),
        _ => &[],
    };
    failures.iter().map(|failure| failure.found_by)
}

/// A failing case in a sentence.
fn first_words(result: &CaseResult) -> String {
    match &result.outcome {
        Outcome::Failed(failures) => {
            let first = failures.first().map(|f| format!("{}: {}", f.found_by, f.what));
            format!("{}: {}", result.name, first.unwrap_or_default())
        }
        _ => result.name.clone(),
    }
}

fn counted(results: &[CaseResult]) -> Json {
    let mut totals = Totals::default();
    results.iter().for_each(|result| totals.count(&result.outcome));
    json!({ "passed": totals.passed, "failed": totals.failed, "unsupported": totals.unsupported })
}

/// The smallest failing case of each finder, and how many it has.
fn failures(swept: &Swept) -> Json {
    let mut groups: BTreeMap<String, (usize, &CaseResult)> = BTreeMap::new();
    for result in swept.failed() {
        for finder in found(result) {
            let (count, smallest) = groups.entry(finder.to_string()).or_insert((0, result));
            *count += 1;
            if result.name.len() < smallest.name.len() {
                *smallest = result;
            }
        }
    }
    let group = |(finder, (count, smallest)): (String, (usize, &CaseResult))| json!({ "found_by": finder, "cases": count, "example": first_words(smallest) });
    groups.into_iter().map(group).collect()
}
