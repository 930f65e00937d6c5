//! All mutants of backends.

use crate::mutant::Mutant;
use crate::{addresses, faults, layouts, order, types, values};

/// All mutants that compute something wrong.
pub fn mutants() -> Vec<Mutant> {
    [addresses::mutants(), order::mutants(), values::mutants(), types::mutants(), layouts::mutants()].concat()
}

/// The mutant called `name`, those that fault included.
pub fn find(name: &str) -> Option<Mutant> {
    mutants().into_iter().chain(faults::mutants()).find(|mutant| mutant.name == name)
}
