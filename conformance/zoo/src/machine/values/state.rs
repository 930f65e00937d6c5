//! What registers hold at a point of a kernel.

use std::collections::HashMap;

use softhip::dataflow::Effects;
use softhip::isa::inst::scalar;
use softhip::isa::table::Ty;
use softhip::isa::{Inst, Mods, Op, Operand};
use softhip::waits::{Register, RegisterSet};

use super::bits::Bits;
use super::masks;

/// First scalar register among all.
pub(super) const SCALAR: usize = 512;
/// Where SCC stands among them.
pub(super) const SCC: usize = SCALAR + scalar::NULL as usize;

/// A value, as what it is computed from: values of the same name are equal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Term {
    Constant(u64),
    /// What a register holds when a wave begins.
    Entry(usize),
    /// What it holds where ways meet at an instruction.
    Join(usize, usize),
    /// What an instruction writes to it.
    Result(usize, usize),
    /// What an instruction reads from it, of which nothing more is known.
    Loose(usize, usize),
    /// An operand that is not a register.
    Operand(Operand, Ty, u8),
    /// A word of the result of an operation.
    Apply(Op, Mods, Vec<u32>, usize),
}

/// The names of values.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Term, u32>);

impl Names {
    pub fn of(&mut self, term: Term) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(term).or_insert(next)
    }
}

/// A value that a register or operand holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Value {
    pub bits: Bits,
    pub name: u32,
}

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub value: Value,
    /// Scalar pairs that hold, as masks, only lanes in which a vector register holds `value`, by their first registers.
    pub lanes: u128,
    /// What is known in more lanes, and in which.
    pub wide: (Bits, u128),
}

/// What all registers hold.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct State(Vec<Held>);

const EXEC: u128 = 1 << scalar::EXEC;

impl State {
    /// At the beginning of a kernel whose blocks have `block` threads in x, and which gets the address of its arguments in the scalar
    /// registers from `arguments` on.
    pub fn entry(names: &mut Names, block: u32, arguments: Option<u8>) -> Self {
        let held = |register| Held {
            value: Value { bits: Bits::WORD, name: names.of(Term::Entry(register)) },
            lanes: u128::MAX,
            wide: (Bits::WORD, u128::MAX),
        };
        let mut state = Self((0..Register::COUNT).map(held).collect());
        // The place of the work-item in its block, of which only x is not 0.
        state.0[0].value.bits = Bits::up_to(u64::from(block).saturating_sub(1));
        state.0[SCC].value.bits = Bits::up_to(1);
        if let Some(first) = arguments {
            // They begin with a dword, at least.
            state.0[SCALAR + usize::from(first)].value.bits.zeros |= 3;
        }
        state
    }

    /// Lets a register hold something of which some bits are known.
    #[cfg(test)]
    pub fn know(&mut self, register: usize, bits: Bits) {
        self.0[register].value.bits = bits;
    }

    /// What an instruction at `at` reads from a register, in the lanes that are on.
    pub fn read(&self, names: &mut Names, at: usize, register: usize) -> Value {
        let held = &self.0[register];
        if register >= SCALAR || held.lanes & EXEC != 0 {
            return held.value;
        }
        let bits = if held.wide.1 & EXEC != 0 { held.wide.0 } else { Bits::WORD };
        Value { bits, name: names.of(Term::Loose(at, register)) }
    }

    /// The words of an operand.
    pub fn operand(&self, names: &mut Names, at: usize, operand: Operand, ty: Ty) -> Vec<Value> {
        let words = ty.dwords();
        let constant = |value: u64, names: &mut Names| {
            let word = |half: u8| value >> (32 * u32::from(half.min(1))) & 0xffff_ffff;
            (0..words)
                .map(|half| Value {
                    bits: Bits::constant(word(half)),
                    name: names.of(Term::Constant(word(half))),
                })
                .collect()
        };
        match operand {
            Operand::Int(value) => constant(i64::from(value).cast_unsigned(), names),
            Operand::Literal(value) if words == 1 => constant(value.into(), names),
            Operand::Float(value) if matches!(ty, Ty::F32 | Ty::B32) => {
                constant(value.f32_bits().into(), names)
            }
            Operand::Special(softhip::isa::inst::SpecialSource::Scc) => vec![self.0[SCC].value],
            Operand::Scalar(_) | Operand::Vgpr(_) | Operand::Agpr(_) => RegisterSet::of(operand, words)
                .iter()
                .map(|register| self.read(names, at, register.index()))
                .collect(),
            Operand::None => Vec::new(),
            // Flags: what they are depends on when they are read.
            Operand::Special(_) => {
                let flag = |half| names.of(Term::Loose(at, Register::COUNT + usize::from(half)));
                (0..words).map(flag).map(|name| Value { bits: Bits::WORD, name }).collect()
            }
            other => (0..words)
                .map(|half| Value { bits: Bits::WORD, name: names.of(Term::Operand(other, ty, half)) })
                .collect(),
        }
    }

    /// Lets an instruction have written `results`.
    pub fn write(&mut self, inst: &Inst, effects: &Effects, results: &[(usize, Value)]) {
        let name = inst.op.mnemonic();
        let everywhere = name.contains("mfma") || inst.op == Op::v_writelane_b32;
        for &(register, value) in results {
            let held = &mut self.0[register];
            if register >= SCALAR {
                held.value = value;
                continue;
            }
            let both = if held.lanes & EXEC != 0 {
                (held.value.bits.meet(value.bits), held.lanes)
            } else {
                (held.wide.0.meet(value.bits), held.wide.1)
            };
            *held = Held { value, lanes: if everywhere { u128::MAX } else { EXEC }, wide: both };
        }
        self.write_masks(inst, effects);
    }

    /// What becomes of the lanes in which vector registers hold something, where masks are written.
    fn write_masks(&mut self, inst: &Inst, effects: &Effects) {
        let mut gone = 0u128;
        for pair in 0..127u8 {
            if effects.writes.meets(&RegisterSet::of(Operand::Scalar(pair), 2)) {
                gone |= 1 << pair;
            }
        }
        if gone == 0 {
            return;
        }
        let step = |lanes: u128| masks::within(inst, lanes) | lanes & !gone;
        for held in &mut self.0[..SCALAR] {
            held.lanes = step(held.lanes);
            held.wide.1 = step(held.wide.1);
        }
    }

    /// What holds on this way and on another, where they meet at `at`; true if something is new.
    pub fn join(&mut self, names: &mut Names, at: usize, other: &Self) -> bool {
        let mut new = false;
        for (register, (held, other)) in self.0.iter_mut().zip(&other.0).enumerate() {
            let bits = held.value.bits.meet(other.value.bits);
            let same = held.value.name == other.value.name;
            let name = if same { held.value.name } else { names.of(Term::Join(at, register)) };
            let joined = Held {
                value: Value { bits, name },
                lanes: held.lanes & other.lanes,
                wide: (held.wide.0.meet(other.wide.0), held.wide.1 & other.wide.1),
            };
            new |= joined != *held;
            *held = joined;
        }
        new
    }
}
