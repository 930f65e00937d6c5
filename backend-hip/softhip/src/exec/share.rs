//! Workgroups shared out among threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Chunks that each thread gets if all take equally long: more make the end even, fewer keep neighbours together.
const CHUNKS: u32 = 8;

/// The workgroups of a launch that nobody has taken yet.
///
/// They are handed out in their order, and none after a failed one: so every one below a failed one is run. A thread
/// gets neighbours, because these often share the checker's records, and ever fewer of them, so that all threads end
/// at about the same time.
#[derive(Debug)]
pub(super) struct Shares {
    next: AtomicU32,
    groups: u32,
    threads: u32,
    /// The lowest workgroup that failed.
    failed: AtomicU32,
}

impl Shares {
    pub(super) fn new(groups: u32, threads: usize) -> Self {
        // A thread without a workgroup takes no part.
        let threads = threads.clamp(1, groups.max(1) as usize) as u32;
        Self { next: AtomicU32::new(0), groups, threads, failed: AtomicU32::new(u32::MAX) }
    }

    /// The next workgroups for a thread, up to a number of them.
    pub(super) fn take(&self, at_most: u32) -> Option<Range<u32>> {
        let split = |start: u32| {
            let left = self.groups.checked_sub(start).filter(|&left| left > 0)?;
            Some(start + (left / self.threads.saturating_mul(CHUNKS)).clamp(1, at_most))
        };
        let start = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, split).ok()?;
        let end = split(start)?;
        (!self.is_beyond_failure(start)).then_some(start..end)
    }

    /// Some of them are still to be taken.
    pub(super) fn is_left(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.groups
    }

    pub(super) fn fail(&self, group: u32) {
        self.failed.fetch_min(group, Ordering::Relaxed);
    }

    /// The last workgroup that has to run: the lowest that failed, or the last of all.
    pub(super) fn last(&self) -> u32 {
        self.failed.load(Ordering::Relaxed)
    }

    /// A lower workgroup has failed: this one need not run.
    pub(super) fn is_beyond_failure(&self, group: u32) -> bool {
        group > self.failed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workgroup_is_taken_once_in_order() {
        for (groups, threads) in [(0, 1), (1, 2), (7, 2), (1024, 2), (1000, 7), (u32::MAX, 3)] {
            let shares = Shares::new(groups, threads);
            let mut next = 0;
            while let Some(range) = shares.take(u32::MAX) {
                assert!(range.start == next && range.end > next);
                next = range.end;
            }
            assert_eq!(next, groups);
            assert!(!shares.is_left());
        }
    }

    #[test]
    fn nothing_after_a_failed_workgroup_is_taken() {
        let shares = Shares::new(100, 2);
        let first = shares.take(u32::MAX).unwrap();
        shares.fail(first.start);
        assert_eq!(shares.take(u32::MAX), None);
        assert!(!shares.is_beyond_failure(first.start) && shares.is_beyond_failure(first.start + 1));
    }
}
