//! The conformance suite of Assay: cases, comparison, reports.
//!
//! * [`capsule`]: ops with their data in files that anyone can open.
#![forbid(unsafe_code)]

pub mod capsule;
pub mod file;
