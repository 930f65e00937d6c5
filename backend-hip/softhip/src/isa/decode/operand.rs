//! Decoding of operand fields.

use super::{Code, DecodeError, byte};
use crate::isa::inst::{FloatConst, Operand, SpecialSource, scalar};
use crate::isa::op::Op;
use crate::isa::table::Ty;

/// What a source field may name, besides the read-only sources that stand anywhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// Registers, inline constants and a literal.
    WithLiteral,
    /// Registers and inline constants.
    Inline,
    /// Scalar registers, inline constants and a literal; not LDS.
    ScalarWithLiteral,
    /// Scalar registers and inline constants; not LDS.
    ScalarInline,
    /// Scalar registers.
    Scalar,
    /// Vector registers and inline constants; not LDS.
    VectorInline,
    /// Vector registers; not LDS.
    Vector,
    /// Vector registers and LDS.
    VectorOrLds,
}

impl Allowed {
    const fn constants(self) -> bool {
        !matches!(self, Self::Scalar | Self::Vector | Self::VectorOrLds)
    }

    const fn scalar(self) -> bool {
        !matches!(self, Self::Vector | Self::VectorInline | Self::VectorOrLds)
    }

    const fn lds(self) -> bool {
        matches!(self, Self::WithLiteral | Self::Inline | Self::VectorOrLds)
    }

    const fn literal(self) -> bool {
        matches!(self, Self::WithLiteral | Self::ScalarWithLiteral)
    }

    const fn vector(self) -> bool {
        !matches!(self, Self::ScalarWithLiteral | Self::ScalarInline | Self::Scalar)
    }
}

/// A source field of 8 or 9 bits. The literal, where used, is the second word.
pub fn source(code: Code, op: Op, field: u32, ty: Ty, allowed: Allowed) -> Result<Operand, DecodeError> {
    let registers = ty.dwords();
    let operand = match field {
        0..=127 if allowed.scalar() || field == u32::from(scalar::NULL) => scalar_register(field, registers),
        128..=192 if allowed.constants() => i8::try_from(field - 128).ok().map(Operand::Int),
        193..=208 if allowed.constants() => i8::try_from(field - 192).ok().map(|n| Operand::Int(-n)),
        240..=248 if allowed.constants() => {
            FloatConst::ALL.get((field - 240) as usize).copied().map(Operand::Float)
        }
        235..=239 | 251..=253 => special(field).map(Operand::Special),
        254 if registers == 1 && allowed.lds() => Some(Operand::Special(SpecialSource::LdsDirect)),
        255 if allowed.literal() => Some(Operand::Literal(code.second()?)),
        256..=511 if allowed.vector() => vector_register(byte(field), registers).map(Operand::Vgpr),
        _ => None,
    };
    operand.ok_or_else(|| code.malformed(op, "source"))
}

/// A scalar register field of 7 bits.
pub fn scalar(code: Code, op: Op, field: u32, ty: Ty) -> Result<Operand, DecodeError> {
    scalar_register(field, ty.dwords()).ok_or_else(|| code.malformed(op, "scalar register"))
}

/// A vector register field of 8 bits, or an accumulation register if `acc`.
pub fn vector(code: Code, op: Op, field: u32, ty: Ty, acc: bool) -> Result<Operand, DecodeError> {
    let first = vector_register(byte(field), ty.dwords())
        .ok_or_else(|| code.malformed(op, "vector register past v255"))?;
    Ok(if acc { Operand::Agpr(first) } else { Operand::Vgpr(first) })
}

fn vector_register(first: u8, registers: u8) -> Option<u8> {
    (u32::from(first) + u32::from(registers) <= 256).then_some(first)
}

/// Wide operands start at a multiple of their width, at most 4; the low bits of the field are ignored.
/// LLVM lets operands of four and more registers reach over the two words of `flat_scratch`.
fn scalar_register(field: u32, registers: u8) -> Option<Operand> {
    let step = if registers >= 3 { 4 } else { registers };
    let field = byte(field);
    let within = |start: u8, end: u8| {
        let first = field - (field - start) % step;
        (u32::from(first) + u32::from(registers) <= u32::from(end)).then_some(first)
    };
    let first = match field {
        0..=101 => within(0, if registers >= 3 { 104 } else { 102 }),
        108..=123 => within(108, 124),
        scalar::NULL => Some(field),
        scalar::M0 => (registers == 1).then_some(field),
        102..=107 | 126..=127 => {
            (registers == 1 || registers == 2 && field.is_multiple_of(2)).then_some(field)
        }
        _ => None,
    };
    first.map(Operand::Scalar)
}

const fn special(field: u32) -> Option<SpecialSource> {
    Some(match field {
        235 => SpecialSource::SharedBase,
        236 => SpecialSource::SharedLimit,
        237 => SpecialSource::PrivateBase,
        238 => SpecialSource::PrivateLimit,
        239 => SpecialSource::PopsExitingWaveId,
        251 => SpecialSource::Vccz,
        252 => SpecialSource::Execz,
        253 => SpecialSource::Scc,
        _ => return None,
    })
}
