//! Who tests the tests: mutants, each with one bug that has happened to somebody, and which check kills which.
//!
//! * [`mutant`]: a backend with a planted bug: the reference on a changed op, or with changed results.
//! * [`addresses`], [`order`], [`values`]: the bugs, by what they are about.
//! * [`device`]: bugs in device code, on the software device.
//! * [`faults`]: bugs that fault, for a model's path. [`sabotage`] plants a mutant there.
//! * [`harness`]: bugs of the suite itself, which its controls must notice.
//! * [`matrix`]: runs mutants and collects which check found which.
//!
//! A mutant that survives is a missing check. A check that kills nothing that no other check kills is dead weight, unless it
//! says why it stays.

pub mod addresses;
pub mod device;
pub mod faults;
pub mod harness;
pub mod matrix;
pub mod mutant;
pub mod order;
pub mod sabotage;
pub mod values;

use mutant::Mutant;

/// All mutants of backends.
pub fn mutants() -> Vec<Mutant> {
    [addresses::mutants(), order::mutants(), values::mutants()].concat()
}

/// The mutant called `name`, one of those that fault included.
pub fn find(name: &str) -> Option<Mutant> {
    mutants().into_iter().chain(faults::mutants()).find(|mutant| mutant.name == name)
}
