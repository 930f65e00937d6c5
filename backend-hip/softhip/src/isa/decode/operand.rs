//! Decoding of operand fields.

use super::{Code, DecodeError, byte};
use crate::isa::inst::{FloatConst, Operand, SpecialSource, scalar};
use crate::isa::op::Op;
use crate::isa::table::Ty;

/// Which constants a source field may name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Constants {
    /// Inline constants and a literal.
    WithLiteral,
    /// Inline constants only.
    Inline,
    /// None.
    Forbidden,
}

/// A source field of 8 or 9 bits. The literal, where used, is the second word.
pub fn source(
    code: Code,
    op: Op,
    field: u32,
    ty: Ty,
    constants: Constants,
) -> Result<Operand, DecodeError> {
    let registers = ty.dwords();
    let operand = match field {
        0..=127 => scalar_register(field, registers),
        128..=208 | 240..=248 if constants == Constants::Forbidden => None,
        128..=192 => i8::try_from(field - 128).ok().map(Operand::Int),
        193..=208 => i8::try_from(field - 192).ok().map(|n| Operand::Int(-n)),
        235..=239 | 251..=253 => special(field).map(Operand::Special),
        240..=248 => FloatConst::ALL.get((field - 240) as usize).copied().map(Operand::Float),
        254 if registers == 1 => Some(Operand::Special(SpecialSource::LdsDirect)),
        255 if constants == Constants::WithLiteral => Some(Operand::Literal(code.second()?)),
        256..=511 => vector_register(byte(field), registers).map(Operand::Vgpr),
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

fn scalar_register(field: u32, registers: u8) -> Option<Operand> {
    let first = byte(field);
    // Wide operands start at a multiple of their width, at most 4.
    let step = if registers >= 3 { 4 } else { registers };
    let within = |file: std::ops::RangeInclusive<u8>| {
        file.contains(&first)
            && (first - file.start()) % step == 0
            && u32::from(first) + u32::from(registers) <= u32::from(*file.end()) + 1
    };
    let fits = match first {
        0..=101 => within(0..=101),
        108..=123 => within(108..=123),
        scalar::NULL => true,
        scalar::M0 => registers == 1,
        102..=107 | 126..=127 => registers == 1 || registers == 2 && first % 2 == 0,
        _ => false,
    };
    fits.then_some(Operand::Scalar(first))
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
