//! Branches that can go one way only, whatever the input: on masks that are known where they stand.
//!
//! Compilers route several ends of a region through one place and tell them apart by masks of all lanes or none. Where such a mask is the
//! same on all ways to a branch, one of its directions does not exist.

use std::collections::BTreeSet;

use super::effects::Effects;
use super::{indexes_registers, successors};
use crate::isa::inst::scalar;
use crate::isa::{Format, Inst, Op, Operand};
use crate::waits::RegisterSet;

/// What is known of a scalar pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mask {
    /// Nothing.
    Any,
    /// No bit is set.
    Zero,
    /// All bits are.
    Ones,
    /// Some bit is.
    Some,
}

impl Mask {
    fn merge(self, other: Mask) -> Mask {
        match (self, other) {
            (a, b) if a == b => a,
            (Mask::Ones | Mask::Some, Mask::Ones | Mask::Some) => Mask::Some,
            _ => Mask::Any,
        }
    }

    fn not(self) -> Mask {
        match self {
            Mask::Zero => Mask::Ones,
            Mask::Ones => Mask::Zero,
            Mask::Any | Mask::Some => Mask::Any,
        }
    }

    fn and(self, other: Mask) -> Mask {
        match (self, other) {
            (Mask::Zero, _) | (_, Mask::Zero) => Mask::Zero,
            (Mask::Ones, x) | (x, Mask::Ones) => x,
            _ => Mask::Any,
        }
    }

    fn or(self, other: Mask) -> Mask {
        match (self, other) {
            (Mask::Ones, _) | (_, Mask::Ones) => Mask::Ones,
            (Mask::Zero, x) | (x, Mask::Zero) => x,
            (Mask::Some, _) | (_, Mask::Some) => Mask::Some,
            _ => Mask::Any,
        }
    }
}

/// What is known of all scalar pairs at a point, by their first registers.
#[derive(Clone, PartialEq, Eq)]
struct Point {
    pairs: [Mask; scalar::FILE_LEN],
}

impl Point {
    fn of(&self, operand: Operand) -> Mask {
        match operand {
            Operand::Scalar(first) => self.pairs[usize::from(first)],
            Operand::Int(0) => Mask::Zero,
            Operand::Int(-1) => Mask::Ones,
            Operand::Int(_) => Mask::Some,
            _ => Mask::Any,
        }
    }

    fn merge(&mut self, other: &Point) -> bool {
        let merged = std::array::from_fn(|pair| self.pairs[pair].merge(other.pairs[pair]));
        let new = merged != self.pairs;
        self.pairs = merged;
        new
    }

    fn step(&mut self, inst: &Inst, effects: &Effects) {
        let exec = self.of(Operand::Scalar(scalar::EXEC));
        let [a, b] = [inst.src[0], inst.src[1]].map(|source| self.of(source));
        let (result, new_exec) = match inst.op {
            Op::s_mov_b64 => (a, None),
            Op::s_not_b64 => (a.not(), None),
            Op::s_and_b64 => (a.and(b), None),
            Op::s_or_b64 => (a.or(b), None),
            Op::s_andn2_b64 => (a.and(b.not()), None),
            Op::s_orn2_b64 => (a.or(b.not()), None),
            Op::s_xor_b64 if b == Mask::Ones => (a.not(), None),
            Op::s_xor_b64 if b == Mask::Zero => (a, None),
            Op::s_and_saveexec_b64 => (exec, Some(exec.and(a))),
            Op::s_or_saveexec_b64 => (exec, Some(exec.or(a))),
            Op::s_xor_saveexec_b64 | Op::s_andn2_saveexec_b64 | Op::s_orn2_saveexec_b64 => {
                (exec, Some(Mask::Any))
            }
            _ => (Mask::Any, None),
        };
        for (pair, known) in (0u8..).zip(&mut self.pairs) {
            if effects.writes.meets(&RegisterSet::of(Operand::Scalar(pair), 2)) {
                *known = Mask::Any;
            }
        }
        if let (Operand::Scalar(first), Format::Sop1 | Format::Sop2) = (inst.dst, inst.format) {
            self.pairs[usize::from(first)] = result;
        }
        if let Some(exec) = new_exec {
            self.pairs[usize::from(scalar::EXEC)] = exec;
        }
    }

