//! What the command asks of the library.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Tool;

/// The environment variable that holds the settings.
pub const VARIABLE: &str = "ASSAY_SANITIZE";

/// The same for the library that is preloaded over a real one.
pub const FORWARD_VARIABLE: &str = "ASSAY_FORWARD";

/// What the command asks of the library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Settings {
    /// The file that messages are appended to.
    pub messages: PathBuf,
    /// Only a process that this one has started is checked; all are, if there is none.
    pub only_children_of: Option<u32>,
    /// What is checked. Bounds and lifetimes always are.
    pub tools: Vec<Tool>,
    /// The folder for capsules of launches that fail. All launches are recorded, then.
    pub capsules: Option<PathBuf>,
    /// On a GPU: each launch is waited for.
    pub sync_per_op: bool,
    /// On a GPU: device memory has known bytes around it, which are looked at whenever the program waits.
    pub guard_zones: bool,
    /// When queued work runs.
    pub schedule: Schedule,
    /// Seed of the places of allocations, and of the random schedule.
    pub seed: u64,
    /// Launches of other kernels than those whose names contain this are checked for bounds and lifetimes only.
    pub kernel: Option<String>,
    /// Other launches than these are checked for bounds and lifetimes only.
    pub launches: Option<Launches>,
    /// After a fault of a kernel all calls answer it, as on ROCm.
    pub faults_stick: bool,
    /// Seconds between two lines about a kernel that is running; none are told, if there is no number.
    pub progress_seconds: Option<u32>,
    /// Copies to the host are counted.
    pub counts_copies: bool,
    /// An allocation of the device that is refused is granted with fewer bytes: does what follows depend on the refusal?
    pub grants: bool,
}

impl Settings {
    /// Whether some launches are asked for, and not all.
    pub fn selects(&self) -> bool {
        self.kernel.is_some() || self.launches.is_some()
    }

    /// Whether launch `number`, of `kernel`, is asked for.
    pub fn select(&self, kernel: &str, number: u64) -> bool {
        self.kernel.as_ref().is_none_or(|part| kernel.contains(part.as_str()))
            && self.launches.is_none_or(|launches| launches.contains(number))
    }
}

/// When queued work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// At once.
    Eager,
    /// Only when a synchronisation demands it.
    Deferred,
    /// At moments drawn from the seed.
    Random,
}

/// Launches `first` to `last`, counted from 1 in the order of their calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launches {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
}

impl Launches {
    /// Whether launch `number` is one of them.
    pub fn contains(self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }
}

impl fmt::Display for Launches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, last } = self;
        if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
    }
}
