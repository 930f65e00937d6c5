//! Branches that can go one way only, whatever the input: on masks and numbers that are known where they stand.
//!
//! Compilers route several ends of a region through one place and tell them apart by masks of all lanes or none, and ask again what the way
//! to a place has decided. So what is known is kept apart for each way that differs in it ([`Point`]), as long as it matters: a mask that
//! a comparison chooses is followed once as all lanes and once as none, with what the comparison says of its registers ([`numbers`]).

mod numbers;
mod point;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use self::point::Point;
use super::effects::Effects;
use super::{indexes_registers, successors};
use crate::isa::inst::scalar;
use crate::isa::{Inst, Op, Operand};
use crate::waits::RegisterSet;

/// Ways to a block that are told apart: more are taken together.
const APART: usize = 96;

/// What waves cannot do in a kernel, as far as the masks and numbers that it branches on tell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Impossible {
    /// Instructions that no wave comes to.
    pub instructions: BTreeSet<usize>,
    /// Ways of branches that no wave goes, as instruction and whether it is taken.
    pub ways: BTreeSet<(usize, bool)>,
}

/// What an instruction does to scalar registers.
struct Scalars {
    written: Vec<u8>,
    /// Bit n for register n; [`SCC`] for the condition bit.
    reads: u128,
    replaces: u128,
}

/// The place of SCC among scalar registers: that of `null`, which holds nothing.
const SCC: u8 = scalar::NULL;

impl Scalars {
    fn of(inst: &Inst) -> Self {
        let effects = Effects::of(inst);
        let bits = |set: &RegisterSet| {
            let all = (0..=127u8).filter(|register| {
                let of = if *register == SCC {
                    RegisterSet::SCC
                } else {
                    RegisterSet::of(Operand::Scalar(*register), 1)
                };
                set.meets(&of)
            });
            all.fold(0u128, |bits, register| bits | 1 << register)
        };
        let written = bits(&effects.writes);
        let vcc = 3u128 << scalar::VCC;
        let branch = match inst.op {
            Op::s_cbranch_vccz | Op::s_cbranch_vccnz => vcc,
            _ => 0,
        };
        Scalars {
            written: (0..=127).filter(|register| written >> register & 1 == 1).collect(),
            reads: bits(&effects.reads) | branch | 3 << scalar::EXEC,
            replaces: bits(&effects.replaces),
        }
    }
}

/// How the ways to a block are told apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Apart {
    /// By all that is known.
    Wholly,
    /// By masks: what is known of numbers holds on all ways that have the same.
    ByMasks,
    /// Not at all.
    Together,
}

/// A run of instructions, and what is known of the ways to it.
struct Block {
    end: usize,
    next: Vec<usize>,
    /// Scalar registers that are read before they are replaced.
    live: u128,
    points: HashSet<Point>,
    apart: Apart,
}

impl Block {
    /// Adds a way; whether it is new.
    fn add(&mut self, mut point: Point) -> bool {
        let live = self.live;
        point.keep(&|register| live >> register & 1 == 1, live >> SCC & 1 == 1);
        let new = self.take(point);
        while self.points.len() > APART && self.apart < Apart::Together {
            self.apart = if self.apart == Apart::Wholly { Apart::ByMasks } else { Apart::Together };
            for point in std::mem::take(&mut self.points) {
                self.take(point);
            }
        }
        new
    }

    /// Adds a way to those from which it is not told apart.
    fn take(&mut self, point: Point) -> bool {
        let like = |known: &&Point| match self.apart {
            Apart::Wholly => **known == point,
            Apart::ByMasks => known.has_masks_of(&point),
            Apart::Together => true,
        };
        let Some(known) = self.points.iter().find(like).cloned() else { return self.points.insert(point) };
        let both = known.merge(&point);
        if both == known {
            return false;
        }
        self.points.remove(&known);
        self.points.insert(both)
    }
}