    /// What is known besides where a branch went a way.
    fn gone(&mut self, branch: Op, taken: bool) {
        let (pair, zero) = match branch {
            Op::s_cbranch_execz => (scalar::EXEC, taken),
            Op::s_cbranch_execnz => (scalar::EXEC, !taken),
            Op::s_cbranch_vccz => (scalar::VCC, taken),
            Op::s_cbranch_vccnz => (scalar::VCC, !taken),
            _ => return,
        };
        let known = &mut self.pairs[usize::from(pair)];
        if zero {
            *known = Mask::Zero;
        } else if *known != Mask::Ones {
            *known = Mask::Some;
        }
    }
}

/// Whether a branch may go a way, as far as the masks tell.
fn may_go(point: &Point, branch: Op, taken: bool) -> bool {
    let (pair, zero) = match branch {
        Op::s_cbranch_execz => (scalar::EXEC, taken),
        Op::s_cbranch_execnz => (scalar::EXEC, !taken),
        Op::s_cbranch_vccz => (scalar::VCC, taken),
        Op::s_cbranch_vccnz => (scalar::VCC, !taken),
        _ => return true,
    };
    match point.of(Operand::Scalar(pair)) {
        Mask::Any => true,
        Mask::Zero => zero,
        Mask::Ones | Mask::Some => !zero,
    }
}

/// What waves cannot do in a kernel, as far as the masks that it branches on tell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Impossible {
    /// Instructions that no wave comes to.
    pub instructions: BTreeSet<usize>,
    /// Ways of branches that no wave goes, as instruction and whether it is taken.
    pub ways: BTreeSet<(usize, bool)>,
}

/// What waves cannot do in a kernel whose instructions are `code`, from the first one on. A wave begins with some lane on.
pub fn impossible(code: &[Inst]) -> Impossible {
    if indexes_registers(code) || code.is_empty() {
        return Impossible::default();
    }
    let mut start = Point { pairs: [Mask::Any; scalar::FILE_LEN] };
    start.pairs[usize::from(scalar::EXEC)] = Mask::Some;
    let mut known: Vec<Option<Point>> = vec![None; code.len()];
    known[0] = Some(start);
    let mut waiting = BTreeSet::from([0]);
    while let Some(at) = waiting.pop_first() {
        let Some(mut point) = known[at].clone() else { continue };
        point.step(&code[at], &Effects::of(&code[at]));
        let Some(next) = successors(code, at) else { return Impossible::default() };
        let branches = next.len() == 2;
        for (way, to) in next.into_iter().enumerate() {
            let (taken, mut point) = (way == 1, point.clone());
            if branches && !may_go(&point, code[at].op, taken) {
                continue;
            }
            if branches {
                point.gone(code[at].op, taken);
            }
            let grown = match &mut known[to] {
                Some(known) => known.merge(&point),
                unknown => {
                    *unknown = Some(point);
                    true
                }
            };
            if grown {
                waiting.insert(to);
            }
        }
    }
    let mut impossible = Impossible::default();
    for (at, inst) in code.iter().enumerate() {
        let Some(mut point) = known[at].clone() else {
            impossible.instructions.insert(at);
            continue;
        };
        point.step(inst, &Effects::of(inst));
        let conditional = inst.branch_target().is_some() && inst.op != Op::s_branch;
        let ways = [false, true].into_iter().filter(|taken| conditional && !may_go(&point, inst.op, *taken));
        impossible.ways.extend(ways.map(|taken| (at, taken)));
    }
    impossible
}
