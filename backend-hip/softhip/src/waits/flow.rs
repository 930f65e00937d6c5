//! The ways through a program, all at once.

use std::collections::{BTreeMap, BTreeSet};

use super::always::Always;
use super::facts::{LdsEffect, Wait};
use super::state::{Certainty, Finding, Kind, State, Unit};
use crate::isa::Op;

/// Where a program can go on after an instruction.
struct After {
    /// To the next instruction.
    falls_through: bool,
    /// To a branch target.
    branch: Option<u64>,
    /// What was under way is not known any more: a function was called.
    forgets: bool,
}

fn after(unit: &Unit) -> After {
    let branch = unit.inst.branch_target();
    match unit.inst.op {
        Op::s_branch => After { falls_through: false, branch, forgets: false },
        Op::s_endpgm
        | Op::s_endpgm_saved
        | Op::s_endpgm_ordered_ps_done
        | Op::s_setpc_b64
        | Op::s_rfe_b64
        | Op::s_rfe_restore_b64
        | Op::s_cbranch_join
        | Op::s_cbranch_g_fork => After { falls_through: false, branch: None, forgets: false },
        // The function waits for everything at its start and before it returns.
        Op::s_swappc_b64 | Op::s_call_b64 => After { falls_through: true, branch: None, forgets: true },
        _ => After { falls_through: true, branch, forgets: false },
    }
}

/// Everything that can be wrong on some way through `code`, a list of instructions by address, from the indices
/// `entries` on.
///
/// A call is taken to wait for all that is under way, as the calling convention demands; jumps to computed addresses
/// are not followed.
pub fn findings(code: &[Unit], entries: &[u32]) -> Vec<Finding> {
    let blocks = Blocks::new(code, entries);
    let states = blocks.fixpoint(code, entries, &State::default());
    let mut found = Vec::new();
    let mut lds = LdsLoads::default();
    for (block, state) in states.into_iter().enumerate() {
        let Some(mut state) = state else { continue };
        let (range, last) = blocks.range(block, code);
        for index in range {
            lds.before(&state, code, index);
            state.step(code, index, |finding| found.push(finding));
            lds.after(&state, code);
        }
        if after(last).forgets {
            lds.waited.extend(state.lds_loads(code).map(|(load, _)| load));
        }
    }
    found.extend(lds.findings());
    if found.iter().any(|finding| finding.certainty == Certainty::SomeWay) {
        settle(&mut found, &blocks, code, entries);
    }
    found
}

/// Loads to LDS (LDS-DMA). Which bytes they write is not known here, and kernels load one part of LDS while they read
/// another. But a load that no wait covers on any way, in a wave that reads LDS after it, is wrong.
#[derive(Default)]
struct LdsLoads {
    /// Under way before the current instruction.
    under_way: Vec<u32>,
    /// Covered by some wait.
    waited: BTreeSet<u32>,
    /// The first read of LDS while one is under way, and the wait that would cover it.
    read: BTreeMap<u32, (u32, Wait)>,
}

impl LdsLoads {
    fn before(&mut self, state: &State, code: &[Unit], index: u32) {
        self.under_way.clear();
        self.under_way.extend(state.lds_loads(code).map(|(load, _)| load));
        if !self.under_way.is_empty() && code[index as usize].facts.lds == LdsEffect::Read {
            for (load, wait) in state.lds_loads(code) {
                self.read.entry(load).or_insert((index, wait));
            }
        }
    }

    fn after(&mut self, state: &State, code: &[Unit]) {
        let is_under_way = |load: u32| state.lds_loads(code).any(|(other, _)| other == load);
        self.waited.extend(self.under_way.iter().filter(|&&load| !is_under_way(load)));
    }

    fn findings(self) -> impl Iterator<Item = Finding> {
        let Self { waited, read, .. } = self;
        read.into_iter().filter(move |(load, _)| !waited.contains(load)).map(|(first, (second, wait))| {
            Finding {
                first,
                second,
                kind: Kind::ReadOfLds { wait },
                register: None,
                certainty: Certainty::Certain,
            }
        })
    }
}

/// Findings that hold on all ways are certain.
fn settle(found: &mut [Finding], blocks: &Blocks, code: &[Unit], entries: &[u32]) {
    let states = blocks.fixpoint(code, entries, &Always::new());
    for finding in found.iter_mut().filter(|finding| finding.certainty == Certainty::SomeWay) {
        let block = blocks.starts.partition_point(|&start| start <= finding.second) - 1;
        let (Some(Some(state)), Some(register)) = (states.get(block), finding.register) else { continue };
        let mut state = state.clone();
        for index in blocks.starts[block]..finding.second {
            Flows::step(&mut state, code, index);
        }
        if state.pending(register) {
            finding.certainty = Certainty::Certain;
        }
    }
}

