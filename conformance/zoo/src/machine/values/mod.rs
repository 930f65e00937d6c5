//! What registers hold, whatever the input, and which bits of them matter: arguments by which a changed instruction changes nothing.
//!
//! | file | what it says |
//! |---|---|
//! | `bits` | bits of a number that are known, through sums, shifts and masks |
//! | `state` | what each register holds at a point: known bits, and a name that equal values share |
//! | `masks` | in which lanes |
//! | `evaluate` | what an instruction makes of that |
//! | `enumerate` | the same for all values that there may be, by trying them out on the device |
//! | `words` | which bits of two results are the same bits of the same values |
//! | `spread` | how far a difference in some bits comes |
//!
//! Values are followed along all ways through a kernel until nothing new is learned ([`Values::of`]). A value that is computed twice from
//! values of the same names has the same name both times. Where ways meet, it gets a name of its own. A block of threads has one dimension,
//! as all have that the backend launches, and lanes that a wave does not begin with are never on.

mod bits;
mod enumerate;
mod evaluate;
mod masks;
mod spread;
mod state;
#[cfg(test)]
mod tests;
mod words;

use std::cell::RefCell;
use std::collections::BTreeSet;

use softhip::dataflow::{Effects, indexes_registers, successors};
use softhip::isa::inst::scalar;
use softhip::isa::{Format, Inst, Op, Operand};
use softhip::waits::RegisterSet;

pub use enumerate::Encoded;
use enumerate::differences;
use evaluate::{Place, results};
use spread::Difference;
use state::{Names, State};

/// Rounds through a kernel after which nothing is said about it.
const ROUNDS: usize = 200;

/// What registers hold before each block of a kernel.
pub struct Values<'a> {
    code: &'a [Inst],
    /// By the block's first instruction, in order; `None` where no way comes.
    blocks: Vec<(usize, Option<State>)>,
    names: RefCell<Names>,
    changes_mode: bool,
}

impl<'a> Values<'a> {
    /// Follows the values of a kernel whose blocks have `threads` threads, and the address of whose arguments is in the scalar registers
    /// from `arguments` on; `None` where they cannot be followed.
    pub fn of(code: &'a [Inst], threads: u32, arguments: Option<u8>) -> Option<Self> {
        if indexes_registers(code) || code.is_empty() {
            return None;
        }
        let mut names = Names::default();
        let starts = starts(code)?;
        let mut blocks: Vec<(usize, Option<State>)> = starts.into_iter().map(|start| (start, None)).collect();
        blocks[0].1 = Some(State::entry(&mut names, threads, arguments));
        let changes_mode =
            code.iter().any(|inst| matches!(inst.op, Op::s_setreg_b32 | Op::s_setreg_imm32_b32));
        let mut waiting = BTreeSet::from([0]);
        let mut rounds = 0;
        while let Some(block) = waiting.pop_first() {
            rounds += 1;
            if rounds > ROUNDS * blocks.len() {
                return None;
            }
            let end = blocks.get(block + 1).map_or(code.len(), |next| next.0);
            let Some(mut state) = blocks[block].1.clone() else { continue };
            for at in blocks[block].0..end {
                step(code, at, &mut state, &mut names, changes_mode);
            }
            for to in successors(code, end - 1)? {
                let to = blocks.binary_search_by_key(&to, |block| block.0).ok()?;
                let at = blocks[to].0;
                let grown = match &mut blocks[to].1 {
                    Some(known) => known.join(&mut names, at, &state),
                    unknown => {
                        *unknown = Some(state.clone());
                        true
                    }
                };
                if grown {
                    waiting.insert(to);
                }
            }
        }
        Some(Self { code, blocks, names: RefCell::new(names), changes_mode })
    }

    /// What holds before an instruction.
    fn before(&self, index: usize, names: &mut Names) -> Option<State> {
        let block = self.blocks.partition_point(|block| block.0 <= index).checked_sub(1)?;
        let (start, state) = &self.blocks[block];
        let mut state = state.clone()?;
        for at in *start..index {
            step(self.code, at, &mut state, names, self.changes_mode);
        }
        Some(state)
    }

