//! The state of a device besides the bytes of its memory.

use std::collections::BTreeSet;

use hip_api::Code;

use super::modules::Modules;
use super::{LaunchRecord, Options, Selection};
use crate::memory::{FaultKind, Memory};
use crate::report::{Problem, Report};
use crate::sched::{Scheduler, StreamError};

#[derive(Debug)]
pub(super) struct State {
    pub(super) sched: Scheduler,
    pub(super) modules: Modules,
    pub(super) reports: Vec<Report>,
    pub(super) notes: Vec<Report>,
    /// Launches that were refused, if failures are recorded.
    pub(super) refused: Vec<(Report, LaunchRecord)>,
    pub(super) fault: Option<Code>,
    /// Findings are no fault.
    pub(super) forgives: bool,
    pub(super) failing_allocation: Option<u64>,
    pub(super) selection: Selection,
    pub(super) label_by_arguments: bool,
    /// Launches so far.
    pub(super) launched: u64,
    /// Whether each kernel that was launched was selected, once per kernel and answer. Kept if there is a selection.
    known_kernels: BTreeSet<(String, bool)>,
    /// Those of `known_kernels` that nobody has asked for yet.
    pub(super) new_kernels: Vec<(String, bool)>,
}

impl State {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            sched: Scheduler::new(options.policy, options.checks, options.limits),
            modules: Modules::default(),
            reports: Vec::new(),
            notes: Vec::new(),
            refused: Vec::new(),
            fault: None,
            forgives: false,
            failing_allocation: None,
            selection: Selection::default(),
            label_by_arguments: false,
            launched: 0,
            known_kernels: BTreeSet::new(),
            new_kernels: Vec::new(),
        }
    }

    /// Counts a launch of `kernel`. Is it one of those that are checked in full?
    pub(super) fn selects(&mut self, kernel: &str) -> bool {
        self.launched += 1;
        if self.selection == Selection::default() {
            return true;
        }
        let Selection { kernel: part, launches } = &self.selection;
        let selected = part.as_ref().is_none_or(|part| kernel.contains(part.as_str()))
            && launches.as_ref().is_none_or(|launches| launches.contains(&self.launched));
        let known = (kernel.to_owned(), selected);
        if !self.known_kernels.contains(&known) {
            self.new_kernels.push(known.clone());
            self.known_kernels.insert(known);
        }
        selected
    }

    /// Takes over what the scheduler found. The first finding is the device's fault.
    pub(super) fn collect(&mut self) {
        for report in self.sched.take_findings() {
            if !self.forgives {
                self.fault.get_or_insert(sticky_code(&report.problem));
            }
            self.reports.push(report);
        }
        self.notes.extend(self.sched.take_notes());
    }

    /// Takes over what the scheduler found, and fails if that, or anything before, was a fault.
    pub(super) fn settle(&mut self) -> Result<(), Code> {
        self.collect();
        self.fault.map_or(Ok(()), Err)
    }

    /// What every call answers before it does anything.
    pub(super) fn refusal(&self) -> Option<Code> {
        self.fault.filter(|_| !self.sched.checks().go_on)
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
