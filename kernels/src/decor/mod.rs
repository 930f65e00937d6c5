//! Decorators: backends around backends.
//!
//! [`Decorator`] is what one implements: it forwards everything that the decorator does not change.
//! [`Guarded`] surrounds each allocation with canaries and fills it with poison. [`Watched`] shows each op, with its place in the
//! model, to a [`Watch`] before and after it runs: what compares, records and locates hangs there.

mod decorator;
mod guarded;
mod watched;

pub use decorator::Decorator;
pub use guarded::{Guarded, GuardedBuffer, Poison};
pub use watched::{AnyWatch, Seen, Wait, Watch, Watched};
