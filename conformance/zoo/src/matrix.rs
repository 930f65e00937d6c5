//! Which check finds which mutant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::io;
use std::time::Duration;

use conformance::outcome::{CaseResult, Outcome};
use conformance::suite::{self, Filter, Slice};
use conformance::trial::Finder;
use kernels::Stem;

use crate::harness::HarnessMutant;
use crate::mutant::About;
use crate::{catalogue, device};

/// What became of a mutant.
#[derive(Clone, Debug)]
pub struct Fate {
    /// Its name.
    pub name: String,
    /// The mistake.
    pub fault: String,
    /// The checks that found it, and how many cases each failed.
    pub found_by: BTreeMap<Finder, usize>,
    /// Controls that noticed it, for a mutant of the suite.
    pub controls: Vec<&'static str>,
    /// Cases that it met.
    pub cases: usize,
    /// True where the quick slice of the suite did not find it.
    pub survived_quick: bool,
}

impl Fate {
    /// Whether anything found it.
    pub fn killed(&self) -> bool {
        !self.found_by.is_empty() || !self.controls.is_empty()
    }
}

/// Checks that stay although no mutant is theirs alone, and why.
pub const STAYS: [(Finder, &str); 2] = [
    (
        Finder::Vacuous,
        "finds cases that prove nothing: a fault of the suite, which controls pose as loose tolerances",
    ),
    (Finder::Expectation, "finds stale expectations: a fault of the list, which a control poses"),
];

/// A mutant, as far as the matrix is concerned.
#[derive(Clone, Debug)]
pub struct Exhibit {
    /// Its name; also that of the backend that it is.
    pub backend: String,
    /// Name of the backend in the names of cases.
    pub cases_of: &'static str,
    /// The op that has the bug.
    pub stem: Stem,
    /// What it is about.
    pub about: About,
    /// The mistake.
    pub fault: String,
    /// How long a case may take.
    pub timeout: Duration,
}

/// All mutants but those of the suite.
pub fn exhibits() -> Vec<Exhibit> {
    let host = catalogue::mutants().into_iter().map(|mutant| Exhibit {
        backend: format!("mutant:{}", mutant.name),
        cases_of: "mutant",
        stem: mutant.stem,
        about: mutant.about,
        fault: mutant.fault.into(),
        timeout: Duration::from_secs(15),
    });
    let device = device::mutants().iter().map(|mutant| Exhibit {
        backend: format!("{}{}", device::PREFIX, mutant.name),
        cases_of: "soft",
        stem: mutant.stem,
        about: mutant.about,
        fault: mutant.fault.clone(),
        timeout: Duration::from_secs(30),
    });
    host.chain(device).collect()
}

/// Cases with a larger extent are left to mutants that survive the others: one with 65,540 rows takes as long as hundreds.
const SMALL: u64 = 2048;

/// Runs the cases of a mutant's op on it: the slice of `cargo test` first, its small cases before the whole; the quick one if it
/// survives that, and all of them if it survives both. `run` runs cases by name on the backend that the mutant is; it must survive their crashes.
pub fn expose(
    mutant: &Exhibit,
    mut run: impl FnMut(&[String]) -> io::Result<Vec<CaseResult>>,
) -> io::Result<Fate> {
    let all = suite::names(mutant.cases_of, &Filter::new(&format!("{}/{}/", mutant.stem, mutant.cases_of)));
    let least = Slice::Least.of(all.clone());
    let small = least.iter().filter(|name| suite::extent(name) <= SMALL).cloned().collect();
    for slice in [small, least, Slice::Quick.of(all.clone())] {
        let part = fate(mutant, &run(&slice)?);
        if part.killed() {
            return Ok(part);
        }
    }
    Ok(Fate { survived_quick: true, ..fate(mutant, &run(&all)?) })
}

