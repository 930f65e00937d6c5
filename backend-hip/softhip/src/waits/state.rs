//! What a wave has under way: memory instructions that have not been waited for, and instructions that are too recent.
//!
//! One state stands for one wave that executes, or for all ways to come to an instruction. To [`merge`](State::merge)
//! two states keeps, of each instruction, the youngest instance: what is safe after it is safe after the older one.

use super::facts::{Class, Event, Facts, LdsEffect, Wait};
use super::hazards::{self, Rule};
use super::registers::{Register, RegisterSet};
use crate::isa::{Format, Inst, Op};

/// An instruction with the facts about it.
#[derive(Clone, Debug)]
pub struct Unit {
    /// The instruction.
    pub inst: Inst,
    /// The facts.
    pub facts: Facts,
}

impl Unit {
    /// An instruction and the facts about it.
    pub fn new(inst: Inst) -> Self {
        Self { inst, facts: Facts::of(&inst) }
    }
}

/// Wait states, of four cycles each, after which an instruction without a wait has ended in practice.
///
/// It is wrong not to wait, and kernels of AITER that are known to work do it: they use what they read from LDS after
/// this time, or a little after a [`BARRIER`]. A finding is then [`Certainty::Tolerated`].
fn latency(event: Event, overwritten: bool) -> u8 {
    match event {
        Event::Local => 80,
        Event::Scalar => 128,
        Event::Vector if overwritten => 64,
        Event::Vector | Event::Flat | Event::None => u8::MAX,
    }
}

/// Wait states that a barrier stands for: AITER's kernels use what they read from LDS six wait states after one.
const BARRIER: u8 = 74;

/// Conditional branches after which a way may be impossible, see [`State::branch`].
const MANY: u8 = 2;

/// Ages are counted up to here.
const OLD: u8 = 128;

/// A memory instruction that is not known to have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Outstanding {
    /// Its index.
    index: u32,
    /// Conditional branches since it, at most [`MANY`].
    branches: u8,
    /// Wait states since it, at most [`OLD`].
    age: u8,
    /// Instructions after it that come back in order with it.
    after: u8,
    /// `vmcnt` has not been waited for.
    vm: bool,
    /// `lgkmcnt` has not been waited for.
    lgkm: bool,
}

/// An instruction that a rule on wait states may look back to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Recent {
    index: u32,
    /// Wait states since it.
    age: u8,
}

/// Something wrong with an instruction.
#[derive(Clone, Copy, Debug)]
pub struct Finding {
    /// Index of the instruction that came first.
    pub first: u32,
    /// Index of the instruction that came too early.
    pub second: u32,
    /// What is wrong.
    pub kind: Kind,
    /// The register that it is about.
    pub register: Option<Register>,
    /// How sure it is.
    pub certainty: Certainty,
}

/// How sure a finding is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// It is wrong.
    Certain,
    /// It is wrong on a way that takes several branches, and they may never be taken together.
    SomeWay,
    /// The manual forbids it, and kernels that are known to work do it.
    Tolerated,
}

/// What is wrong.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A register is used before a load has written it.
    Unwaited {
        /// It is overwritten, not read.
        overwritten: bool,
        /// The wait that would have covered it.
        wait: Wait,
    },
    /// A barrier is passed before a write to LDS is known to be there.
    Barrier {
        /// The wait that would have covered it.
        wait: Wait,
    },
    /// LDS is read before a load has written it.
    ReadOfLds {
        /// The wait that would have covered it.
        wait: Wait,
    },
    /// Too few wait states.
    Hazard {
        /// The rule.
        rule: &'static Rule,
        /// Wait states that it asks for.
        needed: u8,
        /// Wait states between the two.
        had: u8,
    },
}

/// What is under way.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct State {
    /// By index.
    outstanding: Vec<Outstanding>,
    /// By index.
    recent: Vec<Recent>,
    /// Wait states for which the matrix unit is busy, at least.
    matrix: u8,
}

impl State {
    /// Nothing is under way any more.
    pub fn clear(&mut self) {
        self.outstanding.clear();
        self.recent.clear();
        self.matrix = 0;
    }

    /// The wave executes the instruction at `index` of `code`.
    pub fn step(&mut self, code: &[Unit], index: u32, mut found: impl FnMut(Finding)) {
        let unit = &code[index as usize];
        self.wait_for_matrix_unit(&unit.facts);
        self.wait_for_scalar_results(code, &unit.facts);
        self.check_loads(code, index, unit, &mut found);
        self.check_hazards(code, index, unit, &mut found);
        let facts = &unit.facts;
        if let Some(wait) = facts.wait {
            self.wait(code, wait);
        }
        if unit.inst.op == Op::s_barrier {
            self.check_barrier(code, index, &mut found);
        }
        self.time(unit);
        self.issue(code, index, facts);
        self.age(code, index, facts);
    }

