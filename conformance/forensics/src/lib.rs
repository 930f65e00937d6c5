//! Which op of a model went wrong, and a file that shows it on any machine.
//!
//! * [`diff`]: two runs of a model side by side, and the op that goes wrong first. [`pattern`] says what its error looks like.
//! * [`locate`]: the op that faulted.
//! * [`audit`]: do copies to the host bring the right bytes? [`gates`]: do runs that should say the same say the same?
//! * [`triage`]: which of the usual suspects is it?
//! * [`capsule`]: ops with their data, in files that anyone can open. [`replay`] runs them again, [`reduce`] makes them
//!   smaller.
//! * [`provenance`]: the program, the model and the op that a finding comes from. [`run`] runs a model on a watched backend.
//!
//! Nothing here knows a backend by name or starts a process: callers pass a
//! [`Registry`](conformance::registry::Registry), or a function that runs a case.
#![forbid(unsafe_code)]

pub mod audit;
pub mod capsule;
pub mod diff;
pub mod gates;
pub mod locate;
pub mod pattern;
pub mod provenance;
pub mod reduce;
pub mod replay;
pub mod run;
pub mod triage;
