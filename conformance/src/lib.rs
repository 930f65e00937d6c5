//! The conformance suite of Assay: cases in, verdicts out.
//!
//! * [`name`]: what a case is called, which is also how it is run again.
//! * [`ops`]: the cases of each op, one file per stem. [`family`] is what such a file provides.
//! * [`covering`]: few cases in which every pair of values occurs.
//! * [`data`], [`weights`] and [`dense`]: seeded data.
//! * [`target`]: the backend under test. [`guard`] is what notices an access outside its buffers, [`far`] moves rows gigabytes apart.
//! * [`trial`]: one case while it runs: runs, checks, findings. [`outcome`] is its result.
//! * [`suite`]: all cases. [`random`] adds random ones, [`shrink`] makes a failing case smaller, [`regressions`] keeps its
//!   name, and [`expectations`] lists the known failures.
//! * [`oracle`]: what is right, computed once per op.
//! * [`control`] proves that the suite can fail.
//! * [`declaration`] names what a target declares and does not keep.
//! * [`sensitivity`] measures how small a bias the suite sees.
//! * [`own`]: the suite on a backend of one's own, in one call: [`run`].
//! * [`registry`]: a backend by name, for work that needs one; the program above implements it.
//!
//! The suite knows no particular backend and starts no process. `assay-cli` does both.
#![forbid(unsafe_code)]

pub mod control;
pub mod covering;
pub mod data;
pub mod declaration;
pub mod dense;
pub mod expectations;
pub mod family;
pub mod far;
pub mod floats;
pub mod guard;
pub mod name;
pub mod ops;
pub mod oracle;
pub mod outcome;
pub mod own;
pub mod random;
mod recent;
pub mod registry;
pub mod regressions;
pub mod sensitivity;
pub mod shrink;
pub mod suite;
pub mod taken;
pub mod target;
pub mod trial;
pub mod weights;

pub use own::{Options, Report, run};
