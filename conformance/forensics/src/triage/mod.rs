//! Which of the usual suspects is it? Each hypothesis is decided by an experiment that can confirm it and can refute it.
//!
//! * [`hypothesis`]: the suspects, cheapest experiment first, and what may be said of one.
//! * [`clue`]: what a report of the software device points at.
//! * [`program`]: a HIP program, judged by its runs. [`engine`]: a model's run, likewise. [`launch`]: one launch.
//! * [`confirm`]: fail, fix, pass, revert, fail.
//!
//! Nothing here starts a process: callers make the runs and hand over what came of them.

pub mod clue;
pub mod confirm;
pub mod engine;
pub mod hypothesis;
pub mod launch;
pub mod program;