/// What waves cannot do in a kernel whose instructions are `code`, from the first one on. A wave begins with some lane on.
pub fn impossible(code: &[Inst]) -> Impossible {
    if indexes_registers(code) || code.is_empty() {
        return Impossible::default();
    }
    let scalars: Vec<Scalars> = code.iter().map(Scalars::of).collect();
    let Some(mut blocks) = blocks(code, &scalars) else { return Impossible::default() };
    if let Some(first) = blocks.get_mut(&0) {
        first.add(Point::start());
    }
    let mut impossible = Impossible { instructions: (0..code.len()).collect(), ways: BTreeSet::new() };
    let conditional = |inst: &Inst| inst.branch_target().is_some() && inst.op != Op::s_branch;
    for (at, _) in code.iter().enumerate().filter(|(_, inst)| conditional(inst)) {
        impossible.ways.extend([(at, false), (at, true)]);
    }
    let mut waiting = BTreeSet::from([0]);
    let mut done: BTreeMap<usize, HashSet<Point>> = BTreeMap::new();
    while let Some(start) = waiting.pop_first() {
        let Some(block) = blocks.get(&start) else { continue };
        let known = done.entry(start).or_default();
        let new: Vec<Point> = block.points.iter().filter(|point| !known.contains(*point)).cloned().collect();
        known.extend(new.iter().cloned());
        let (end, next) = (block.end, block.next.clone());
        for at in start..end {
            impossible.instructions.remove(&at);
        }
        let mut points = new;
        for at in start..end {
            let inst = &code[at];
            let Scalars { written, .. } = &scalars[at];
            if written.is_empty() {
                continue;
            }
            points = points
                .into_iter()
                .flat_map(|point| point.step(inst, written, written.contains(&SCC)))
                .collect();
        }
        let last = &code[end - 1];
        let branches = conditional(last);
        for point in points {
            for (way, to) in next.iter().enumerate() {
                let (taken, mut point) = (way == 1, point.clone());
                if branches && !point.goes(last.op, taken) {
                    continue;
                }
                impossible.ways.remove(&(end - 1, taken));
                if blocks.get_mut(to).is_some_and(|block| block.add(point)) {
                    waiting.insert(*to);
                }
            }
        }
    }
    // Ways of branches that no wave comes to are not counted one by one.
    let come = |at: &usize| !impossible.instructions.contains(at);
    impossible.ways.retain(|(at, _)| come(at));
    impossible
}

