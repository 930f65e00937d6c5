//! Launches that failed, with the memory that they could reach: enough to run them again elsewhere.

use std::collections::BTreeSet;

use super::dispatch::Dispatch;
use crate::memory::{AllocationKind, Memory, Snapshot};
use crate::report::{Problem, Report};

/// Largest allocation whose content is searched for further pointers.
const SEARCHED: u64 = 64 << 10;

/// What is kept of launches that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordLaunches {
    /// Nothing.
    #[default]
    Never,
    /// The launch, with memory as the failure left it. Launches that do not fail cost nothing.
    After,
    /// The launch, with memory as it was before. Every launch costs a copy of what it can reach.
    Before,
}

/// A launch that failed.
#[derive(Debug, Clone)]
pub struct FailedLaunch {
    /// The launch.
    pub dispatch: Dispatch,
    /// What it could reach.
    pub memory: Vec<Snapshot>,
}

/// The allocations that a launch can reach: those that its arguments point into, those that small ones among them point into,
/// and loaded images.
pub(crate) fn reachable(memory: &Memory, arguments: &[u8]) -> Vec<Snapshot> {
    let mut found = Vec::new();
    let mut bases = BTreeSet::new();
    let images = memory.live().into_iter().filter(|live| live.kind == AllocationKind::Image);
    let mut pointers: Vec<u64> = images.map(|image| image.base).chain(words(arguments)).collect();
    while let Some(pointer) = pointers.pop() {
        let Some(info) = memory.allocation_at(pointer).filter(|info| info.kind != AllocationKind::Kernarg)
        else {
            continue;
        };
        if !bases.insert(info.base) {
            continue;
        }
        let Some(snapshot) = memory.snapshot(info.base) else { continue };
        if info.size <= SEARCHED {
            pointers.extend(snapshot.pieces.iter().flat_map(|piece| words(&piece.bytes)));
        }
        found.push(snapshot);
    }
    found
}

/// Adds the allocation that a report names, if it is not there.
pub(crate) fn add_nearest(memory: &Memory, report: &Report, to: &mut Vec<Snapshot>) {
    let Problem::Access { fault, .. } = &report.problem else { return };
    let Some(nearest) = &fault.nearest else { return };
    if nearest.kind != AllocationKind::Kernarg && to.iter().all(|known| known.info.base != nearest.base) {
        to.extend(memory.snapshot(nearest.base));
    }
}

/// Bytes as addresses, at multiples of 8.
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
}
