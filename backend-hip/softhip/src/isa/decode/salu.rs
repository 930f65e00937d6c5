//! SOP1, SOP2, SOPC, SOPK, SOPP.

use super::operand::{self, Allowed};
use super::{Code, DecodeError, half};
use crate::isa::inst::{Format, Inst, Mods, Operand};
use crate::isa::op::Op;
use crate::isa::table::rule::Salu;
use crate::isa::table::{self, Row, Ty};

pub fn decode(code: Code) -> Result<Inst, DecodeError> {
    match code.first_bits(23, 9) {
        0x17d => sop1(code),
        0x17e => sopc(code),
        0x17f => sopp(code),
        0x160..=0x17c => sopk(code),
        _ => sop2(code),
    }
}

/// A register-only type forbids constants.
const fn allowed(ty: Ty) -> Allowed {
    match ty {
        Ty::S32 | Ty::S64 => Allowed::Scalar,
        _ => Allowed::ScalarWithLiteral,
    }
}

/// Decodes the sources a row names and sets the size: 8 bytes if one of them is the literal.
fn with_sources(code: Code, row: &Row<Salu>, fields: [u32; 2], mut inst: Inst) -> Result<Inst, DecodeError> {
    for (i, field) in fields.into_iter().enumerate() {
        let ty = row.src[i];
        if ty != Ty::X {
            inst.src[i] = operand::source(code, row.op, field, ty, allowed(ty))?;
        }
    }
    let literal = inst.src.iter().any(|src| matches!(src, Operand::Literal(_)));
    inst.size = if literal { 8 } else { 4 };
    Ok(inst)
}

fn with_dst(code: Code, row: &Row<Salu>, mut inst: Inst) -> Result<Inst, DecodeError> {
    if row.dst != Ty::X {
        inst.dst = operand::scalar(code, row.op, code.first_bits(16, 7), row.dst)?;
    }
    Ok(inst)
}

fn sop2(code: Code) -> Result<Inst, DecodeError> {
    let row = table::SOP2.get(code.first_bits(23, 7)).ok_or_else(|| code.unknown())?;
    let inst = with_dst(code, row, code.start(row, Format::Sop2, 4))?;
    with_sources(code, row, [code.first_bits(0, 8), code.first_bits(8, 8)], inst)
}

fn sop1(code: Code) -> Result<Inst, DecodeError> {
    let row = table::SOP1.get(code.first_bits(8, 8)).ok_or_else(|| code.unknown())?;
    let inst = with_dst(code, row, code.start(row, Format::Sop1, 4))?;
    with_sources(code, row, [code.first_bits(0, 8), 0], inst)
}

fn sopc(code: Code) -> Result<Inst, DecodeError> {
    let row = table::SOPC.get(code.first_bits(16, 7)).ok_or_else(|| code.unknown())?;
    let mut inst = code.start(row, Format::Sopc, 4);
    let second = code.first_bits(8, 8);
    if row.rule == Salu::GprIdx {
        inst.mods = Mods::Imm(half(second));
    }
    with_sources(code, row, [code.first_bits(0, 8), second], inst)
}

fn sopk(code: Code) -> Result<Inst, DecodeError> {
    let row = table::SOPK.get(code.first_bits(23, 5)).ok_or_else(|| code.unknown())?;
    let mut inst = with_dst(code, row, code.start(row, Format::Sopk, 4))?;
    inst.mods = Mods::Imm(half(code.first));
    if row.op == Op::s_setreg_imm32_b32 {
        inst.src[0] = Operand::Literal(code.second()?);
        inst.size = 8;
    } else if row.src[0] != Ty::X {
        inst.src[0] = operand::scalar(code, row.op, code.first_bits(16, 7), row.src[0])?;
    }
    Ok(inst)
}

fn sopp(code: Code) -> Result<Inst, DecodeError> {
    let row = table::SOPP.get(code.first_bits(16, 7)).ok_or_else(|| code.unknown())?;
    let imm = half(code.first);
    code.require(row.rule != Salu::None || imm == 0, row.op, "immediate")?;
    let mut inst = code.start(row, Format::Sopp, 4);
    inst.mods = Mods::Imm(imm);
    Ok(inst)
}