/// What is known at some point of a program.
trait Flows: Clone {
    fn step(&mut self, code: &[Unit], index: u32);
    fn clear(&mut self);
    fn branch(&mut self);
    /// Takes in what is known on another way; true if that is something new.
    fn merge(&mut self, other: &Self) -> bool;
}

impl Flows for State {
    fn step(&mut self, code: &[Unit], index: u32) {
        Self::step(self, code, index, |_| {});
    }
    fn clear(&mut self) {
        Self::clear(self);
    }
    fn branch(&mut self) {
        Self::branch(self);
    }
    fn merge(&mut self, other: &Self) -> bool {
        Self::merge(self, other)
    }
}

impl Flows for Always {
    fn step(&mut self, code: &[Unit], index: u32) {
        Self::step(self, &code[index as usize]);
    }
    fn clear(&mut self) {
        Self::clear(self);
    }
    fn branch(&mut self) {}
    fn merge(&mut self, other: &Self) -> bool {
        Self::merge(self, other)
    }
}

/// Basic blocks.
struct Blocks {
    /// Index of each block's first instruction, ascending.
    starts: Vec<u32>,
}

impl Blocks {
    fn new(code: &[Unit], entries: &[u32]) -> Self {
        let mut starts: BTreeSet<u32> = entries.iter().copied().collect();
        starts.insert(0);
        for (index, unit) in (0..).zip(code) {
            let after = after(unit);
            starts.extend(after.branch.and_then(|target| index_of(code, target)));
            let ends = after.branch.is_some() || after.forgets || !after.falls_through;
            let gap = code.get(index as usize + 1).is_some_and(|next| next.inst.pc != unit.inst.next_pc());
            if ends || gap {
                starts.insert(index + 1);
            }
        }
        starts.retain(|&start| (start as usize) < code.len());
        Self { starts: starts.into_iter().collect() }
    }

    /// The block that begins at an index.
    fn of(&self, index: u32) -> Option<usize> {
        self.starts.binary_search(&index).ok()
    }

    /// The indices of a block, and its last instruction.
    fn range<'c>(&self, block: usize, code: &'c [Unit]) -> (std::ops::Range<u32>, &'c Unit) {
        let start = self.starts[block];
        let end = self.starts.get(block + 1).map_or(code.len(), |&next| next as usize);
        (start..end as u32, &code[end - 1])
    }

    /// What is known at the start of each block that can be reached, when `start` is at the entries.
    fn fixpoint<S: Flows>(&self, code: &[Unit], entries: &[u32], start: &S) -> Vec<Option<S>> {
        let mut known: Vec<Option<S>> = vec![None; self.starts.len()];
        let mut waiting: BTreeSet<usize> = entries.iter().filter_map(|&entry| self.of(entry)).collect();
        for &entry in &waiting {
            known[entry] = Some(start.clone());
        }
        while let Some(block) = waiting.pop_first() {
            let Some(mut state) = known[block].clone() else { continue };
            let (range, last) = self.range(block, code);
            for index in range {
                state.step(code, index);
            }
            let after = after(last);
            if after.forgets {
                state.clear();
            }
            if after.falls_through && after.branch.is_some() {
                state.branch();
            }
            for next in self.successors(block, code, &after) {
                let grown = match &mut known[next] {
                    Some(known) => known.merge(&state),
                    unknown => {
                        *unknown = Some(state.clone());
                        true
                    }
                };
                if grown {
                    waiting.insert(next);
                }
            }
        }
        known
    }

    fn successors(&self, block: usize, code: &[Unit], after: &After) -> impl Iterator<Item = usize> {
        let (range, last) = self.range(block, code);
        let next = code.get(range.end as usize).filter(|next| next.inst.pc == last.inst.next_pc());
        let falls = (after.falls_through && next.is_some()).then_some(block + 1);
        let branch = after.branch.and_then(|target| index_of(code, target)).and_then(|index| self.of(index));
        falls.into_iter().chain(branch)
    }
}

/// The index of the instruction at an address.
fn index_of(code: &[Unit], address: u64) -> Option<u32> {
    code.binary_search_by_key(&address, |unit| unit.inst.pc).ok().map(|index| index as u32)
}