    /// Whether `now` in the place of instruction `index`, or nothing, leaves the same in all registers, or a difference that comes to
    /// nothing that could be seen. The instruction, which is written as `written`, must do nothing but write registers.
    pub fn same(&self, index: usize, written: &[u32], now: Option<Encoded<'_>>) -> Option<Sameness> {
        let mut names = self.names.borrow_mut();
        let state = self.before(index, &mut names)?;
        let changes_mode = self.changes_mode;
        let place = |foreign| Place { at: index, foreign, state: &state, changes_mode };
        let was = &self.code[index];
        let encoded = now;
        let now = encoded.map(|now| now.inst);
        let before = results(&place(false), &mut names, was);
        let after = now.map_or_else(Vec::new, |now| results(&place(true), &mut names, now));
        let mut difference = Difference::default();
        let of_sources = now.and_then(|now| spread::of_sources(was, now, &state, index, &mut names));
        let of_words = now.and_then(|now| words::differing(was, now, &state, index, &mut names));
        for register in before.iter().chain(&after).map(|result| result.0) {
            let mut of = |results: &[(usize, state::Value)]| {
                let written = results.iter().find(|result| result.0 == register).map(|result| result.1);
                written.unwrap_or_else(|| state.read(&mut names, index, register))
            };
            let (one, other) = (of(&before), of(&after));
            if one.name != other.name {
                let (one, other) = (one.bits, other.bits);
                let alike = one.zeros & other.zeros | one.ones & other.ones;
                let mut bits = !alike & 0xffff_ffff;
                if let (Some(differs), Some(word)) = (of_sources, evaluate::word_of(was, register)) {
                    bits &= differs >> (32 * u32::from(word > 0));
                }
                if let (Some(differs), Some(0)) = (of_words, evaluate::word_of(was, register)) {
                    bits &= u64::from(differs);
                }
                difference.add(register, u32::try_from(bits).unwrap_or(u32::MAX));
            }
        }
        if difference.is_none() {
            return Some(Sameness::Values);
        }
        // What floats give depends on the MODE register, too.
        let own = Encoded { inst: was, words: written };
        let tried = if changes_mode { None } else { differences(own, encoded, &state, &mut names, index) };
        drop(names);
        if let Some(tried) = tried {
            if tried.is_empty() {
                return Some(Sameness::Enumerated);
            }
            difference = Difference::default();
            tried.into_iter().for_each(|(register, bits)| difference.add(register, bits));
        }
        let everywhere = was.format == Format::Mai || was.op == Op::v_writelane_b32;
        let on = if leaves_lanes_that_are_on(was, now) { spread::pair(was.dst) } else { 0 };
        self.comes_to_nothing(index, difference, everywhere, on).then_some(Sameness::Unused)
    }

    /// Whether a source of an instruction is surely a multiple of 4.
    pub fn counts_dwords(&self, index: usize, source: usize) -> bool {
        let names = &mut self.names.borrow_mut();
        let inst = &self.code[index];
        let Some(state) = self.before(index, names) else { return false };
        let words = state.operand(names, index, inst.src[source], inst.operand_types()[source + 1]);
        words.first().is_some_and(|low| low.bits.zeros & 3 == 3)
    }

    /// As [`same`](Self::same), where the bits of the destination that may differ are known: those of a load with and without a sign.
    pub fn ignores(&self, index: usize, bits: u32) -> bool {
        let mut difference = Difference::default();
        Effects::of(&self.code[index])
            .writes
            .iter()
            .for_each(|register| difference.add(register.index(), bits));
        self.comes_to_nothing(index, difference, false, 0)
    }

    fn comes_to_nothing(&self, index: usize, difference: Difference, everywhere: bool, on: u128) -> bool {
        let before = |at: usize, names: &mut Names| self.before(at, names);
        spread::comes_to_nothing(
            self.code,
            index,
            spread::Start { difference, everywhere, on },
            before,
            &mut self.names.borrow_mut(),
        )
    }
}

/// Whether an instruction turns the lanes of a mask that are on, in place, and another leaves the mask as it was.
fn leaves_lanes_that_are_on(was: &Inst, now: Option<&Inst>) -> bool {
    let exec = Operand::Scalar(scalar::EXEC);
    let turns = was.op == Op::s_xor_b64
        && (was.src[..2] == [exec, was.dst] || was.src[..2] == [was.dst, exec])
        && was.dst != exec;
    let kept = |inst: &Inst| {
        let mask = RegisterSet::of(was.dst, 2).or(&RegisterSet::of(exec, 2));
        !Effects::of(inst).writes.meets(&mask)
    };
    turns && now.is_none_or(kept)
}

/// Why a changed instruction changes nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sameness {
    /// All registers hold the same.
    Values,
    /// They do for all values that there may be, each of them tried out.
    Enumerated,
    /// What differs is not used.
    Unused,
}

/// The first instructions of blocks.
fn starts(code: &[Inst]) -> Option<BTreeSet<usize>> {
    let mut starts = BTreeSet::from([0]);
    for at in 0..code.len() {
        let next = successors(code, at)?;
        if next != [at + 1] {
            starts.extend(next);
            if at + 1 < code.len() {
                starts.insert(at + 1);
            }
        }
    }
    Some(starts)
}

fn step(code: &[Inst], at: usize, state: &mut State, names: &mut Names, changes_mode: bool) {
    let inst = &code[at];
    let effects = Effects::of(inst);
    if effects.writes.is_empty() {
        return;
    }
    let results = results(&Place { at, foreign: false, state, changes_mode }, names, inst);
    state.write(inst, &effects, &results);
}
