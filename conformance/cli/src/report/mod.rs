//! What became of a sweep: counted, as a table, as JSON, as `JUnit` XML, as a page.

pub mod audit;
mod budget;
pub mod coverage;
mod device_code;
pub mod diff;
mod failure_group;
pub mod fault;
mod fidelity;
pub mod gate;
pub mod html;
mod json;
mod junit;
pub mod machine;
pub mod merge;
mod part;
pub mod place;
pub mod plan;
mod provenance;
pub mod sanitize;
mod table;
pub mod triage;
pub mod unreached;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write};

use conformance::declaration::Contradiction;
use conformance::floats;
use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome, Totals};
use conformance::own::reached;
use conformance::suite::Shard;
use forensics::replay;
use kernels::{DType, DeviceKind, Identity, Stem};
use serde::{Deserialize, Serialize};

use crate::backends::PLUGIN;

pub use budget::Budget;
pub use device_code::{DeviceCode, device_code};
pub use failure_group::{FailureGroup, failure_groups};
pub use fidelity::fidelity;
pub use json::json;
pub use junit::junit;
pub use plan::Plan;
pub use provenance::Provenance;
pub use table::table;

/// A group of cases: one op on one backend in one format.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Group<'s> {
    /// What became of its cases.
    pub totals: Totals,
    /// How much of the error budget they used.
    pub budget: Budget,
    /// The case that used most of it.
    pub worst: Option<&'s CaseResult>,
    /// Cases by kind.
    pub kinds: BTreeMap<&'s str, usize>,
    /// Time of all its cases, in microseconds.
    pub micros: u64,
}

impl<'s> Group<'s> {
    fn count(&mut self, result: &'s CaseResult) {
        self.totals.count(&result.outcome);
        self.micros = self.micros.saturating_add(result.micros);
        let fields = result.name.splitn(4, '/').nth(3).unwrap_or_default();
        *self.kinds.entry(fields.split(',').next().unwrap_or_default()).or_default() += 1;
        let Some(worst) = &result.worst else { return };
        let budget = Budget::of(worst);
        if self.worst.is_none() || budget > self.budget {
            (self.budget, self.worst) = (budget, Some(result));
        }
    }
}

/// A backend of a sweep.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tested {
    /// Its name on the command line and in the names of cases.
    pub name: String,
    /// What it is, and on what device.
    pub identity: Identity,
}

impl Tested {
    /// Whether it is the oracle, whose results are compared with themselves.
    pub fn is_oracle(&self) -> bool {
        self.name == "ref"
    }

    /// What it ran on, with a word about GPUs; a software device's name says what it is.
    pub fn device(&self) -> String {
        let place = match self.identity.kind {
            DeviceKind::Host | DeviceKind::Software => "",
            DeviceKind::Gpu => " (GPU)",
        };
        format!("{}{place}", self.identity.device)
    }
}

/// A sweep, finished or not.
#[derive(Clone, Debug, Default)]
pub struct Sweep {
    /// When and where it ran.
    pub provenance: Provenance,
    /// The backends, with the devices they ran on.
    pub backends: Vec<Tested>,
    /// Words that the names of its cases contain.
    pub filter: String,
    /// Cases that were left out because only a slice of the suite ran.
    pub left_out: usize,
    /// Seed of the random cases.
    pub seed: u64,
    /// Every case with its outcome, in order.
    pub results: Vec<CaseResult>,
    /// Failing cases made smaller: original name, and the smaller case.
    pub shrunk: Vec<(String, CaseResult)>,
    /// What backends declare and do not keep.
    pub contradictions: Vec<Contradiction>,
    /// Time of the whole sweep, in seconds.
    pub seconds: f64,
    /// What of the suite did not run, a sentence each: backends that cannot be had, cases outside the slice or after an interrupt.
    pub not_run: Vec<String>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// The device code that ran, by backend.
    pub device_code: Vec<DeviceCode>,
    /// Flags without which a case does not run as it did, for lines that run one again.
    pub flags: String,
    /// The plug-in that ran.
    pub plugin: Option<PluginFile>,
    /// Which run this is part of.
    pub plan: Plan,
}

