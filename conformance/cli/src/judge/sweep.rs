//! The cases that a verdict rests on: those of the suite, the same on other data, and cases of sizes that nobody knows beforehand.

use std::collections::BTreeSet;
use std::io;

use conformance::outcome::{CaseResult, Outcome};
use conformance::random::RandomCases;
use conformance::suite::{self, Filter, Slice};
use conformance::taken::Taken;
use conformance::trial::Finder;
use kernels::{SplitMix64, Stem};
use serde::{Deserialize, Serialize};

use super::{Trick, found};
use crate::sweep;
use crate::worker::{Recipe, Worker};

/// Cases of fresh sizes.
const FRESH: usize = 48;

/// What became of the cases.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Swept {
    /// Those of the suite.
    pub suite: Vec<CaseResult>,
    /// The same sizes with other data.
    pub other_data: Vec<CaseResult>,
    /// Fresh sizes and data.
    pub fresh: Vec<CaseResult>,
}

/// Runs the cases of `stem` on the backend called `backend`, in types that it takes.
pub fn sweep(
    stem: Stem,
    backend: &str,
    taken: &Taken,
    recipe: &Recipe,
    jobs: usize,
    seed: u64,
) -> io::Result<Swept> {
    let of_stem = |name: &String| name.starts_with(&format!("{stem}/"));
    let mut names = suite::names(backend, &Filter::new(&format!("{stem}/")));
    names.retain(of_stem);
    let names = Slice::Quick.of(taken.pose_all(names));
    let mut random = SplitMix64::new(seed);
    let other: Vec<String> = names
        .iter()
        .filter(|name| name.contains(",seed=") && name.contains("/bounded,"))
        .map(|name| reseeded(name, random.next_u64() >> 1))
        .collect();
    let run = |names: &[String]| sweep::sweep(names, jobs, recipe, || false, |_| ());
    let suite = run(&names)?;
    let other_data = run(&other)?;
    let mut worker = Worker::new(recipe.clone());
    let mut stream = RandomCases::new(backend, Filter::default(), seed).of(&[stem]);
    let mut fresh = Vec::new();
    for _ in 0..FRESH {
        fresh.extend(stream.next(|name| worker.run(&taken.pose(name)))?);
    }
    Ok(Swept { suite, other_data, fresh })
}

/// The same case with other data.
pub(super) fn reseeded(name: &str, seed: u64) -> String {
    let field = |field: &str| {
        if field.starts_with("seed=") { format!("seed={seed}") } else { field.to_owned() }
    };
    name.split(',').map(field).collect::<Vec<_>>().join(",")
}

impl Swept {
    fn all(&self) -> impl Iterator<Item = &CaseResult> {
        self.suite.iter().chain(&self.other_data).chain(&self.fresh)
    }

    /// The failed cases.
    pub fn failed(&self) -> impl Iterator<Item = &CaseResult> {
        self.all().filter(|result| matches!(result.outcome, Outcome::Failed(_)))
    }

    /// How many cases ran.
    pub fn ran(&self) -> usize {
        self.all().filter(|result| matches!(result.outcome, Outcome::Passed | Outcome::Failed(_))).count()
    }

    /// Why cases did not run, each reason once.
    pub fn reasons(&self) -> Vec<String> {
        let reason = |result: &CaseResult| match &result.outcome {
            Outcome::Unsupported(reason) => Some(reason.clone()),
            _ => None,
        };
        let all: BTreeSet<String> = self.all().filter_map(reason).collect();
        all.into_iter().take(8).collect()
    }

    /// Tricks that only a comparison of the sweeps shows, and changed inputs.
    pub fn tricks(&self) -> Vec<Trick> {
        let failed = |results: &[CaseResult]| {
            results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_))).count()
        };
        let mut tricks = Vec::new();
        if let Some(case) = self.failed().find(|result| found(result).any(|f| f == Finder::Inputs)) {
            let what = format!("it changes its inputs: {}", super::first_words(case));
            tricks.push(Trick { name: "inputs_changed".into(), what });
        }
        let [suite, data, fresh] = [&self.suite, &self.other_data, &self.fresh].map(|r| failed(r));
        if suite == 0 && data > 0 {
            let what = format!(
                "it knows the data of the tests: every case of the suite passes, and {data} of {} fail with other data",
                self.other_data.len()
            );
            tricks.push(Trick { name: "known_data".into(), what });
        } else if suite == 0 && fresh > 0 {
            let what = format!(
                "it knows the sizes of the tests: every case of the suite passes, and {fresh} of {} of fresh sizes fail",
                self.fresh.len()
            );
            tricks.push(Trick { name: "known_sizes".into(), what });
        }
        tricks
    }

    /// In which way results are wrong, in sentences.
    pub fn how(&self) -> Vec<String> {
        let (strided, dense): (Vec<_>, Vec<_>) = self
            .all()
            .filter(|result| matches!(result.outcome, Outcome::Failed(_) | Outcome::Passed))
            .partition(|result| result.name.contains("packing=padded"));
        let failed = |results: &[&CaseResult]| {
            results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_))).count()
        };
        let mut how = Vec::new();
        if failed(&dense) == 0 && failed(&strided) > 0 {
            how.push(format!(
                "it is right only on contiguous tensors: {} of {} cases with rows apart fail, none of {} others; say so under supports",
                failed(&strided),
                strided.len(),
                dense.len()
            ));
        }
        let smallest = self.failed().min_by_key(|result| (suite::extent(&result.name), result.name.len()));
        how.extend(smallest.map(super::first_words));
        how
    }
}
