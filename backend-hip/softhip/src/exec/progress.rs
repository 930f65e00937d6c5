//! How far a launch has come, told while it runs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How far a launch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The kernel's symbol.
    pub kernel: &'a str,
    /// Workgroups that have ended.
    pub done: u32,
    /// All of them.
    pub groups: u32,
    /// Instructions that waves have executed.
    pub instructions: u64,
    /// Time since the launch began.
    pub elapsed: Duration,
}

#[derive(Debug)]
struct Listener {
    every: Duration,
    tell: fn(Progress<'_>),
}

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// Calls `tell` about once in `every` while a launch of this process runs, for launches that take longer than that. The first call of this
/// function counts.
pub fn tell_progress(every: Duration, tell: fn(Progress<'_>)) {
    let _ = LISTENER.set(Listener { every, tell });
}

/// Instructions after which the clock is looked at.
const LOOK: u64 = 1 << 20;

/// Follows one launch.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    listener: &'static Listener,
    kernel: &'a str,
    groups: u32,
    begun: Instant,
    done: AtomicU32,
    instructions: AtomicU64,
    /// What has been told, in units of the listener's time.
    told: AtomicU32,
}

impl<'a> Watch<'a> {
    /// `None`: nobody listens.
    pub(super) fn new(kernel: &'a str, groups: u32) -> Option<Self> {
        let listener = LISTENER.get()?;
        let (done, told, instructions) = Default::default();
        Some(Self { listener, kernel, groups, begun: Instant::now(), done, instructions, told })
    }

    /// A thread has executed so many instructions more, and perhaps ended a workgroup.
    pub(super) fn add(&self, instructions: u64, ended: bool) {
        let done = self.done.fetch_add(ended.into(), Ordering::Relaxed) + u32::from(ended);
        let before = self.instructions.fetch_add(instructions, Ordering::Relaxed);
        let instructions = before + instructions;
        if before / LOOK == instructions / LOOK {
            return;
        }
        let elapsed = self.begun.elapsed();
        let times = elapsed.as_nanos() / self.listener.every.as_nanos().max(1);
        let times = u32::try_from(times).unwrap_or(u32::MAX);
        if times > self.told.fetch_max(times, Ordering::Relaxed) {
            let Self { kernel, groups, .. } = *self;
            (self.listener.tell)(Progress { kernel, done, groups, instructions, elapsed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TOLD: AtomicU64 = AtomicU64::new(0);

    #[test]
    fn a_launch_is_told_of_after_enough_instructions_and_time() {
        tell_progress(Duration::from_nanos(1), |progress| {
            if progress.kernel == "told" {
                assert_eq!((progress.done, progress.groups), (1, 4));
                TOLD.store(progress.instructions, Ordering::Relaxed);
            }
        });
        let watch = Watch::new("told", 4).expect("somebody listens");
        watch.add(10, true);
        assert_eq!(TOLD.load(Ordering::Relaxed), 0, "too early");
        watch.add(LOOK, false);
        assert_eq!(TOLD.load(Ordering::Relaxed), LOOK + 10);
    }
}