/// The file of a plug-in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PluginFile {
    /// As it was named.
    pub file: String,
    /// Of its bytes, in hexadecimal.
    pub sha256: String,
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
    pub fn groups(&self) -> BTreeMap<(Stem, String, DType), Group<'_>> {
        self.grouped(|name, backend| (name.stem, backend, name.format))
    }

    /// Cases by op, backend and each type of their activations, gains and biases.
    pub fn groups_by_float(&self) -> BTreeMap<(Stem, String, DType), Group<'_>> {
        let mut groups: BTreeMap<_, Group<'_>> = BTreeMap::new();
        for result in &self.results {
            let Ok((name, backend)) = CaseName::parse(&result.name) else { continue };
            for dtype in floats::types(&name) {
                groups.entry((name.stem, backend.clone(), dtype)).or_default().count(result);
            }
        }
        groups
    }

    /// Cases by what `key` makes of their names and backends.
    fn grouped<K: Ord>(&self, key: impl Fn(CaseName, String) -> K) -> BTreeMap<K, Group<'_>> {
        let mut groups: BTreeMap<K, Group<'_>> = BTreeMap::new();
        for result in &self.results {
            let Ok((name, backend)) = CaseName::parse(&result.name) else { continue };
            groups.entry(key(name, backend)).or_default().count(result);
        }
        groups
    }

    /// The command that runs a case again, with the flags of the sweep and the plug-in that it needs.
    pub fn rerun(&self, name: &str) -> String {
        let mut command = rerun(name);
        if !self.flags.is_empty() {
            command.push(' ');
            command.push_str(&self.flags);
        }
        let on_plugin = name.split('/').nth(1) == Some(PLUGIN) || replay::path_of(name).is_some();
        if let Some(PluginFile { file, .. }) = self.plugin.as_ref().filter(|_| on_plugin) {
            let _ = write!(command, " --plugin '{file}'");
        }
        command
    }

    /// Whether a case on `backend` did more than be refused by validation, which no backend sees.
    pub fn reached(&self, backend: &str) -> bool {
        let on = |name: &str| name.split('/').nth(1) == Some(backend) || replay::path_of(name).is_some();
        self.results.iter().any(|result| on(&result.name) && reached(result))
    }

    /// Takes back the passes of ops of which `backend` implements nothing: validation had refused those cases.
    pub fn discount_refusals(&mut self, backend: &str) {
        let op = |name: &str| Some(CaseName::parse(name).ok().filter(|(_, on)| on == backend)?.0.stem);
        let implemented: BTreeSet<Stem> =
            self.results.iter().filter(|result| reached(result)).filter_map(|r| op(&r.name)).collect();
        for result in &mut self.results {
            let Some(stem) = op(&result.name).filter(|stem| !implemented.contains(stem)) else { continue };
            if result.outcome == Outcome::Passed {
                let why = format!("{backend} implements no case of {stem} here; validation refused this one");
                result.outcome = Outcome::Unsupported(why);
            }
        }
    }

    /// The smaller case that `name` was shrunk to.
    pub fn smaller(&self, name: &str) -> Option<&CaseResult> {
        self.shrunk.iter().find(|(original, _)| original == name).map(|(_, small)| small)
    }
}

/// What a report of one part says did not run.
pub fn not_run_shard(shard: Shard) -> String {
    format!("shard {shard} of the cases")
}

/// A number with its thousands apart: `1,156`.
fn thousands(n: impl Display) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 case`, `1,156 cases`.
fn cases(n: usize) -> String {
    format!("{} case{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// The command that runs a case again.
pub fn rerun(name: &str) -> String {
    if let Some(path) = replay::path_of(name) {
        return format!("cargo run --release -- replay '{}'", path.display());
    }
    format!("cargo run --release -- check '{name}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, outcome: Outcome, compared: usize) -> CaseResult {
        CaseResult { name: name.into(), outcome, worst: None, compared, micros: 1, fidelity: None }
    }

    #[test]
    fn refusals_are_no_passes_of_an_op_that_is_not_implemented() {
        let unsupported = || Outcome::Unsupported("not here".into());
        let results = vec![
            case("add/plugin/f32/exact,n=1", Outcome::Passed, 1),
            case("add/plugin/f32/hostile,n=2", Outcome::Passed, 0),
            case("mul/plugin/f32/exact,n=1", unsupported(), 0),
            case("mul/plugin/f32/hostile,n=2", Outcome::Passed, 0),
            case("mul/cpu/f32/hostile,n=2", Outcome::Passed, 0),
        ];
        let mut sweep = Sweep { results: results.clone(), ..Sweep::default() };
        sweep.discount_refusals("plugin");
        assert!(sweep.reached("plugin") && !sweep.reached("cpu"));
        let passed = |at: usize| sweep.results[at].outcome == Outcome::Passed;
        assert_eq!([0, 1, 2, 3, 4].map(passed), [true, true, false, false, true]);
        let mut nothing = Sweep { results: results[2..].to_vec(), ..Sweep::default() };
        nothing.discount_refusals("plugin");
        assert!(!nothing.reached("plugin"));
    }

    #[test]
    fn a_case_on_a_plug_in_is_run_again_with_it() {
        let plugin = Some(PluginFile { file: "./libmine.so".into(), sha256: String::new() });
        let sweep = Sweep { plugin, ..Sweep::default() };
        let again = "cargo run --release -- check 'add/plugin/f32/exact' --plugin './libmine.so'";
        assert_eq!(sweep.rerun("add/plugin/f32/exact"), again);
        assert_eq!(sweep.rerun("add/cpu/f32/exact"), rerun("add/cpu/f32/exact"));
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1156, 140_216].map(thousands), ["0", "999", "1,156", "140,216"]);
    }
}
