//! How a software device is set up.

use crate::memory::Checks;
use crate::sched::{Limits, Policy};

/// How a software device is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

impl Default for Options {
    /// Everything is checked, work runs at once, and the device has 16 GiB. Only memory that is touched costs the host any.
    fn default() -> Self {
        Self {
            seed: 0,
            policy: Policy::Eager,
            checks: Checks::ALL,
            limits: Limits::default(),
            memory_bytes: 16 << 30,
        }
    }
}
