//! What became of a sweep: counted, as a table, as JSON, as `JUnit` XML, as a page.

mod budget;
pub mod coverage;
mod device_code;
pub mod diff;
mod failure_group;
pub mod fault;
mod fidelity;
pub mod html;
mod json;
mod junit;
pub mod machine;
mod provenance;
pub mod sanitize;
mod table;
pub mod unreached;

use std::collections::BTreeMap;
use std::fmt::Display;

use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome, Totals};
use forensics::replay::PREFIX;
use kernels::{DType, DeviceKind, Identity, Stem};

pub use budget::Budget;
pub use device_code::{DeviceCode, device_code};
pub use failure_group::{FailureGroup, failure_groups};
pub use fidelity::fidelity;
pub use json::json;
pub use junit::junit;
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
        self.micros += result.micros;
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
    /// Time of the whole sweep, in seconds.
    pub seconds: f64,
    /// What of the suite did not run, a sentence each: backends that cannot be had, cases outside the slice or after an interrupt.
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
    pub fn groups(&self) -> BTreeMap<(Stem, String, DType), Group<'_>> {
        self.grouped(|name, backend| (name.stem, backend, name.format))
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

    /// The smaller case that `name` was shrunk to.
    pub fn smaller(&self, name: &str) -> Option<&CaseResult> {
        self.shrunk.iter().find(|(original, _)| original == name).map(|(_, small)| small)
    }
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
    if let Some(path) = name.strip_prefix(PREFIX) {
        return format!("cargo run --release -- replay '{path}'");
    }
    format!("cargo run --release -- check '{name}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1156, 140_216].map(thousands), ["0", "999", "1,156", "140,216"]);
    }
}
