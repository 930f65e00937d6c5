//! What is known on a way to a point of a kernel: masks, numbers, and how they compare.

use std::collections::BTreeMap;

use super::numbers::{ALL, Numbers, Relation};
use crate::isa::inst::scalar;
use crate::isa::{Format, Inst, Op, Operand};

/// What is known of a scalar pair.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Mask {
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

/// A side of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Side {
    Register(u8),
    Constant(u32),
}

impl Side {
    fn of(operand: Operand) -> Option<Self> {
        match operand {
            Operand::Scalar(scalar::NULL) => None,
            Operand::Scalar(register) => Some(Side::Register(register)),
            Operand::Int(value) => Some(Side::Constant(i32::from(value).cast_unsigned())),
            Operand::Literal(value) => Some(Side::Constant(value)),
            _ => None,
        }
    }
}

/// What is known of SCC.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Scc {
    Any,
    Known(bool),
    /// It says whether this holds of registers that have not changed since.
    Compares(Side, Side, Relation),
}

/// What is known on a way to a point. What is not in a map is not known.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Point {
    /// Pairs, by their first registers.
    masks: BTreeMap<u8, Mask>,
    numbers: BTreeMap<u8, Numbers>,
    /// Outcomes that comparisons of two registers can have, the smaller one first, with a sign or without.
    relations: BTreeMap<(u8, u8, bool), u8>,
    scc: Scc,
    /// The pair whose lanes went off last, of some that were on: if none is left, it has some.
    left: Option<u8>,
}

impl Point {
    /// Where a wave begins, with some lane on.
    pub fn start() -> Self {
        Point {
            masks: BTreeMap::from([(scalar::EXEC, Mask::Some)]),
            numbers: BTreeMap::new(),
            relations: BTreeMap::new(),
            scc: Scc::Any,
            left: None,
        }
    }

    fn mask(&self, operand: Operand) -> Mask {
        match operand {
            Operand::Scalar(first) => self.masks.get(&first).copied().unwrap_or(Mask::Any),
            Operand::Int(0) => Mask::Zero,
            Operand::Int(-1) => Mask::Ones,
            Operand::Int(_) => Mask::Some,
            _ => Mask::Any,
        }
    }

    fn know(&mut self, pair: u8, mask: Mask) {
        match mask {
            Mask::Any => self.masks.remove(&pair),
            // What is written there is gone.
            _ if pair == scalar::NULL => None,
            known => self.masks.insert(pair, known),
        };
    }

    /// Whether the same masks are known.
    pub fn has_masks_of(&self, other: &Point) -> bool {
        self.masks == other.masks
    }

    /// What holds on either of two ways.
    pub fn merge(&self, other: &Point) -> Point {
        let masks = self.masks.iter().filter_map(|(pair, mask)| {
            let both = mask.merge(*other.masks.get(pair)?);
            (both != Mask::Any).then_some((*pair, both))
        });
        let numbers = self
            .numbers
            .iter()
            .filter_map(|(register, numbers)| Some((*register, numbers.or(other.numbers.get(register)?))))
            .filter(|(_, numbers)| !numbers.is_all());
        let relations = self.relations.iter().filter_map(|(sides, outcomes)| {
            let both = outcomes | other.relations.get(sides)?;
            (both != ALL).then_some((*sides, both))
        });
        Point {
            masks: masks.collect(),
            numbers: numbers.collect(),
            relations: relations.collect(),
            scc: if self.scc == other.scc { self.scc } else { Scc::Any },
            left: if self.left == other.left { self.left } else { None },
        }
    }

    /// Forgets what is about registers that are not in `live`: their index, SCC behind them all.
    pub fn keep(&mut self, live: &dyn Fn(u8) -> bool, scc: bool) {
        self.masks.retain(|pair, _| live(*pair) || live(*pair + 1));
        self.numbers.retain(|register, _| live(*register));
        self.relations.retain(|(a, b, _), _| live(*a) && live(*b));
        if !scc {
            self.scc = Scc::Any;
        }
        self.left = self.left.filter(|pair| live(*pair) || live(*pair + 1));
    }

    /// Forgets what is about registers that are written.
    fn forget(&mut self, written: &[u8]) {
        let gone = |register: u8| written.contains(&register);
        self.masks.retain(|pair, _| !gone(*pair) && !gone(*pair + 1));
        self.numbers.retain(|register, _| !gone(*register));
        self.relations.retain(|(a, b, _), _| !gone(*a) && !gone(*b));
        let exec = gone(scalar::EXEC) || gone(scalar::EXEC + 1);
        self.left = self.left.filter(|pair| !exec && !gone(*pair) && !gone(*pair + 1));
        if let Scc::Compares(a, b, _) = self.scc {
            let is_gone = |side: Side| matches!(side, Side::Register(register) if gone(register));
            if is_gone(a) || is_gone(b) {
                self.scc = Scc::Any;
            }
        }
    }