    /// A matrix product starts when the one before it has left the matrix unit.
    fn wait_for_matrix_unit(&mut self, facts: &Facts) {
        if facts.class.is(Class::MATRIX) {
            for recent in &mut self.recent {
                recent.age = recent.age.saturating_add(self.matrix);
            }
            self.matrix = facts.passes.saturating_sub(1);
        } else {
            self.matrix = self.matrix.saturating_sub(facts.states);
        }
    }

    /// A scalar instruction that reads what VALU wrote waits until VALU has written it, and all before it.
    fn wait_for_scalar_results(&mut self, code: &[Unit], facts: &Facts) {
        if !facts.class.is(Class::SALU) || facts.reads.is_empty() {
            return;
        }
        let writes = |recent: &Recent| {
            let earlier = &code[recent.index as usize].facts;
            if earlier.class.is(Class::VALU) { earlier.writes.scalar() } else { RegisterSet::EMPTY }
        };
        if self.recent.iter().any(|recent| writes(recent).meets(&facts.reads)) {
            self.recent.retain(|recent| writes(recent).is_empty());
        }
    }

    /// Loads to LDS that are under way: their indices, and the wait that would cover each.
    pub(super) fn lds_loads<'s>(&'s self, code: &'s [Unit]) -> impl Iterator<Item = (u32, Wait)> + 's {
        let loads =
            self.outstanding.iter().filter(|load| code[load.index as usize].facts.lds == LdsEffect::Dma);
        loads.map(|load| (load.index, load.covering(Event::Vector)))
    }

    /// The wave passes a conditional branch.
    ///
    /// Ways that take several branches may be impossible: a loop that is unrolled by two is left at two places, and
    /// each of them goes on at its own. So a finding with at most one branch between the two instructions is certain;
    /// with more it is if all ways have it.
    pub fn branch(&mut self) {
        for load in &mut self.outstanding {
            load.branches = MANY.min(load.branches + 1);
        }
        // Of two instances of one instruction, the younger one counts.
        self.outstanding.dedup_by(|later, earlier| {
            let same = later.key() == earlier.key();
            if same {
                *earlier = earlier.youngest(later);
            }
            same
        });
    }

    fn check_loads(&mut self, code: &[Unit], index: u32, unit: &Unit, found: &mut impl FnMut(Finding)) {
        let facts = &unit.facts;
        self.outstanding.retain(|load| {
            let earlier = &code[load.index as usize].facts;
            let read = earlier.writes.meets(&facts.reads);
            let in_order =
                earlier.event == facts.event && matches!(facts.event, Event::Vector | Event::Local);
            let overwritten = !in_order
                && earlier.writes.meets(&facts.writes)
                && !is_same_scalar_load(&code[load.index as usize].inst, &unit.inst);
            if !read && !overwritten {
                return true;
            }
            let used = if read { &facts.reads } else { &facts.writes };
            found(Finding {
                first: load.index,
                second: index,
                kind: Kind::Unwaited { overwritten: !read, wait: load.covering(earlier.event) },
                register: earlier.writes.first_common(used),
                certainty: if load.age >= latency(earlier.event, !read) {
                    Certainty::Tolerated
                } else if load.branches == MANY {
                    Certainty::SomeWay
                } else {
                    Certainty::Certain
                },
            });
            false
        });
    }

    fn check_hazards(&self, code: &[Unit], index: u32, unit: &Unit, found: &mut impl FnMut(Finding)) {
        for recent in &self.recent {
            let first = &code[recent.index as usize];
            let pair = ((&first.inst, &first.facts), (&unit.inst, &unit.facts));
            if let Some(broken) = hazards::broken(pair.0, pair.1, recent.age) {
                found(Finding {
                    first: recent.index,
                    second: index,
                    kind: Kind::Hazard { rule: broken.rule, needed: broken.needed, had: recent.age },
                    register: broken.registers.first_common(&broken.registers),
                    certainty: if broken.tolerated { Certainty::Tolerated } else { Certainty::Certain },
                });
            }
        }
    }

    fn check_barrier(&mut self, code: &[Unit], index: u32, found: &mut impl FnMut(Finding)) {
        for write in &self.outstanding {
            let facts = &code[write.index as usize].facts;
            if facts.lds == LdsEffect::Write {
                let kind = Kind::Barrier { wait: write.covering(facts.event) };
                found(Finding {
                    first: write.index,
                    second: index,
                    kind,
                    register: None,
                    certainty: Certainty::Tolerated,
                });
            }
        }
    }

