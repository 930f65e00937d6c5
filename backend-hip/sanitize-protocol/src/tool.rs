//! The tools, named as compute-sanitizer names them where it has them.

use serde::{Deserialize, Serialize};
use softhip::memory::{Checks, FaultKind};
use softhip::report::{LdsProblem, Problem, Segment};

/// A group of checks that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// Accesses of kernels: bounds, lifetimes, permissions, alignment.
    Memcheck,
    /// Reads of bytes that nothing has written.
    Initcheck,
    /// Accesses of workgroups, waves or streams with no order between them.
    Racecheck,
    /// Barriers that some threads never reach, missing waits, kernels that do not end.
    Synccheck,
    /// Memory that is still allocated when the program ends.
    Leakcheck,
    /// Calls of the host: arguments, sizes, lifetimes, handles.
    Hostcheck,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Memcheck, Self::Initcheck, Self::Racecheck, Self::Synccheck, Self::Leakcheck, Self::Hostcheck];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memcheck => "memcheck",
            Self::Initcheck => "initcheck",
            Self::Racecheck => "racecheck",
            Self::Synccheck => "synccheck",
            Self::Leakcheck => "leakcheck",
            Self::Hostcheck => "hostcheck",
        }
    }

    /// What it finds, for `--help`.
    pub fn about(self) -> &'static str {
        match self {
            Self::Memcheck => "accesses of kernels: bounds, lifetimes, permissions, alignment",
            Self::Initcheck => "reads of bytes that nothing has written",
            Self::Racecheck => "accesses of workgroups, waves or streams with no order between them",
            Self::Synccheck => {
                "barriers that some threads never reach, missing waits, kernels that do not end"
            }
            Self::Leakcheck => "memory that is still allocated when the program ends",
            Self::Hostcheck => "calls of the host: arguments, sizes, lifetimes, missing synchronisation",
        }
    }

    /// The tool that finds a problem. `None`: the software device cannot run the code, which is no tool's finding.
    pub fn of(problem: &Problem) -> Option<Self> {
        Some(match problem {
            Problem::Access { segment, fault } => match (&fault.kind, segment) {
                (FaultKind::Uninitialised { .. }, _) => Self::Initcheck,
                (FaultKind::Race { .. }, _) => Self::Racecheck,
                (_, Segment::Copy) => Self::Hostcheck,
                _ => Self::Memcheck,
            },
            Problem::Lds { fault } => match fault.problem {
                LdsProblem::Uninitialised { .. } => Self::Initcheck,
                LdsProblem::Race { .. } => Self::Racecheck,
                LdsProblem::OutOfBounds { .. } | LdsProblem::Misaligned { .. } => Self::Memcheck,
            },
            Problem::Trap { .. } => Self::Memcheck,
            Problem::StreamRace { .. } => Self::Racecheck,
            Problem::DivergentBarrier { .. }
            | Problem::MissingWait { .. }
            | Problem::Hazard { .. }
            | Problem::Budget { .. } => Self::Synccheck,
            Problem::Leak { .. } => Self::Leakcheck,
            Problem::Launch { .. }
            | Problem::DoubleFree { .. }
            | Problem::HostAccess { .. }
            | Problem::InvalidFree { .. }
            | Problem::Handle { .. } => Self::Hostcheck,
            Problem::Instruction { .. } | Problem::HostRequest { .. } | Problem::CodeObject { .. } => {
                return None;
            }
        })
    }

    /// What the device has to check for `tools`.
    pub fn checks(tools: &[Self]) -> Checks {
        Checks {
            uninitialised: tools.contains(&Self::Initcheck),
            races: tools.contains(&Self::Racecheck),
            waits: tools.contains(&Self::Synccheck),
            ..Checks::BOUNDS
        }
    }
}
