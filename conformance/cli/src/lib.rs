//! What the `assay` command is made of.
//!
//! * [`backends`]: the list of backends, and opening one by name.
//! * [`foreign`]: kernels of other people in the place of ours.
//! * [`worker`]: cases in processes of their own. [`sweep`] runs many cases over several workers.
//! * [`template`]: chat templates in processes of their own.
//! * [`report`]: results as tables, JSON, `JUnit` XML and pages.
//! * [`layers`]: which files an op has.
//! * [`locked`]: one run at a time on a device, and what could make it differ from another.
//! * [`spelling`]: what a misspelt name was meant to be.
//! * [`judge`]: one verdict on foreign kernels of an op, with its evidence.
//! * [`quality`]: what kernels cost, counted without a GPU.
//!
//! * [`argument`], [`suppressions`], [`numbers`]: what people write on the command line and in files for it, read.
//!
//! The commands themselves are modules of the binary.
#![forbid(unsafe_code)]

pub mod argument;
pub mod backends;
pub mod foreign;
pub mod judge;
pub mod layers;
pub mod locked;
pub mod numbers;
pub mod quality;
pub mod report;
pub mod spelling;
pub mod suppressions;
pub mod sweep;
pub mod template;
pub mod worker;
