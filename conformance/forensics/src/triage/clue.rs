//! What a report of the software device points at.

use softhip::memory::FaultKind;
use softhip::report::{LaunchProblem, LdsProblem, Problem};

use super::hypothesis::Hypothesis;

/// The hypothesis that a problem is a case of; `None` for one that may have several causes, or none of them.
pub fn points_at(problem: &Problem) -> Option<Hypothesis> {
    match problem {
        Problem::Access { fault, .. } => match fault.kind {
            FaultKind::UseAfterFree { .. } => Some(Hypothesis::UseAfterFree),
            FaultKind::OutOfBounds { .. } | FaultKind::Reserved { .. } => Some(Hypothesis::Extents),
            FaultKind::Misaligned { .. } => Some(Hypothesis::Alignment),
            FaultKind::Race { .. } => Some(Hypothesis::Race),
            // A pointer that is null or wild may be an allocation that failed, or anything else.
            FaultKind::Null
            | FaultKind::WildPointer
            | FaultKind::Uninitialised { .. }
            | FaultKind::ReadOnly { .. } => None,
        },
        Problem::Lds { fault } => match fault.problem {
            LdsProblem::OutOfBounds { .. } => Some(Hypothesis::Extents),
            LdsProblem::Misaligned { .. } => Some(Hypothesis::Alignment),
            LdsProblem::Race { .. } => Some(Hypothesis::Race),
            LdsProblem::Uninitialised { .. } => None,
        },
        Problem::StreamRace { first, second, .. } => {
            let copies = first.kernel.is_none() && second.kernel.is_none();
            Some(if copies { Hypothesis::Overlap } else { Hypothesis::Race })
        }
        Problem::HostAccess { writes: true, .. } => Some(Hypothesis::Staging),
        Problem::HostAccess { writes: false, .. } => Some(Hypothesis::Race),
        Problem::DoubleFree { .. } => Some(Hypothesis::UseAfterFree),
        Problem::Launch { problem, .. } => match problem {
            LaunchProblem::MissingArgument { .. }
            | LaunchProblem::ExtraArguments { .. }
            | LaunchProblem::ShortArguments { .. } => Some(Hypothesis::Extents),
            LaunchProblem::StaleArgument { .. } => Some(Hypothesis::UseAfterFree),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a problem may be the trace of another one: a byte is read that nothing has written, because too little was written, or too late.
pub fn is_ambiguous(problem: &Problem) -> bool {
    match problem {
        Problem::Access { fault, .. } => matches!(fault.kind, FaultKind::Uninitialised { .. }),
        Problem::Lds { fault } => matches!(fault.problem, LdsProblem::Uninitialised { .. }),
        _ => false,
    }
}

/// Whether an access went through a pointer that is no allocation's.
pub fn through_no_allocation(problem: &Problem) -> bool {
    matches!(problem, Problem::Access { fault, .. } if matches!(fault.kind, FaultKind::Null | FaultKind::WildPointer))
}

/// Whether the problem is one that the program lives with: it ends after it as it would without.
pub const fn is_harmless(problem: &Problem) -> bool {
    matches!(problem, Problem::Leak { .. })
}
