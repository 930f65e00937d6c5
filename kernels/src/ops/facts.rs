//! What an op is, as data: derived from its struct and its `operands!` line.

use super::Axis;

/// How an output is compared with the oracle.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Class {
    /// Equal bits; any NaN equals any NaN.
    Bitwise,
    /// The f32 nearest to the exact result; in a shorter output, that one rounded again or the nearest of its own.
    Rounded,
    /// `|got − want| ≤ bound`, element by element, with the bound that the op's page derives.
    Bounded,
}

/// What a field of an op's struct may hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// A tensor that is read.
    Input,
    /// A tensor that is read, or none.
    Optional,
    /// A tensor that is read; without one, the output holds the values before the op (the op runs in place).
    InPlace,
    /// Indices whose values the host knows.
    Indices,
    /// A tensor that is written.
    Output,
}

/// One operand of an op.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandFact {
    /// Name of the field.
    pub name: &'static str,
    /// What it may hold.
    pub kind: OperandKind,
}

/// What an op is.
#[derive(Clone, PartialEq, Debug)]
pub struct Facts {
    /// How its outputs are compared.
    pub class: Class,
    /// Its operands, in the order of its struct.
    pub operands: Vec<OperandFact>,
    /// Its parameters, in the order of its struct.
    pub params: &'static [&'static str],
    /// Its operands of type *float*: activations, gains and biases in f32, f16 or bf16. Those of `cast`, `copy` and `fill` are not among
    /// them, whose types are what these ops are about.
    pub floats: &'static [&'static str],
    /// Its operands that may be [transposed](crate::Arrangement::Transposed), in types without blocks. The elements of a row of all
    /// others lie side by side.
    pub transposable: &'static [&'static str],
    /// The dimensions that its operands share.
    pub axes: &'static [Axis],
    /// True for an op that writes only part of its outputs, so that the rest must stay.
    pub updates: bool,
}

impl Facts {
    /// The operand that may be in place; `None` for an op that always has an output of its own.
    pub fn in_place(&self) -> Option<&'static str> {
        self.operands.iter().find(|o| o.kind == OperandKind::InPlace).map(|o| o.name)
    }
}
