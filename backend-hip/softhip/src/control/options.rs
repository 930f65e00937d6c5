//! How a software device is set up.

use std::ops::RangeInclusive;

use crate::memory::Checks;
use crate::sched::{Limits, Policy};

/// The launches that are checked in full. Others are checked for bounds, lifetimes, permissions and alignment only.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Those of kernels whose names contain this; of all kernels, if there is none.
    pub kernel: Option<String>,
    /// Those with these numbers, counted from 1 in the order of their calls; all, if there is none.
    pub launches: Option<RangeInclusive<u64>>,
}

/// How a software device is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Where allocations are placed follows from it.
    pub seed: u64,
    /// Allocations lie across a multiple of 4 GiB, as on a GPU some do: arithmetic that loses the carry into the upper word of an address
    /// leaves the allocation. Without it, addresses are easier to read.
    pub straddle: bool,
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
            straddle: false,
            policy: Policy::Eager,
            checks: Checks::ALL,
            limits: Limits::default(),
            memory_bytes: 16 << 30,
        }
    }
}
