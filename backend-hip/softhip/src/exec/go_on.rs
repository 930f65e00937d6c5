//! Going on after a wrong access, so that one run finds the next one, too.
//!
//! The access is dropped for the lanes that are wrong: a load gives 0, a store and an atomic do nothing. A register that is used too
//! early has the value that it will have. Anything else that is wrong ends the workgroup.

use std::mem::{Discriminant, discriminant};

use super::core::cx::{Cx, Step};
use super::core::trap::Trap;
use super::core::uop::Uop;
use super::group::{Failure, carry_out};
use super::unwritten::Reached;
use crate::isa::Format;
use crate::memory::FaultKind;
use crate::report::{LdsProblem, Problem};
use crate::waits::Facts;

/// Wrong accesses after which a workgroup ends.
const LIMIT: u32 = 1024;

/// Something that is wrong at an instruction.
#[derive(Debug)]
pub(super) struct Finding {
    /// The first workgroup that did it.
    pub(super) group: u32,
    /// What it did.
    pub(super) failure: Failure,
    /// How often it was done, lanes counted one by one.
    pub(super) times: u64,
}

/// What is the same for findings that are told once.
#[derive(PartialEq)]
struct Key {
    sides: (Option<u64>, Option<u64>),
    problem: Discriminant<Problem>,
    access: Option<Discriminant<FaultKind>>,
    local: Option<Discriminant<LdsProblem>>,
}

impl Finding {
    /// A failure of a workgroup.
    pub(super) fn new(group: u32, failure: Failure) -> Self {
        Self { group, failure, times: 1 }
    }

    fn key(&self) -> Key {
        let problem = &self.failure.trap.problem;
        let (access, local) = match problem {
            Problem::Access { fault, .. } => (Some(discriminant(&fault.kind)), None),
            Problem::Lds { fault } => (None, Some(discriminant(&fault.problem))),
            _ => (None, None),
        };
        Key { sides: self.failure.sides(), problem: discriminant(problem), access, local }
    }
}

/// One finding for each instruction and kind, the first one first.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    /// Those of the latest workgroup.
    latest: (u32, u32),
}

impl Findings {
    /// Adds a finding. Workgroups come in their order. `false`: it is one too many for a workgroup.
    fn add(&mut self, finding: Finding) -> bool {
        let (group, count) = self.latest;
        let count = if group == finding.group { count + 1 } else { 1 };
        self.latest = (finding.group, count);
        let key = finding.key();
        match self.list.iter_mut().find(|known| known.key() == key) {
            Some(known) => known.times += finding.times,
            None => self.list.push(finding),
        }
        count < LIMIT
    }

    /// Its findings.
    pub(super) fn into_list(self) -> Vec<Finding> {
        self.list
    }

    /// One for each instruction and kind, that of the lowest workgroup, whichever thread ran it.
    pub(super) fn first_of_each(mut all: Vec<Finding>) -> Vec<Finding> {
        all.sort_by_key(|finding| finding.group);
        let mut findings = Self::default();
        for finding in all {
            findings.add(finding);
        }
        findings.list
    }
}

/// What to do with the instruction that is wrong.
enum Way {
    /// It runs as it is.
    AsItIs,
    /// It runs without a lane.
    Without(u32),
    /// It runs again, with the scalar registers without a value as zeros.
    Again,
    /// It does not run.
    Not,
}

impl Way {
    /// `None`: the wave cannot go on.
    fn of(c: &Cx<'_>, u: &Uop, trap: &Trap) -> Option<Self> {
        Some(match (&trap.problem, trap.lane) {
            (Problem::MissingWait { .. } | Problem::Hazard { .. }, _) => Self::AsItIs,
            (Problem::Access { .. }, None) if c.wave.poison & u.reads != 0 => Self::Again,
            (Problem::Access { .. } | Problem::Lds { .. }, Some(lane)) if can_repeat(u) => {
                Self::Without(lane)
            }
            (Problem::Access { .. } | Problem::Lds { .. }, _) => Self::Not,
            _ => return None,
        })
    }
}

/// The vector registers that an instruction writes.
fn written(u: &Uop) -> std::ops::Range<usize> {
    let count = Facts::of(&u.inst).writes.vector().iter().count();
    usize::from(u.dst)..usize::from(u.dst) + count
}

/// Whether an instruction that has stopped halfway still finds its addresses.
fn can_repeat(u: &Uop) -> bool {
    let (written, address) = (written(u), usize::from(u.src[0]));
    u.inst.format == Format::Global || !(written.contains(&address) || written.contains(&(address + 1)))
}

/// Goes on after a trap, if that can be, and adds to `findings` what the instruction did.
#[cold]
pub(super) fn go_on(c: &mut Cx<'_>, findings: &mut Findings) -> Step {
    let program = c.program;
    let Some(u) = c.wave.pc.checked_sub(1).and_then(|index| program.uop(index)) else { return Step::Trap };
    let exec = c.wave.exec();
    let mut dropped = None;
    let reached = c.wave.marks.as_mut().map(|marks| marks.take_reached()).unwrap_or_default();
    if !reached.is_empty() {
        c.trap = None;
        for Reached { failure, times } in reached {
            let trap = failure.trap.clone();
            if !findings.add(Finding { group: c.group.id(), failure, times }) {
                c.trap = Some(Box::new(trap));
                return Step::Trap;
            }
        }
        let step = carry_out(c, u);
        if step != Step::Trap {
            return step;
        }
    }
    let step = loop {
        let Some(trap) = c.trap.take() else { break Step::Trap };
        let Some(way) = Way::of(c, u, &trap) else {
            c.trap = Some(trap);
            break Step::Trap;
        };
        let failure = Failure { trap: (*trap).clone(), wave: c.wave.id, inst: Some(u.inst) };
        if !findings.add(Finding::new(c.group.id(), failure)) {
            c.trap = Some(trap);
            break Step::Trap;
        }
        let step = match way {
            Way::AsItIs => carry_out(c, u),
            Way::Again => {
                c.wave.poison &= !u.reads;
                c.wave.pc -= 1;
                Step::Next
            }
            Way::Not => {
                dropped = Some(exec);
                Step::Next
            }
            Way::Without(lane) => {
                let lanes = dropped.unwrap_or(0) | 1 << lane;
                dropped = Some(lanes);
                c.wave.set_exec(exec & !lanes);
                if exec == lanes { Step::Next } else { carry_out(c, u) }
            }
        };
        if step != Step::Trap {
            break step;
        }
    };
    if let Some(lanes) = dropped {
        c.wave.set_exec(exec);
        clear(c, u, lanes);
    }
    step
}

/// What a dropped load gives.
fn clear(c: &mut Cx<'_>, u: &Uop, lanes: u64) {
    for register in c.wave.v.get_mut(written(u)).into_iter().flatten() {
        for lane in super::access::active(lanes) {
            register[lane] = 0;
        }
    }
    let count = Facts::of(&u.inst).writes.scalar().iter().count();
    let first = usize::from(u.sdst);
    if count > 0
        && let Some(registers) = c.wave.s.get_mut(first..first + count)
    {
        registers.fill(0);
    }
}
