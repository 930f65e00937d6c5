//! Why a wave cannot go on.

use crate::memory::{AccessFault, LaneFault};
use crate::report::{LdsFault, Problem, Segment};

/// The end of a wave that did something wrong.
#[derive(Debug, Clone)]
pub(in crate::exec) struct Trap {
    pub problem: Problem,
    /// The lane that did it, unless the wave did it as a whole.
    pub lane: Option<u32>,
    pub notes: Vec<String>,
}

impl Trap {
    pub fn new(problem: impl Into<Problem>) -> Self {
        Self { problem: problem.into(), lane: None, notes: Vec::new() }
    }

    pub fn access(segment: Segment, fault: AccessFault) -> Self {
        Self::new(Problem::Access { segment, fault })
    }

    pub fn lane(segment: Segment, fault: LaneFault) -> Self {
        Self { lane: Some(fault.lane), ..Self::access(segment, fault.fault) }
    }

    pub fn local(lane: usize, fault: LdsFault) -> Self {
        Self { lane: u32::try_from(lane).ok(), ..Self::new(fault) }
    }

    pub fn note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }
}
