//! Decorators: backends around backends.
//!
//! [`Guarded`] surrounds each allocation with canaries and fills it with poison.

mod guarded;

pub use guarded::{Guarded, GuardedBuffer, Poison};
