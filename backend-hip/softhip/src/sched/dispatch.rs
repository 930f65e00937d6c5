//! A launch, and what can run it.

use std::fmt::Debug;
use std::sync::Arc;

use code_object::Kernel;

use super::arguments::Shape;
use super::counters::Counters;
use crate::hostcall::Printed;
use crate::memory::{LaunchMemory, Site};
use crate::report::Report;

/// A kernel with everything that one launch of it needs.
#[derive(Debug, Clone)]
pub struct Dispatch {
    /// What to run.
    pub kernel: Arc<dyn Execute>,
    /// Blocks in x, y, z; none is 0, and their product fits 32 bits.
    pub grid: [u32; 3],
    /// Threads per block in x, y, z; none is 0.
    pub block: [u32; 3],
    /// Bytes of LDS beyond those the kernel declares.
    pub dynamic_lds: u32,
    /// The kernarg segment, hidden arguments included.
    pub kernarg: Vec<u8>,
    /// Device address of that segment while the launch runs; 0 before.
    pub kernarg_address: u64,
    /// Device address of the dispatch packet while the launch runs; 0 before, and for kernels that ask for none.
    pub packet_address: u64,
    /// Device address of the queue while the launch runs; 0 before, and for kernels that ask for none.
    pub queue_address: u64,
    /// Device address of the buffer of requests to the host, likewise.
    pub hostcall_address: u64,
    /// Device address of the buffer of messages that are printed after the launch, likewise.
    pub printf_address: u64,
    /// All workgroups are there at the same time.
    pub cooperative: bool,
    /// Only bounds, lifetimes, permissions and alignment are checked, whatever is checked elsewhere.
    pub bounds_only: bool,
    /// Where the host launched it.
    pub site: Option<Site>,
}

impl Dispatch {
    /// The packet with which a queue announces the launch, as HSA lays it out.
    pub fn packet(&self, lds: u32, scratch: u32) -> [u8; 64] {
        let [bx, by, bz] = self.block;
        let [gx, gy, gz] = self.grid;
        // A kernel dispatch that acquires and releases system scope, in three dimensions.
        let words = [
            0x0003_1402,
            (bx & 0xffff) | (by << 16),
            bz & 0xffff,
            gx * bx,
            gy * by,
            gz * bz,
            scratch,
            lds + self.dynamic_lds,
        ];
        let mut packet = [0; 64];
        for (bytes, word) in packet.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        packet[40..48].copy_from_slice(&self.kernarg_address.to_le_bytes());
        packet
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        let Self { grid, block, dynamic_lds, cooperative, .. } = *self;
        Shape { grid, block, dynamic_lds, cooperative }
    }

    /// Number of blocks.
    pub fn groups(&self) -> u32 {
        self.grid.iter().product()
    }
}

/// How a launch may use the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Threads that run workgroups. Results do not depend on it.
    pub threads: usize,
    /// Wave instructions after which a launch counts as endless.
    pub budget: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { threads: std::thread::available_parallelism().map_or(1, Into::into), budget: 20_000_000_000 }
    }
}

/// A loaded kernel that can run.
pub trait Execute: Debug + Send + Sync {
    /// The kernel's symbol.
    fn name(&self) -> &str;

    /// What its code object says about it, if it is from one.
    fn metadata(&self) -> Option<&Kernel> {
        None
    }

    /// The device address of the image that it is in, if it is from one.
    fn image_base(&self) -> Option<u64> {
        None
    }

    /// The dispatch packet that the kernel asks for, if it does.
    fn packet(&self, _dispatch: &Dispatch) -> Option<[u8; 64]> {
        None
    }

    /// Runs one launch to its end. A fault ends it early; the report names the instruction and the thread,
    /// and leaves the launch site to the caller.
    fn run(&self, dispatch: &Dispatch, memory: &LaunchMemory, limits: Limits) -> Result<Ran, Box<Faulted>>;
}

/// What a launch with a fault leaves behind.
#[derive(Debug, Clone)]
pub struct Faulted {
    /// What was wrong, and at least one thing was: one report for each instruction and kind, the first one first.
    pub reports: Vec<Report>,
    /// Some workgroup has not run to its end, so that what it should have written may be missing.
    pub unfinished: bool,
    /// The rest.
    pub ran: Ran,
}

impl From<Box<Report>> for Box<Faulted> {
    fn from(report: Box<Report>) -> Self {
        Self::new(Faulted { reports: vec![*report], unfinished: true, ran: Ran::default() })
    }
}

/// What a launch leaves behind, besides faults.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ran {
    /// What it cost.
    pub counters: Counters,
    /// Races that cannot change a result, see [`Checks::strict_races`](crate::memory::Checks).
    pub notes: Vec<Report>,
    /// What it printed.
    pub printed: Printed,
}

impl From<Counters> for Ran {
    fn from(counters: Counters) -> Self {
        Self { counters, ..Self::default() }
    }
}
