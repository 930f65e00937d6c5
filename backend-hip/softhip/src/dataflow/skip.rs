//! Branches that save time: over instructions that do nothing while EXEC is zero.

use std::collections::{BTreeMap, BTreeSet};

use super::dead::is_unread;
use super::effects::{Effects, is_vector};
use super::{indexes_registers, successors};
use crate::isa::inst::scalar;
use crate::isa::table::Ty;
use crate::isa::{Format, Inst, Op, Operand};
use crate::waits::RegisterSet;

/// What is known while a wave without a lane goes through what the branch jumps over.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Point {
    /// Scalar pairs that are zero, by their first register.
    zero: u128,
    /// Registers that may differ from what they were at the branch.
    changed: RegisterSet,
}

impl Point {
    fn is_zero(&self, pair: Operand) -> bool {
        match pair {
            Operand::Scalar(first) => self.zero >> first & 1 == 1,
            Operand::Int(0) => true,
            _ => false,
        }
    }

    fn merge(self, other: Point) -> Point {
        Point { zero: self.zero & other.zero, changed: self.changed.or(&other.changed) }
    }

    /// The state after an instruction; `None` where it does something that could be seen.
    fn step(mut self, inst: &Inst, effects: &Effects) -> Option<Point> {
        let written = match inst.format {
            // Without a lane these write scalar registers alone, and no memory. Matrix products and single lanes do not ask EXEC.
            Format::Mai => effects.writes,
            _ if inst.op == Op::v_writelane_b32 => effects.writes,
            format if is_vector(format) => effects.writes.scalar(),
            Format::Smem => return None,
            Format::Sopp => match inst.op {
                Op::s_nop | Op::s_waitcnt | Op::s_setprio | Op::s_sleep | Op::s_branch => RegisterSet::EMPTY,
                _ if inst.branch_target().is_some() => RegisterSet::EMPTY,
                _ => return None,
            },
            _ if matches!(inst.op, Op::s_setreg_b32 | Op::s_setreg_imm32_b32 | Op::s_getreg_b32) => {
                return None;
            }
            _ => effects.writes,
        };
        let [a, b] = [inst.src[0], inst.src[1]].map(|source| self.is_zero(source));
        let exec = Operand::Scalar(scalar::EXEC);
        let exec_was_zero = self.is_zero(exec);
        let zero = match inst.op {
            // A compare gives 0 for lanes that are off.
            _ if is_vector(inst.format) => inst.operand_types()[0] == Ty::MASK,
            Op::s_mov_b64 | Op::s_andn2_b64 => a,
            Op::s_or_b64 | Op::s_xor_b64 => a && b,
            Op::s_and_b64 => a || b,
            Op::s_and_saveexec_b64
            | Op::s_or_saveexec_b64
            | Op::s_xor_saveexec_b64
            | Op::s_andn2_saveexec_b64 => exec_was_zero,
            _ => false,
        };
        let exec_zero = match inst.op {
            Op::s_and_saveexec_b64 => exec_was_zero || a,
            Op::s_or_saveexec_b64 | Op::s_xor_saveexec_b64 => exec_was_zero && a,
            Op::s_andn2_saveexec_b64 => a,
            _ if inst.dst == exec => zero,
            _ => exec_was_zero && !written.meets(&RegisterSet::of(exec, 2)),
        };
        for pair in 0..127u8 {
            if written.meets(&RegisterSet::of(Operand::Scalar(pair), 2)) {
                self.zero &= !(1 << pair);
            }
        }
        if let Operand::Scalar(first) = inst.dst
            && zero
        {
            self.zero |= 1 << first;
        }
        self.zero &= !(1 << scalar::EXEC);
        self.zero |= u128::from(exec_zero) << scalar::EXEC;
        // What stays zero has not changed: EXEC was zero at the branch.
        let kept = if exec_zero { RegisterSet::of(exec, 2) } else { RegisterSet::EMPTY };
        self.changed = self.changed.or(&written.without(&kept));
        Some(self)
    }
}

/// Whether a branch on EXEC saves time and does nothing else.
///
/// The branch `index` of `code` is an `s_cbranch_execz` or `s_cbranch_execnz`. A wave without a lane that went the way of the others
/// would do nothing that could be seen before it came to where waves without a lane go, and would come there with every register as it
/// was that is still read. So the two ways are the same for it.
pub fn skips_nothing(code: &[Inst], index: usize) -> bool {
    let inst = &code[index];
    let Some(ways) = successors(code, index).filter(|ways| ways.len() == 2) else { return false };
    let (empty, other) = match inst.op {
        Op::s_cbranch_execz => (ways[1], ways[0]),
        Op::s_cbranch_execnz => (ways[0], ways[1]),
        _ => return false,
    };
    if indexes_registers(code) {
        return false;
    }
    let start = Point { zero: 1 << scalar::EXEC, changed: RegisterSet::EMPTY };
    let mut known = BTreeMap::from([(other, start)]);
    let mut edges: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut waiting = BTreeSet::from([other]);
    while let Some(at) = waiting.pop_first() {
        if at == empty {
            continue;
        }
        let (inst, point) = (&code[at], known[&at]);
        let Some(after) = point.step(inst, &Effects::of(inst)) else { return false };
        let Some(mut next) = successors(code, at).filter(|next| !next.is_empty()) else { return false };
        let exec_zero = after.is_zero(Operand::Scalar(scalar::EXEC));
        let vcc_zero = after.is_zero(Operand::VCC);
        // Branches whose way is known: the first successor is the next instruction, the second one the target.
        match inst.op {
            Op::s_cbranch_execz if exec_zero => drop(next.remove(0)),
            Op::s_cbranch_execnz if exec_zero => next.truncate(1),
            Op::s_cbranch_vccz if vcc_zero => drop(next.remove(0)),
            Op::s_cbranch_vccnz if vcc_zero => next.truncate(1),
            _ => {}
        }
        for &to in &next {
            let merged = known.get(&to).map_or(after, |known| known.merge(after));
            if known.insert(to, merged) != Some(merged) {
                waiting.insert(to);
            }
        }
        edges.insert(at, next);
    }
    // A wave that might go in circles might never come there.
    let Some(end) = known.get(&empty).filter(|_| is_acyclic(&edges, other, empty)) else { return false };
    // The lanes of a vector register that changed are not known: no mask holds them.
    end.is_zero(Operand::Scalar(scalar::EXEC)) && is_unread(code, &[empty], &end.changed, 0)
}

/// Whether no way along `edges` from `start` comes to an instruction twice before it comes to `end`.
fn is_acyclic(edges: &BTreeMap<usize, Vec<usize>>, start: usize, end: usize) -> bool {
    let mut done = BTreeSet::from([end]);
    let mut open = BTreeSet::new();
    let mut stack = vec![(start, false)];
    while let Some((at, left)) = stack.pop() {
        if left {
            open.remove(&at);
            done.insert(at);
            continue;
        }
        if done.contains(&at) {
            continue;
        }
        if !open.insert(at) {
            return false;
        }
        stack.push((at, true));
        for &to in edges.get(&at).into_iter().flatten() {
            if open.contains(&to) {
                return false;
            }
            stack.push((to, false));
        }
    }
    true
}
