//! Decorators: backends around backends.
//!
//! [`Guarded`] surrounds each allocation with canaries and fills it with poison. [`Watched`] shows each op, with its place in the
//! model, to a [`Watch`] before and after it runs: what compares, records and locates hangs there.

mod guarded;
mod watched;

pub use guarded::{Guarded, GuardedBuffer, Poison};
pub use watched::{AnyWatch, Seen, Wait, Watch, Watched};
