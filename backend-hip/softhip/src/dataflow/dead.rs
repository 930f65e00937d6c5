//! Whether what an instruction writes is ever read.

use std::collections::BTreeSet;

use super::effects::{Effects, exec, is_vector};
use super::{indexes_registers, successors};
use crate::isa::inst::scalar;
use crate::isa::{Format, Inst, Op, Operand};
use crate::waits::RegisterSet;

/// What is known at a point behind the instruction in question.
#[derive(Clone, PartialEq, Eq)]
struct Point {
    /// Registers that may still hold what it wrote.
    written: RegisterSet,
    /// Scalar pairs that hold, as masks, all lanes in which it wrote, by their first register: bit n for pair n.
    around: u128,
}

impl Point {
    fn holds_all(&self, pair: Operand) -> bool {
        match pair {
            Operand::Scalar(first) => self.around >> first & 1 == 1,
            Operand::Int(-1) => true,
            _ => false,
        }
    }

    fn set(&mut self, pair: u8, holds: bool) {
        if holds {
            self.around |= 1 << pair;
        } else {
            self.around &= !(1 << pair);
        }
    }

    /// Keeps what holds on both ways; true if that is new.
    fn merge(&mut self, other: &Point) -> bool {
        let both = Point { written: self.written.or(&other.written), around: self.around & other.around };
        let new = both != *self;
        *self = both;
        new
    }

    fn step(&mut self, inst: &Inst, effects: &Effects) {
        // Matrix products write all lanes, whatever EXEC is.
        let everywhere = self.holds_all(Operand::Scalar(scalar::EXEC)) || inst.format == Format::Mai;
        let replaced =
            if everywhere || !is_vector(inst.format) { effects.replaces } else { effects.replaces.scalar() };
        self.written = self.written.without(&replaced);
        self.masks(inst, effects);
    }

    /// What becomes of the masks.
    fn masks(&mut self, inst: &Inst, effects: &Effects) {
        let sources = [inst.src[0], inst.src[1]].map(|source| self.holds_all(source));
        let exec = self.holds_all(Operand::Scalar(scalar::EXEC));
        for pair in 0..scalar::FILE_LEN - 1 {
            let pair = u8::try_from(pair).unwrap_or(u8::MAX);
            if effects.writes.meets(&RegisterSet::of(Operand::Scalar(pair), 2)) {
                self.set(pair, false);
            }
        }
        let holds = match inst.op {
            Op::s_mov_b64 => sources[0],
            Op::s_or_b64 => sources[0] || sources[1],
            Op::s_and_b64 => sources[0] && sources[1],
            Op::s_and_saveexec_b64 => {
                self.set(scalar::EXEC, sources[0] && exec);
                exec
            }
            Op::s_or_saveexec_b64 => {
                self.set(scalar::EXEC, sources[0] || exec);
                exec
            }
            Op::s_xor_saveexec_b64 | Op::s_andn2_saveexec_b64 | Op::s_orn2_saveexec_b64 => exec,
            _ => return,
        };
        if let Operand::Scalar(first) = inst.dst {
            self.set(first, holds);
        }
    }
}

/// Whether, on every way from the instruction `index` of `code` on, all of `written`, which it writes, is replaced before it is read.
///
/// Vector registers are replaced in the lanes that are on. The masks of lanes are followed from the instruction on: a write replaces
/// them all where EXEC holds, in every case, the lanes in which the instruction wrote.
pub fn is_dead(code: &[Inst], index: usize, written: &RegisterSet) -> bool {
    if indexes_registers(code) {
        return false;
    }
    let everywhere = code[index].format == Format::Mai || code[index].op == Op::v_writelane_b32;
    let mut around = if everywhere { 0 } else { 1 << scalar::EXEC };
    if written.meets(&exec()) {
        around = 0;
    }
    successors(code, index).is_some_and(|next| is_unread(code, &next, written, around))
}

/// Whether, on every way from the instructions `from` on, all of `written` is replaced before it is read. The lanes in question are in the
/// masks `around`, by their first registers.
pub(super) fn is_unread(code: &[Inst], from: &[usize], written: &RegisterSet, around: u128) -> bool {
    let mut known: Vec<Option<Point>> = vec![None; code.len()];
    let mut waiting: BTreeSet<usize> = from.iter().copied().collect();
    for &at in from {
        known[at] = Some(Point { written: *written, around });
    }
    while let Some(at) = waiting.pop_first() {
        let Some(mut point) = known[at].clone() else { continue };
        if point.written.is_empty() {
            continue;
        }
        let effects = Effects::of(&code[at]);
        if effects.reads.meets(&point.written) {
            return false;
        }
        point.step(&code[at], &effects);
        let Some(next) = successors(code, at) else { return false };
        for to in next {
            let grown = match &mut known[to] {
                Some(known) => known.merge(&point),
                unknown => {
                    *unknown = Some(point.clone());
                    true
                }
            };
            if grown {
                waiting.insert(to);
            }
        }
    }
    true
}
