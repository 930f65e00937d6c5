//! Do copies to the host bring the right bytes? Many runs, with and without the log of copies, and under stress.
//!
//! Each iteration's copies are counted by an observer that knows nothing of the log, read back from the log, and compared; what they
//! brought is compared with a run in which every op is waited for.
//!
//! * [`variant`]: what an iteration runs. [`engine`] runs one on a backend.
//! * [`iteration`]: what came of one. [`state`] keeps them in a file, so that a matrix that was killed goes on.
//! * [`summary`]: the verdict on all, and `summary.json`. [`bound`] says what clean runs prove.
//! * [`sizes`]: which sizes a model's copies can have.

pub mod bound;
pub mod engine;
pub mod iteration;
pub mod sizes;
pub mod state;
pub mod summary;
pub mod variant;
