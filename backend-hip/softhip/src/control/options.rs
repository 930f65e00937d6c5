//! How a software device is set up.

use crate::memory::Checks;
use crate::sched::{Limits, Policy, Prepare};

/// How a software device is set up.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Where allocations are placed follows from it.
    pub seed: u64,
    /// When work runs.
    pub policy: Policy,
    /// What is checked.
    pub checks: Checks,
    /// How launches use the host.
    pub limits: Limits,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// What runs kernels.
    pub prepare: Prepare,
}
