//! The conformance suite of Assay: cases, comparison, reports.
//!
//! * [`name`]: what a case is called, which is also how it is run again.
//! * [`ops`]: the cases of each op, one file per stem; [`family`] is what such a file provides.
//! * [`trial`]: one case under way: runs, checks, findings. [`target`] is the backend under test.
//! * [`data`], [`weights`] and [`dense`]: seeded data.
//! * [`suite`]: all cases. [`sweep`] runs many over [`worker`] processes, [`stream`] adds random ones, [`shrink`] makes failing
//!   ones smaller, [`expectations`] knows the known failures, [`report`] says what became of them.
//! * [`backends`]: what this machine has.
//! * [`control`] shows that the suite can fail; [`zoo`] plants bugs and shows which check finds which.
//! * [`quality`]: what kernels cost, counted without a GPU.
//!
//! For the day of the fault:
//!
//! * [`diff`]: two runs of a model side by side, and which op goes wrong first; [`pattern`] says what it looks like.
//! * [`locate`]: which op faulted.
//! * [`capsule`]: ops with their data in files that anyone can open; [`replay`] runs them again, [`reduce`] makes them smaller,
//!   [`saved`] makes them of failing cases, [`take`] of any op of a run, [`keep`] cuts them to size. [`provenance`] is what a finding
//!   carries, [`place`] names places in a model, [`run`] is a run in sight of a watch.
#![forbid(unsafe_code)]

pub mod backends;
pub mod capsule;
pub mod control;
pub mod data;
pub mod dense;
pub mod diff;
pub mod expectations;
pub mod family;
pub mod file;
pub mod keep;
pub mod locate;
pub mod name;
pub mod ops;
pub mod outcome;
pub mod pattern;
pub mod place;
pub mod provenance;
pub mod quality;
pub mod reduce;
pub mod replay;
pub mod report;
pub mod run;
pub mod saved;
pub mod shrink;
pub mod stream;
pub mod suite;
pub mod sweep;
pub mod take;
pub mod target;
pub mod trial;
pub mod weights;
pub mod worker;
pub mod zoo;
