//! The device's memory: virtual addresses, exact bounds, and one checker for every access.
//!
//! * Each allocation has a slot of 4 GiB of its own, or several, with an unused slot before the next. Slots are
//!   permuted by the seed. So an overrun of an end, by a byte or by a gigabyte, lands in no neighbour, and
//!   equal runs have equal addresses. Freed slots are reused last.
//! * One bit per byte says whether it has been written; a race record per 64 bytes says by whom in this
//!   launch ([`LaunchMemory`]).
//! * [`Memory`] is the host's side: allocate, free, copy, fill. [`LaunchMemory`] is the kernels' side.
//!   Both answer an [`AccessFault`] that names the allocation, the distance and the sites.
//!
//! Bytes are atomics, pointers are numbers; `unsafe` are vector loads and memory that the host keeps.

mod allocation;
mod blocks;
mod bulk;
mod cells;
mod check;
mod fault;
mod group;
mod host;
mod init;
mod launch;
mod mapped;
mod place;
mod ranges;
mod refusal;
mod run;
mod service;
mod shadow;
mod site;
mod snapshot;
mod space;
mod stretch;
mod tolerant;
mod undo;
mod wave;
mod within;
mod words;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use fault::{
    AccessFault, AccessKind, AllocationInfo, AllocationKind, FaultKind, LaneFault, RaceSide, Side,
};
pub use group::{Group, RaceNote};
pub use host::{Memory, MemoryError};
pub use launch::{LaunchMemory, ScalarLoad};
pub use mapped::HostRange;
pub use ranges::{Footprint, Ranges};
pub use run::Run;
pub use site::Site;
pub use snapshot::{Piece, RestoreError, Snapshot};
pub use space::splitmix64;
pub use wave::{Addresses, Lanes, WAVE, WaveAccess};
pub use within::Within;

/// High half of the addresses that FLAT accesses take for LDS.
pub(crate) const SHARED_APERTURE: u32 = 0x0001_0000;
/// High half of the addresses that FLAT accesses take for private memory.
pub(crate) const PRIVATE_APERTURE: u32 = 0x0002_0000;

/// Which checks run. Bounds, lifetimes, permissions and alignment are always checked.
#[expect(clippy::struct_excessive_bools, reason = "each is an independent switch")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks {
    /// Reads of bytes that nothing wrote are faults.
    pub uninitialised: bool,
    /// Unordered accesses of two workgroups or two streams to one byte are faults.
    pub races: bool,
    /// Races that cannot change a result are faults, too, and not notes: writes of equal values, and the plain load
    /// with which a loop of compare-and-swaps begins.
    pub strict_races: bool,
    /// Registers that are used before their load has been waited for, and missing wait states, are faults.
    pub waits: bool,
    /// A launch goes on after a wrong access, which is dropped, and later work runs: several faults are found in one run.
    pub go_on: bool,
}

impl Checks {
    /// Everything.
    pub const ALL: Self =
        Self { uninitialised: true, races: true, strict_races: false, waits: true, go_on: false };
    /// Only what is always checked.
    pub const BOUNDS: Self = Self { uninitialised: false, races: false, waits: false, ..Self::ALL };
}

impl Default for Checks {
    fn default() -> Self {
        Self::ALL
    }
}

/// Locks that keep 64-bit atomics indivisible over memory made of 32-bit words.
#[derive(Debug)]
struct WideLocks([Mutex<()>; 64]);

impl WideLocks {
    fn new() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }

    fn lock(&self, address: u64) -> MutexGuard<'_, ()> {
        let stripe = cells::index((address / 8) % 64);
        self.0[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