    /// What holds behind an instruction that writes the scalar registers `written` and, or not, SCC: one point, or one for each value of
    /// SCC where a mask of all lanes or none is made of it.
    pub fn step(mut self, inst: &Inst, written: &[u8], writes_scc: bool) -> Vec<Point> {
        if inst.op == Op::s_cselect_b64
            && let Operand::Scalar(first) = inst.dst
        {
            let sources = [inst.src[0], inst.src[1]].map(|source| self.mask(source));
            if sources.iter().all(|source| *source != Mask::Any) {
                let mut both = Vec::new();
                for (holds, mask) in [(true, sources[0]), (false, sources[1])] {
                    let mut point = self.clone();
                    if point.assume(holds) {
                        point.forget(written);
                        point.know(first, mask);
                        both.push(point);
                    }
                }
                return both;
            }
        }
        let exec = self.mask(Operand::Scalar(scalar::EXEC));
        let [a, b] = [inst.src[0], inst.src[1]].map(|source| self.mask(source));
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
            _ => (Mask::Any, None),
        };
        let number = match (inst.op, inst.src[0]) {
            (Op::s_mov_b32, Operand::Scalar(from)) => self.numbers.get(&from).cloned(),
            (Op::s_mov_b32, source) => match Side::of(source) {
                Some(Side::Constant(value)) => Some(Numbers::of(value)),
                _ => None,
            },
            _ => None,
        };
        self.forget(written);
        if let (Operand::Scalar(first), Format::Sop1 | Format::Sop2) = (inst.dst, inst.format) {
            if result != Mask::Any {
                self.know(first, result);
            }
            if let (Some(number), true) = (number, first != scalar::NULL) {
                self.numbers.insert(first, number);
            }
        }
        if let Some(exec) = new_exec {
            self.know(scalar::EXEC, exec);
        }
        let own = Operand::Scalar(scalar::EXEC);
        if let (Op::s_andn2_b64, Operand::Scalar(pair)) = (inst.op, inst.src[1])
            && (inst.dst, inst.src[0]) == (own, own)
            && matches!(exec, Mask::Some | Mask::Ones)
        {
            self.left = Some(pair);
        }
        if writes_scc {
            self.scc = match (Relation::of(inst.op), Side::of(inst.src[0]), Side::of(inst.src[1])) {
                (Some(relation), Some(a), Some(b)) => Scc::Compares(a, b, relation),
                _ => Scc::Any,
            };
        }
        vec![self]
    }

    /// Lets SCC be `holds`; whether it can be.
    fn assume(&mut self, holds: bool) -> bool {
        let possible = match self.scc {
            Scc::Any => true,
            Scc::Known(known) => known == holds,
            Scc::Compares(a, b, relation) => {
                self.compare(a, b, if holds { relation } else { relation.not() })
            }
        };
        self.scc = Scc::Known(holds);
        possible
    }

    /// Lets a comparison hold; whether it can.
    fn compare(&mut self, a: Side, b: Side, relation: Relation) -> bool {
        match (a, b) {
            (Side::Constant(a), Side::Constant(b)) => {
                !Numbers::of(a).and(&Numbers::related(relation, b)).is_empty()
            }
            (Side::Constant(_), Side::Register(_)) => self.compare(b, a, relation.turned()),
            (Side::Register(register), Side::Constant(constant)) => {
                let mut left = Numbers::related(relation, constant);
                if let Some(known) = self.numbers.get(&register) {
                    left = left.and(known);
                }
                let possible = !left.is_empty();
                self.numbers.insert(register, left);
                possible
            }
            (Side::Register(x), Side::Register(y)) if x > y => self.compare(b, a, relation.turned()),
            (Side::Register(x), Side::Register(y)) => {
                let signs = if relation.is_equality() { vec![false, true] } else { vec![relation.signed] };
                signs.into_iter().all(|signed| {
                    let outcomes = self.relations.entry((x, y, signed)).or_insert(ALL);
                    *outcomes &= relation.outcomes;
                    *outcomes != 0
                })
            }
        }
    }

    /// Goes a way of a branch; whether there is such a way.
    pub fn goes(&mut self, branch: Op, taken: bool) -> bool {
        let (pair, zero) = match branch {
            Op::s_cbranch_execz => (scalar::EXEC, taken),
            Op::s_cbranch_execnz => (scalar::EXEC, !taken),
            Op::s_cbranch_vccz => (scalar::VCC, taken),
            Op::s_cbranch_vccnz => (scalar::VCC, !taken),
            Op::s_cbranch_scc1 => return self.assume(taken),
            Op::s_cbranch_scc0 => return self.assume(!taken),
            _ => return true,
        };
        let known = self.mask(Operand::Scalar(pair));
        let possible = match known {
            Mask::Any => true,
            Mask::Zero => zero,
            Mask::Ones | Mask::Some => !zero,
        };
        if zero {
            self.know(pair, Mask::Zero);
            if let (scalar::EXEC, Some(left)) = (pair, self.left)
                && self.mask(Operand::Scalar(left)) == Mask::Any
            {
                self.know(left, Mask::Some);
            }
        } else if known != Mask::Ones {
            self.know(pair, Mask::Some);
        }
        possible
    }
}
