//! What became of a sweep: counted, as a table, as JSON, as `JUnit` XML, as a page.

mod device_code;
pub mod diff;
pub mod fault;
pub mod html;
mod json;
mod junit;
mod table;

use std::collections::BTreeMap;

use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome, Totals};
use forensics::replay::PREFIX;
use kernels::{DType, Identity, Stem};

pub use device_code::{DeviceCode, device_code};
pub use json::json;
pub use junit::junit;
pub use table::table;

/// A group of cases: one op on one backend in one format.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Group {
    /// What became of its cases.
    pub totals: Totals,
    /// Largest share of the error budget that a case used.
    pub share: f64,
    /// Time of all its cases, in microseconds.
    pub micros: u64,
}

/// A sweep, finished or not.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// The backends, with the devices they ran on.
    pub backends: Vec<Identity>,
    /// Seed of the random cases.
    pub seed: u64,
    /// Every case with its outcome, in order.
    pub results: Vec<CaseResult>,
    /// Failing cases made smaller: original name, and the smaller case.
    pub shrunk: Vec<(String, CaseResult)>,
    /// Cases that were left out because only a slice of the suite ran.
    pub left_out: usize,
    /// Time of the whole sweep, in seconds.
    pub seconds: f64,
    /// What was to run and did not, a sentence each: backends that cannot be had, cases after an interrupt.
    pub not_run: Vec<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// The device code that ran, by backend.
    pub device_code: Vec<DeviceCode>,
}

impl Sweep {
    /// How many cases became what.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.results.iter().for_each(|result| totals.count(&result.outcome));
        totals
    }

    /// The failed cases.
    pub fn failures(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_)))
    }

    /// Cases by op, backend and format.
    pub fn groups(&self) -> BTreeMap<(Stem, String, DType), Group> {
        let mut groups: BTreeMap<_, Group> = BTreeMap::new();
        for result in &self.results {
            let Ok((name, backend)) = CaseName::parse(&result.name) else { continue };
            let group = groups.entry((name.stem, backend, name.format)).or_default();
            group.totals.count(&result.outcome);
            group.micros += result.micros;
            if let Some(worst) = &result.worst {
                group.share = group.share.max(worst.share);
            }
        }
        groups
    }

    /// The smaller case that `name` was shrunk to.
    pub fn smaller(&self, name: &str) -> Option<&CaseResult> {
        self.shrunk.iter().find(|(original, _)| original == name).map(|(_, small)| small)
    }
}

/// The command that runs a case again.
pub fn rerun(name: &str) -> String {
    if let Some(path) = name.strip_prefix(PREFIX) {
        return format!("cargo run --release -- replay '{path}'");
    }
    format!("cargo run --release -- check '{name}'")
}
