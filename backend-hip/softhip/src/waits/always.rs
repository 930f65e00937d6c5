//! What is under way whichever way a wave came.

use super::facts::{Event, Facts, Wait};
use super::registers::{REGISTERS, Register};
use super::state::Unit;

/// What a register waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pending {
    event: Event,
    /// Instructions after the load that come back in order with it, at most.
    after: u8,
    vm: bool,
    lgkm: bool,
}

/// Registers that have no value yet on all ways to an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Always(Vec<Option<Pending>>);

impl Always {
    /// At the start of a function.
    pub(super) fn new() -> Self {
        Self(vec![None; REGISTERS])
    }

    /// Nothing is under way any more.
    pub(super) fn clear(&mut self) {
        self.0.fill(None);
    }

    /// Whether a register has no value, whichever way a wave came.
    pub(super) fn pending(&self, register: Register) -> bool {
        self.0[register.index()].is_some()
    }

    /// A wave executes an instruction.
    pub(super) fn step(&mut self, unit: &Unit) {
        let facts = &unit.facts;
        if let Some(wait) = facts.wait {
            self.keep(|pending| !pending.covered(wait));
        }
        match facts.event {
            Event::Vector => self.count(Event::Vector, Wait::VM_MAX),
            Event::Local => self.count(Event::Local, Wait::LGKM_MAX),
            Event::Scalar | Event::Flat | Event::None => {}
        }
        let issued = Pending::by(facts);
        for register in facts.writes.iter() {
            self.0[register.index()] = issued;
        }
    }

    fn count(&mut self, event: Event, full: u8) {
        self.keep(|pending| {
            pending.after += u8::from(pending.event == event);
            pending.after < full
        });
    }

    fn keep(&mut self, mut keep: impl FnMut(&mut Pending) -> bool) {
        for slot in &mut self.0 {
            if slot.as_mut().is_some_and(|pending| !keep(pending)) {
                *slot = None;
            }
        }
    }

    /// Forgets what is not under way in `other`; true if something is forgotten.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            let merged = match (&*ours, theirs) {
                (Some(a), Some(b)) if a.event == b.event => Some(Pending {
                    after: a.after.max(b.after),
                    vm: a.vm & b.vm,
                    lgkm: a.lgkm & b.lgkm,
                    ..*a
                })
                .filter(|pending| pending.vm | pending.lgkm),
                _ => None,
            };
            changed |= merged != *ours;
            *ours = merged;
        }
        changed
    }
}

impl Pending {
    fn by(facts: &Facts) -> Option<Self> {
        let vm = matches!(facts.event, Event::Vector | Event::Flat);
        let lgkm = matches!(facts.event, Event::Local | Event::Scalar | Event::Flat);
        (vm | lgkm).then_some(Self { event: facts.event, after: 0, vm, lgkm })
    }

    fn covered(&mut self, wait: Wait) -> bool {
        match self.event {
            Event::Vector => self.after >= wait.vm,
            Event::Local => self.after >= wait.lgkm,
            Event::Scalar | Event::Flat | Event::None => {
                self.vm &= wait.vm != 0;
                self.lgkm &= wait.lgkm != 0;
                !(self.vm | self.lgkm)
            }
        }
    }
}
