//! The state of a device besides the bytes of its memory.

use hip_api::Code;

use super::Options;
use super::modules::Modules;
use crate::memory::{FaultKind, Memory};
use crate::report::{Problem, Report};
use crate::sched::{Scheduler, StreamError};

#[derive(Debug)]
pub(super) struct State {
    pub(super) sched: Scheduler,
    pub(super) modules: Modules,
    pub(super) reports: Vec<Report>,
    pub(super) notes: Vec<Report>,
    pub(super) fault: Option<Code>,
    pub(super) failing_allocation: Option<u64>,
}

impl State {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            sched: Scheduler::new(options.policy, options.checks, options.limits),
            modules: Modules::default(),
            reports: Vec::new(),
            notes: Vec::new(),
            fault: None,
            failing_allocation: None,
        }
    }

    /// Takes over what the scheduler found. The first finding makes the device unusable.
    pub(super) fn collect(&mut self) {
        for report in self.sched.take_findings() {
            self.fault.get_or_insert(sticky_code(&report.problem));
            self.reports.push(report);
        }
        self.notes.extend(self.sched.take_notes());
    }

    /// Takes over what the scheduler found, and fails if that, or anything before, was a fault.
    pub(super) fn settle(&mut self) -> Result<(), Code> {
        self.collect();
        self.fault.map_or(Ok(()), Err)
    }

    pub(super) fn synchronise(&mut self, memory: &Memory) -> Result<(), Code> {
        self.sched.synchronise(memory);
        self.settle()
    }

    /// Counts an allocation down.
    pub(super) fn allocation_fails(&mut self) -> bool {
        match self.failing_allocation {
            Some(0 | 1) => {
                self.failing_allocation = None;
                true
            }
            Some(n) => {
                self.failing_allocation = Some(n - 1);
                false
            }
            None => false,
        }
    }
}

/// The code that a fault of queued work leaves behind.
fn sticky_code(problem: &Problem) -> Code {
    match problem {
        Problem::Access { fault, .. } if !matches!(fault.kind, FaultKind::Race { .. }) => {
            Code::ILLEGAL_ADDRESS
        }
        Problem::Budget { .. } => Code::LAUNCH_TIME_OUT,
        Problem::DoubleFree { .. } | Problem::InvalidFree { .. } => Code::INVALID_VALUE,
        _ => Code::LAUNCH_FAILURE,
    }
}

impl From<StreamError> for Code {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::DestroyedStream(_) | StreamError::DestroyedEvent(_) => Self::CONTEXT_IS_DESTROYED,
            StreamError::NotRecorded(_) => Self::INVALID_HANDLE,
            StreamError::NotReady(_) => Self::NOT_READY,
        }
    }
}