    fn wait(&mut self, code: &[Unit], wait: Wait) {
        self.outstanding.retain_mut(|load| {
            match code[load.index as usize].facts.event {
                Event::Vector => load.vm &= load.after < wait.vm,
                Event::Local => load.lgkm &= load.after < wait.lgkm,
                Event::Scalar | Event::Flat | Event::None => {
                    load.vm &= wait.vm != 0;
                    load.lgkm &= wait.lgkm != 0;
                }
            }
            load.vm | load.lgkm
        });
    }

    fn time(&mut self, unit: &Unit) {
        let states = match unit.inst.op {
            Op::s_barrier => BARRIER,
            _ => unit.facts.states.max(unit.facts.passes),
        };
        for load in &mut self.outstanding {
            load.age = OLD.min(load.age.saturating_add(states));
        }
    }

    fn issue(&mut self, code: &[Unit], index: u32, facts: &Facts) {
        if facts.event == Event::None {
            return;
        }
        // A full counter makes the wave wait for the oldest instruction.
        let full = match facts.event {
            Event::Vector => Wait::VM_MAX,
            Event::Local => Wait::LGKM_MAX,
            _ => u8::MAX,
        };
        if full != u8::MAX {
            self.outstanding.retain_mut(|load| {
                load.after += u8::from(code[load.index as usize].facts.event == facts.event);
                load.after < full
            });
        }
        if facts.writes.is_empty() && !matches!(facts.lds, LdsEffect::Write | LdsEffect::Dma) {
            return;
        }
        let issued = Outstanding {
            index,
            branches: 0,
            age: 0,
            after: 0,
            vm: matches!(facts.event, Event::Vector | Event::Flat),
            lgkm: matches!(facts.event, Event::Local | Event::Scalar | Event::Flat),
        };
        match self.outstanding.binary_search_by_key(&issued.key(), Outstanding::key) {
            Ok(at) => self.outstanding[at] = issued,
            Err(at) => self.outstanding.insert(at, issued),
        }
    }

    fn age(&mut self, code: &[Unit], index: u32, facts: &Facts) {
        self.recent.retain_mut(|recent| {
            recent.age = recent.age.saturating_add(facts.states);
            recent.age < code[recent.index as usize].facts.life
        });
        if facts.life > 0 {
            let issued = Recent { index, age: 0 };
            match self.recent.binary_search_by_key(&index, |recent| recent.index) {
                Ok(at) => self.recent[at] = issued,
                Err(at) => self.recent.insert(at, issued),
            }
        }
    }

    /// Takes in all that is under way in `other`; true if something is new.
    pub fn merge(&mut self, other: &Self) -> bool {
        let mut changed = other.matrix < self.matrix;
        self.matrix = self.matrix.min(other.matrix);
        for theirs in &other.outstanding {
            match self.outstanding.binary_search_by_key(&theirs.key(), Outstanding::key) {
                Ok(at) => {
                    let ours = &mut self.outstanding[at];
                    let merged = ours.youngest(theirs);
                    changed |= merged != *ours;
                    *ours = merged;
                }
                Err(at) => {
                    self.outstanding.insert(at, *theirs);
                    changed = true;
                }
            }
        }
        for theirs in &other.recent {
            match self.recent.binary_search_by_key(&theirs.index, |recent| recent.index) {
                Ok(at) if self.recent[at].age > theirs.age => {
                    self.recent[at].age = theirs.age;
                    changed = true;
                }
                Ok(_) => {}
                Err(at) => {
                    self.recent.insert(at, *theirs);
                    changed = true;
                }
            }
        }
        changed
    }
}

/// Two loads of the same words into the same registers: whichever comes last, the registers hold the same.
fn is_same_scalar_load(first: &Inst, second: &Inst) -> bool {
    let same = |of: &Inst| (of.op, of.dst, of.src, of.mods);
    first.format == Format::Smem && same(first) == same(second)
}

impl Outstanding {
    /// The order of [`State::outstanding`].
    fn key(&self) -> (u32, u8) {
        (self.index, self.branches)
    }

    /// Of two instances of one instruction, what must be waited for.
    fn youngest(&self, other: &Self) -> Self {
        Self {
            age: self.age.min(other.age),
            after: self.after.min(other.after),
            vm: self.vm | other.vm,
            lgkm: self.lgkm | other.lgkm,
            ..*self
        }
    }

    /// The weakest wait after which it has ended.
    fn covering(&self, event: Event) -> Wait {
        match event {
            Event::Vector => Wait { vm: self.after, ..Wait::NONE },
            Event::Local => Wait { lgkm: self.after, ..Wait::NONE },
            Event::Scalar | Event::Flat | Event::None => Wait {
                vm: if self.vm { 0 } else { Wait::VM_MAX },
                lgkm: if self.lgkm { 0 } else { Wait::LGKM_MAX },
            },
        }
    }
}
