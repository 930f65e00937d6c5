//! What an instruction works on.

use super::counters::Tally;
use super::trap::Trap;
use super::uop::{Flag, Scalar, Uop};
use super::wave::Wave;
use crate::exec::access::lds::Lds;
use crate::exec::program::Program;
use crate::isa::inst::scalar;
use crate::memory::{Group, LaunchMemory, WAVE};

/// Carries one instruction out.
pub(in crate::exec) type Handler = fn(&mut Cx<'_>, &Uop) -> Step;

/// What the wave does after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Step {
    /// Goes on at its program counter.
    Next,
    /// Waits for something: others get their turn first.
    Yield,
    /// Waits at a barrier.
    Barrier,
    /// Ends.
    End,
    /// Faults; the reason is in [`Cx::trap`].
    Trap,
}

/// A running wave and all that it can reach.
#[derive(Debug)]
pub(in crate::exec) struct Cx<'a> {
    pub wave: &'a mut Wave,
    pub lds: &'a mut Lds,
    pub memory: &'a LaunchMemory,
    pub group: &'a mut Group,
    pub counters: &'a mut Tally,
    pub program: &'a Program,
    pub trap: Option<Box<Trap>>,
}

impl Cx<'_> {
    /// Ends the wave with a fault.
    #[cold]
    pub fn fault(&mut self, trap: Trap) -> Step {
        self.trap = Some(Box::new(trap));
        Step::Trap
    }

    /// Goes on, or ends the wave with a fault.
    #[inline]
    pub fn finish(&mut self, result: Result<(), Trap>) -> Step {
        match result {
            Ok(()) => Step::Next,
            Err(trap) => self.fault(trap),
        }
    }

    /// A scalar source of 32 bits.
    #[inline]
    pub fn read32(&self, source: Scalar) -> u32 {
        match source {
            Scalar::Register(register) => self.wave.s[usize::from(register)],
            Scalar::Constant(value) => value as u32,
            Scalar::Flag(flag) => u32::from(self.flag(flag)),
        }
    }

    /// A scalar source of 64 bits.
    #[inline]
    pub fn read64(&self, source: Scalar) -> u64 {
        match source {
            Scalar::Register(register) => self.wave.pair(register),
            Scalar::Constant(value) => value,
            Scalar::Flag(flag) => u64::from(self.flag(flag)),
        }
    }

    fn flag(&self, flag: Flag) -> bool {
        match flag {
            Flag::Scc => self.wave.scc,
            Flag::Vccz => self.wave.pair(scalar::VCC) == 0,
            Flag::Execz => self.wave.exec() == 0,
        }
    }

    /// Writes the scalar destination.
    #[inline]
    pub fn write32(&mut self, u: &Uop, value: u32) {
        self.wave.s[usize::from(u.sdst)] = value;
    }

    /// Writes the scalar destination pair.
    #[inline]
    pub fn write64(&mut self, u: &Uop, value: u64) {
        self.wave.set_pair(u.sdst, value);
    }
}

impl Cx<'_> {
    /// Copies the scalar registers that a vector operation reads to all lanes.
    #[inline]
    pub fn splat(&mut self, u: &Uop) {
        for i in 0..3 {
            if (u.splat >> i) & 1 == 0 {
                continue;
            }
            // The copy's place, wherever modifiers have moved the operand to.
            let at = usize::from(u.raw_src[i]);
            if u.splat_width[i] == 2 {
                let value = self.read64(u.scalar[i]);
                self.wave.v[at] = [value as u32; WAVE];
                self.wave.v[at + 1] = [(value >> 32) as u32; WAVE];
            } else {
                self.wave.v[at] = [self.read32(u.scalar[i]); WAVE];
            }
        }
    }
}