/// What the results of a mutant's cases make of it.
fn fate(mutant: &Exhibit, results: &[CaseResult]) -> Fate {
    let mut found_by = BTreeMap::new();
    for result in results {
        if let Outcome::Failed(failures) = &result.outcome {
            let finders: BTreeSet<_> = failures.iter().map(|f| f.found_by).collect();
            for finder in finders {
                *found_by.entry(finder).or_default() += 1;
            }
        }
    }
    let (name, fault) = (mutant.backend.clone(), mutant.fault.clone());
    Fate { name, fault, found_by, controls: Vec::new(), cases: results.len(), survived_quick: false }
}

/// Poses the controls to a mutant of the suite.
pub fn expose_harness(mutant: &HarnessMutant) -> Fate {
    let controls = mutant.noticed_by();
    Fate {
        name: mutant.name.into(),
        fault: mutant.fault.into(),
        found_by: BTreeMap::new(),
        controls,
        cases: 0,
        survived_quick: false,
    }
}

/// The matrix of mutants and checks, and what follows from it.
pub fn matrix(fates: &[Fate]) -> String {
    let finders: BTreeSet<Finder> = fates.iter().flat_map(|f| f.found_by.keys().copied()).collect();
    let width = fates.iter().map(|f| f.name.len()).max().unwrap_or(0);
    let mut text = format!("{:<width$}", "mutant");
    for finder in &finders {
        let _ = write!(text, " {finder:>11}");
    }
    text.push_str("     control\n");
    for fate in fates {
        let _ = write!(text, "{:<width$}", fate.name);
        for finder in &finders {
            let cell = fate.found_by.get(finder).map_or(String::from("."), usize::to_string);
            let _ = write!(text, " {cell:>11}");
        }
        let controls = if fate.controls.is_empty() { ".".into() } else { fate.controls.len().to_string() };
        let survived = if fate.killed() { "" } else { "  SURVIVED" };
        let _ = writeln!(text, " {controls:>11}{survived}");
    }
    text.push('\n');
    for finder in &finders {
        let alone = fates.iter().filter(|f| f.found_by.len() == 1 && f.found_by.contains_key(finder)).count();
        let _ = writeln!(text, "{finder:<12} alone kills {alone}");
    }
    for (finder, why) in STAYS {
        let _ = writeln!(text, "{finder:<12} stays: {why}");
    }
    let killed = fates.iter().filter(|f| f.killed()).count();
    let _ = writeln!(text, "\n{killed} of {} mutants killed", fates.len());
    text
}

/// Something that is wrong with the suite.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Complaint {
    /// A mutant that no check kills.
    Survivor {
        /// Its name.
        name: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A mutant that the quick slice of the suite does not kill.
    SurvivesQuick {
        /// Its name.
        name: String,
    },
    /// A check that kills no mutant by itself.
    Idle(Finder),
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Complaint::Survivor { name, fault } => write!(f, "{name} survived: {fault}"),
            Complaint::SurvivesQuick { name } => {
                write!(f, "{name} survived the quick slice; --full kills it")
            }
            Complaint::Idle(finder) => write!(f, "check '{finder}' kills no mutant of its own"),
        }
    }
}

/// What is wrong with the suite: mutants that survive, checks that kill nothing of their own.
pub fn complaints(fates: &[Fate]) -> Vec<Complaint> {
    let survivors = fates.iter().filter(|f| !f.killed());
    let survivors = survivors.map(|f| Complaint::Survivor { name: f.name.clone(), fault: f.fault.clone() });
    let finders: BTreeSet<Finder> = fates.iter().flat_map(|f| f.found_by.keys().copied()).collect();
    let idle = finders.into_iter().filter(|finder| {
        let alone = |f: &&Fate| f.found_by.len() == 1 && f.found_by.contains_key(finder);
        !fates.iter().any(|f| alone(&f)) && !STAYS.iter().any(|(stays, _)| stays == finder)
    });
    let slow = fates.iter().filter(|f| f.killed() && f.survived_quick);
    let slow = slow.map(|f| Complaint::SurvivesQuick { name: f.name.clone() });
    survivors.chain(slow).chain(idle.map(Complaint::Idle)).collect()
}