/// The blocks of a kernel by their first instructions; `None` where a way on is not known.
fn blocks(code: &[Inst], scalars: &[Scalars]) -> Option<BTreeMap<usize, Block>> {
    let mut starts = BTreeSet::from([0]);
    for at in 0..code.len() {
        let next = successors(code, at)?;
        if next != [at + 1] {
            starts.extend(next);
            starts.extend((at + 1 < code.len()).then_some(at + 1));
        }
    }
    let mut blocks = BTreeMap::new();
    for &start in &starts {
        let end = starts.range(start + 1..).next().copied().unwrap_or(code.len());
        let next = successors(code, end - 1)?;
        blocks.insert(start, Block { end, next, live: 0, points: HashSet::new(), apart: Apart::Wholly });
    }
    // What is live before a block, from the last one backwards until nothing is new.
    let mut changed = true;
    while changed {
        changed = false;
        for &start in starts.iter().rev() {
            let block = &blocks[&start];
            let behind = block.next.iter().fold(0, |live, next| live | blocks[next].live);
            let live = (start..block.end)
                .rev()
                .fold(behind, |live, at| live & !scalars[at].replaces | scalars[at].reads);
            if let Some(block) = blocks.get_mut(&start).filter(|block| block.live != live) {
                (block.live, changed) = (live, true);
            }
        }
    }
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::decode;

    const END: u32 = 0xbf81_0000;
    const V1_IS_V2: u32 = 0x7e02_0302;

    fn ways(words: &[u32]) -> BTreeSet<(usize, bool)> {
        let code: Vec<Inst> =
            (0u64..).step_by(4).zip(words).map(|(pc, word)| decode(&[*word], pc).unwrap()).collect();
        impossible(&code).ways
    }

    #[test]
    fn a_mask_that_a_comparison_chose_is_still_what_it_was_when_a_branch_asks_again() {
        // s_cmp_lg_u32 s12, 0; s_cselect_b64 s[14:15], -1, 0; s_and_b64 vcc, exec, s[14:15]; s_cbranch_vccnz 1; …;
        // s_andn2_b64 vcc, exec, s[14:15]; s_cbranch_vccnz 1
        let asks_again = |between: u32| {
            ways(&[
                0xbf07_800c,
                0x858e_80c1,
                0x86ea_0e7e,
                0xbf87_0001,
                between,
                0x89ea_0e7e,
                0xbf87_0001,
                V1_IS_V2,
                END,
            ])
        };
        assert_eq!(asks_again(END), BTreeSet::from([(6, true)]));
        assert_eq!(asks_again(V1_IS_V2), BTreeSet::new(), "both ways come there");
        // s_mov_b64 s[14:15], s[2:3] in the place that both come to.
        let changed = [
            0xbf07_800c,
            0x858e_80c1,
            0x86ea_0e7e,
            0xbf87_0001,
            END,
            0xbe8e_0102,
            0x89ea_0e7e,
            0xbf87_0001,
            V1_IS_V2,
            END,
        ];
        assert_eq!(ways(&changed), BTreeSet::new());
    }

    #[test]
    fn a_number_that_was_compared_stays_in_the_range_that_is_left() {
        // s_cmp_lt_i32 s52, 2; s_cbranch_scc1 to the end; s_cmp_eq_u32 s52, 1 or 2; s_cbranch_scc1 1
        let then = |compare: u32| ways(&[0xbf04_8234, 0xbf85_0003, compare, 0xbf85_0001, V1_IS_V2, END]);
        assert_eq!(then(0xbf06_8134), BTreeSet::from([(3, true)]), "s52 is 2 at least");
        assert_eq!(then(0xbf06_8234), BTreeSet::new());
        // Of s53 nothing is known, nor of s52 once it is s_mov_b32 s52, s5.
        assert_eq!(then(0xbf06_8135), BTreeSet::new());
        let moved = [0xbf04_8234, 0xbf85_0004, 0xbeb4_0005, 0xbf06_8134, 0xbf85_0001, V1_IS_V2, END];
        assert_eq!(ways(&moved), BTreeSet::new());
    }

    #[test]
    fn two_registers_compare_as_they_did() {
        // s_cmp_ge_u32 s2, s1; s_cbranch_scc1 to the end; s_cmp_lt_u32 s2, s1, or s_cmp_lt_i32; s_cbranch_scc1 1
        let then = |compare: u32| ways(&[0xbf09_0102, 0xbf85_0003, compare, 0xbf85_0001, V1_IS_V2, END]);
        assert_eq!(then(0xbf0a_0102), BTreeSet::from([(3, false)]));
        // The other way round: s1 > s2.
        assert_eq!(then(0xbf08_0201), BTreeSet::from([(3, false)]));
        assert_eq!(then(0xbf04_0102), BTreeSet::new(), "with a sign it may be otherwise");
    }

    #[test]
    fn lanes_that_leave_a_loop_are_on_again_behind_it() {
        // loop: s_or_b64 s[8:9], vcc, s[8:9]; s_andn2_b64 exec, exec, s[8:9]; s_cbranch_execnz loop; s_or_b64 exec, exec, s[8:9];
        // s_cbranch_execz 1
        let behind = |restore: u32| {
            ways(&[0xbe88_0180, 0x8788_086a, 0x89fe_087e, 0xbf89_fffd, restore, 0xbf88_0001, V1_IS_V2, END])
        };
        assert_eq!(behind(0x87fe_087e), BTreeSet::from([(5, true)]));
        // s[10:11] may hold no lane.
        assert_eq!(behind(0x87fe_0a7e), BTreeSet::new());
    }

    #[test]
    fn a_loop_that_changes_what_is_compared_is_followed_until_nothing_is_new() {
        // s_mov_b32 s5, 0; loop: s_cmp_eq_u32 s5, 0; s_cbranch_scc1 1; …; s_add_u32 s5, s5, 1; s_cbranch_scc0 loop
        let counted = [0xbe85_0080, 0xbf06_8005, 0xbf85_0001, V1_IS_V2, 0x8005_8105, 0xbf84_fffb, END];
        assert_eq!(ways(&counted), BTreeSet::new());
        let kept = [0xbe85_0080, 0xbf06_8005, 0xbf85_0001, V1_IS_V2, 0x8006_8106, 0xbf84_fffb, END];
        assert_eq!(ways(&kept), BTreeSet::from([(2, false)]), "s5 stays 0");
    }
}
