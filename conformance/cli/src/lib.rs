//! What the `assay` command is made of.
//!
//! * [`backends`]: the list of backends, and opening one by name.
//! * [`worker`]: cases in processes of their own. [`sweep`] runs many cases over several workers.
//! * [`report`]: results as tables, JSON, `JUnit` XML and pages.
//! * [`layers`]: which files an op has.
//! * [`spelling`]: what a misspelt name was meant to be.
//! * [`quality`]: what kernels cost, counted without a GPU.
//!
//! The commands themselves are modules of the binary.
#![forbid(unsafe_code)]

pub mod backends;
pub mod layers;
pub mod quality;
pub mod report;
pub mod spelling;
pub mod sweep;
pub mod worker;
