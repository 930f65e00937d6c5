//! Who tests the tests: mutants, each with one bug that somebody has made, and which check finds which.
//!
//! * [`mutant`]: a backend with a planted bug: the reference on a changed op, or with changed results.
//! * [`addresses`], [`order`], [`values`], [`types`], [`layouts`]: the bugs, by what they are about.
//! * [`faults`]: bugs that fault, for a model's path. [`sabotage`] plants a mutant there, and a [`probe`] says whether it was reached.
//! * [`catalogue`]: all mutants of backends, by name.
//! * [`device`]: bugs in device code, on the software device.
//! * [`harness`]: bugs of the suite itself, which its controls must notice.
//! * [`matrix`]: the kill matrix, which check found which mutant.
//!
//! A mutant that survives is a missing check. A check that kills nothing that no other check kills is dead weight, unless it
//! says why it stays.
#![forbid(unsafe_code)]

pub mod addresses;
pub mod catalogue;
pub mod device;
pub mod faults;
pub mod harness;
pub mod layouts;
pub mod machine;
pub mod matrix;
pub mod mutant;
pub mod order;
pub mod probe;
pub mod sabotage;
pub mod types;
pub mod values;
