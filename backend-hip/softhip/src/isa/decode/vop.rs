//! VOP1, VOP2, VOPC in their 32-bit form, and the way into SDWA and DPP.

use super::operand::{self, Allowed};
use super::{Code, DecodeError, lanes};
use crate::isa::inst::{Format, Inst, Operand};
use crate::isa::op::Op;
use crate::isa::table::rule::{OpSel, Vop};
use crate::isa::table::{self, Row, Ty};

/// `src0` value that announces SDWA.
const SDWA: u32 = 249;
/// `src0` value that announces DPP.
const DPP: u32 = 250;

pub fn decode(code: Code) -> Result<Inst, DecodeError> {
    let (format, row) = match code.first_bits(25, 6) {
        0x3f => (Format::Vop1, table::VOP1.get(code.first_bits(9, 8))),
        0x3e => (Format::Vopc, table::VOPC.get(code.first_bits(17, 8))),
        op => (Format::Vop2, table::VOP2.get(op)),
    };
    let row = row.ok_or_else(|| code.unknown())?;
    if row.dst == Ty::X {
        code.require(code.first_bits(17, 8) == 0, row.op, "vdst")?;
        return Ok(code.start(row, format, 4));
    }
    match code.first_bits(0, 9) {
        SDWA => lanes::sdwa(code, format, row),
        DPP => lanes::dpp(code, format, row),
        field => short(code, format, row, field),
    }
}

fn short(code: Code, format: Format, row: &Row<Vop>, field: u32) -> Result<Inst, DecodeError> {
    let op = row.op;
    let mut inst = with_implicit(row, code.start(row, format, 4));
    let allowed = match row.src[0] {
        Ty::V32 if row.dst == Ty::S32 => Allowed::VectorOrLds,
        Ty::V32 | Ty::A32 => Allowed::Vector,
        _ => Allowed::WithLiteral,
    };
    inst.src[0] = operand::source(code, op, field, row.src[0], allowed)?;
    if let (Ty::A32, Operand::Vgpr(n)) = (row.src[0], inst.src[0]) {
        inst.src[0] = Operand::Agpr(n);
    }
    if matches!(inst.src[0], Operand::Literal(_)) {
        inst.size = 8;
    }
    if format != Format::Vop1 {
        inst.src[1] = operand::vector(code, op, code.first_bits(9, 8), row.src[1], false)?;
    }
    if format != Format::Vopc {
        inst.dst = match row.dst {
            Ty::S32 => operand::source(code, op, code.first_bits(17, 8), Ty::S32, Allowed::Scalar)?,
            ty => operand::vector(code, op, code.first_bits(17, 8), ty, ty == Ty::A32)?,
        };
    }
    match op {
        Op::v_fmamk_f32 | Op::v_madmk_f16 => {
            inst.src[2] = inst.src[1];
            inst.src[1] = Operand::Literal(code.second()?);
            inst.size = 8;
        }
        Op::v_fmaak_f32 | Op::v_madak_f16 => {
            inst.src[2] = Operand::Literal(code.second()?);
            inst.size = 8;
        }
        _ => {}
    }
    Ok(inst)
}

/// Fills in VCC where the short forms use it without saying so.
pub fn with_implicit(row: &Row<Vop>, mut inst: Inst) -> Inst {
    if row.dst == Ty::MASK {
        inst.dst = Operand::VCC;
    }
    if row.rule.op_sel == OpSel::Sdst {
        inst.dst2 = Operand::VCC;
    }
    if row.src[2] == Ty::MASK {
        inst.src[2] = Operand::VCC;
    }
    inst
}
