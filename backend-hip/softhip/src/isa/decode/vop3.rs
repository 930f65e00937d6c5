//! VOP3 and VOP3P.

use super::operand::{self, Allowed};
use super::{Code, DecodeError, bits, byte, flag, mai};
use crate::isa::inst::{Format, Inst, Mods, VopMods, scalar};
use crate::isa::table::rule::{OpSel, SrcMods, Vop};
use crate::isa::table::{self, Row, Ty};

pub fn decode(code: Code) -> Result<Inst, DecodeError> {
    if code.first_bits(23, 9) == 0x1a7 {
        return decode_packed(code);
    }
    let opcode = code.first_bits(16, 10);
    let row = match opcode {
        0..256 => table::VOPC.get(opcode),
        256..320 => table::VOP2.get(opcode - 256),
        320..448 => table::VOP1.get(opcode - 320),
        _ => table::VOP3.get(opcode),
    };
    let row = row.filter(|row| row.rule.vop3).ok_or_else(|| code.unknown())?;
    let second = code.second()?;
    let op = row.op;
    let mut inst = code.start(row, Format::Vop3, 8);

    let sdst = row.rule.op_sel == OpSel::Sdst;
    if sdst {
        inst.dst2 = operand::scalar(code, op, code.first_bits(8, 7), Ty::MASK)?;
    }
    inst.dst = match row.dst {
        Ty::X => {
            code.require(code.first_bits(0, 8) == 0, op, "vdst")?;
            inst.dst
        }
        // LLVM reads this field like a source, read-only names included.
        Ty::MASK | Ty::S32 => operand::source(code, op, code.first_bits(0, 8), row.dst, Allowed::Scalar)?,
        ty => operand::vector(code, op, code.first_bits(0, 8), ty, false)?,
    };
    inst = with_sources(code, row, second, inst)?;
    inst.mods = Mods::Vop(modifiers(code, row, second, sdst)?);
    Ok(inst)
}

fn with_sources(code: Code, row: &Row<Vop>, second: u32, mut inst: Inst) -> Result<Inst, DecodeError> {
    for (i, low) in [0, 9, 18].into_iter().enumerate() {
        let field = bits(second, low, 9);
        let ty = row.src[i];
        if ty == Ty::X {
            code.require(field == 0, row.op, "unused source")?;
            continue;
        }
        // A lane mask may be any scalar pair but EXEC.
        let exec = field == u32::from(scalar::EXEC);
        code.require(ty != Ty::MASK || !exec, row.op, "mask is exec")?;
        inst.src[i] = operand::source(code, row.op, field, ty, allowed(ty))?;
    }
    Ok(inst)
}

const fn allowed(ty: Ty) -> Allowed {
    match ty {
        Ty::MASK => Allowed::Scalar,
        Ty::V32 => Allowed::VectorOrLds,
        Ty::V128 => Allowed::Vector,
        Ty::L32 => Allowed::ScalarInline,
        _ => Allowed::Inline,
    }
}

fn modifiers(code: Code, row: &Row<Vop>, second: u32, sdst: bool) -> Result<VopMods, DecodeError> {
    let op = row.op;
    let abs = if sdst { 0 } else { byte(code.first_bits(8, 3)) };
    let neg = byte(bits(second, 29, 3));
    let mut mods =
        VopMods { clamp: flag(code.first, 15), omod: byte(bits(second, 27, 2)), ..VopMods::default() };
    for i in 0..3 {
        let bit = 1u8 << i;
        let rule = if row.src[i] == Ty::X && row.rule.src[i] != SrcMods::Ignored {
            SrcMods::None
        } else {
            row.rule.src[i]
        };
        match rule {
            SrcMods::None => code.require((abs | neg) & bit == 0, op, "neg or abs")?,
            SrcMods::Ignored => {}
            SrcMods::Int => mods.neg |= neg & bit,
            SrcMods::Float => {
                mods.neg |= neg & bit;
                mods.abs |= abs & bit;
            }
        }
    }
    code.require(row.rule.clamp || !mods.clamp, op, "clamp")?;
    code.require(row.rule.omod || mods.omod == 0, op, "omod")?;
    let op_sel = byte(code.first_bits(11, 4));
    mods.op_sel = match row.rule.op_sel {
        OpSel::Ignored | OpSel::Sdst | OpSel::Packed => 0,
        OpSel::Three => op_sel,
        OpSel::Two => {
            code.require(op_sel & 4 == 0, op, "op_sel")?;
            op_sel
        }
    };
    Ok(mods)
}

fn decode_packed(code: Code) -> Result<Inst, DecodeError> {
    let opcode = code.first_bits(16, 7);
    let second = code.second()?;
    let Some(row) = table::VOP3P.get(opcode) else {
        let row = table::MAI.get(opcode).ok_or_else(|| code.unknown())?;
        return mai::decode(code, row, second);
    };
    let op = row.op;
    let mut inst = code.start(row, Format::Vop3p, 8);
    inst.dst = operand::vector(code, op, code.first_bits(0, 8), row.dst, false)?;
    inst = with_sources(code, row, second, inst)?;
    let used = if row.src[2] == Ty::X { 0b011 } else { 0b111 };
    let mut mods = VopMods {
        clamp: flag(code.first, 15),
        op_sel: byte(code.first_bits(11, 3)),
        op_sel_hi: byte(bits(second, 27, 2) | code.first_bits(14, 1) << 2),
        neg: byte(bits(second, 29, 3)),
        neg_hi: byte(code.first_bits(8, 3)),
        ..VopMods::default()
    };
    let spare = (mods.op_sel | mods.neg | mods.neg_hi) & !used;
    code.require(spare == 0, op, "modifiers of an absent source")?;
    mods.op_sel_hi &= used;
    if op.is_fma_mix() {
        mods.abs = mods.neg_hi;
        mods.neg_hi = 0;
    }
    inst.mods = Mods::Vop(mods);
    Ok(inst)
}
