//! Cases of each op, one file per stem.

pub mod rms_norm;

use crate::family::{Cases, Of};

/// The families of all ops, in the order of tables and reports.
pub static FAMILIES: &[&dyn Cases] = &[&Of::<rms_norm::RmsNorm>::new()];

/// Sizes at which kernels switch paths: around powers of two, primes, one.
pub const EDGES: [usize; 14] = [1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 251, 576];
