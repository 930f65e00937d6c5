//! SDWA and DPP: the forms of VOP1, VOP2 and VOPC with a second control word.

use super::operand::{self, Allowed};
use super::vop::with_implicit;
use super::{Code, DecodeError, bits, byte, flag};
use crate::isa::inst::{Dpp, DppCtrl, Format, Inst, Mods, Operand, Sdwa, SdwaSel, SdwaUnused, VopMods};
use crate::isa::op::Op;
use crate::isa::table::rule::{SrcMods, Vop};
use crate::isa::table::{Row, Ty};

/// Whether a type holds a floating-point number, so that `omod` applies to it as a result.
const fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::F32 | Ty::PF32)
}

pub fn sdwa(code: Code, format: Format, row: &Row<Vop>) -> Result<Inst, DecodeError> {
    let second = code.second()?;
    let op = row.op;
    let wide = row.src[0].dwords() > 1 || row.src[1].dwords() > 1;
    let wide_dst = row.dst.dwords() > 1 && row.dst != Ty::MASK && !op.is_from_fp8();
    if !row.rule.sdwa || wide || wide_dst {
        return Err(code.unknown());
    }
    let mut inst = with_implicit(row, code.start(row, Format::Sdwa, 8));
    let mut mods = VopMods::default();
    let mut control = Sdwa::default();

    if format == Format::Vopc {
        if flag(second, 15) {
            inst.dst = operand::scalar(code, op, bits(second, 8, 7), Ty::MASK)?;
        }
    } else {
        inst.dst = operand::vector(code, op, code.first_bits(17, 8), row.dst, false)?;
        control.dst_sel = select(code, op, bits(second, 8, 3))?;
        control.dst_unused = match bits(second, 11, 2) {
            1 => SdwaUnused::Sext,
            2 => SdwaUnused::Preserve,
            _ => SdwaUnused::Pad,
        };
        if op.is_from_fp8() {
            code.require(control.dst_sel == SdwaSel::Dword, op, "dst_sel")?;
            control.dst_unused = SdwaUnused::Pad;
        }
        mods.clamp = flag(second, 13);
        mods.omod = byte(bits(second, 14, 2));
        let scalable = row.rule.omod && is_float(row.dst);
        code.require(scalable || mods.omod == 0, op, "omod")?;
    }

    let second_register = code.first_bits(9, 8);
    let count = if format == Format::Vop1 { 1 } else { 2 };
    for i in 0..count {
        let (at, register) = if i == 0 { (16, bits(second, 0, 8)) } else { (24, second_register) };
        let control_bits = bits(second, at, 8);
        // The byte is sel(3) sext neg abs reserved scalar.
        inst.src[i] = sdwa_source(code, op, register, flag(control_bits, 7), row.src[i])?;
        control.src_sel[i] = select(code, op, bits(control_bits, 0, 3))?;
        let (sext, neg, abs) = (flag(control_bits, 3), flag(control_bits, 4), flag(control_bits, 5));
        if row.rule.src[i] == SrcMods::Float {
            code.require(!sext, op, "sext")?;
            mods.neg |= u8::from(neg) << i;
            mods.abs |= u8::from(abs) << i;
        } else {
            code.require(!neg && !abs, op, "neg or abs")?;
            control.sext[i] = sext;
        }
    }
    if count == 1 {
        // Bit 30 is reserved and ignored; the rest of the second source's byte must be zero.
        code.require(bits(second, 24, 8) & !(1 << 6) == 0, op, "second source")?;
    }
    inst.mods = Mods::Sdwa(mods, control);
    Ok(inst)
}

fn sdwa_source(code: Code, op: Op, register: u32, scalar: bool, ty: Ty) -> Result<Operand, DecodeError> {
    if scalar {
        operand::source(code, op, register, ty, Allowed::Inline)
    } else {
        operand::vector(code, op, register, ty, false)
    }
}

fn select(code: Code, op: Op, field: u32) -> Result<SdwaSel, DecodeError> {
    Ok(match field {
        0 => SdwaSel::Byte0,
        1 => SdwaSel::Byte1,
        2 => SdwaSel::Byte2,
        3 => SdwaSel::Byte3,
        4 => SdwaSel::Word0,
        5 => SdwaSel::Word1,
        6 => SdwaSel::Dword,
        _ => return Err(code.malformed(op, "sdwa select")),
    })
}

pub fn dpp(code: Code, format: Format, row: &Row<Vop>) -> Result<Inst, DecodeError> {
    let second = code.second()?;
    let op = row.op;
    if !row.rule.dpp || format == Format::Vopc {
        return Err(code.unknown());
    }
    let mut inst = with_implicit(row, code.start(row, Format::Dpp, 8));
    inst.dst = operand::vector(code, op, code.first_bits(17, 8), row.dst, false)?;
    inst.src[0] = operand::vector(code, op, bits(second, 0, 8), row.src[0], false)?;
    let count = if format == Format::Vop1 { 1 } else { 2 };
    if count == 2 {
        inst.src[1] = operand::vector(code, op, code.first_bits(9, 8), row.src[1], false)?;
    }
    let mut mods = VopMods::default();
    for i in 0..2 {
        let (neg, abs) = (flag(second, 20 + 2 * i), flag(second, 21 + 2 * i));
        let rule = if i < count { row.rule.src[i as usize] } else { SrcMods::None };
        match rule {
            SrcMods::None => code.require(!neg && !abs, op, "neg or abs")?,
            SrcMods::Ignored => {}
            SrcMods::Int => mods.neg |= u8::from(neg) << i,
            SrcMods::Float => {
                mods.neg |= u8::from(neg) << i;
                mods.abs |= u8::from(abs) << i;
            }
        }
    }
    let ctrl = permutation(bits(second, 8, 9)).ok_or_else(|| code.malformed(op, "dpp_ctrl"))?;
    let wide = row.dst.dwords() > 1 || row.src[0].dwords() > 1;
    let allowed = !wide || matches!(ctrl, DppCtrl::RowNewbcast(_));
    code.require(allowed, op, "64-bit operations take row_newbcast only")?;
    let control = Dpp {
        ctrl,
        row_mask: byte(bits(second, 28, 4)),
        bank_mask: byte(bits(second, 24, 4)),
        bound_ctrl: flag(second, 19),
    };
    inst.mods = Mods::Dpp(mods, control);
    Ok(inst)
}

fn permutation(field: u32) -> Option<DppCtrl> {
    let n = byte(field & 15);
    Some(match field {
        0..=0xff => DppCtrl::QuadPerm([0, 2, 4, 6].map(|low| byte(bits(field, low, 2)))),
        0x101..=0x10f => DppCtrl::RowShl(n),
        0x111..=0x11f => DppCtrl::RowShr(n),
        0x121..=0x12f => DppCtrl::RowRor(n),
        0x130 => DppCtrl::WaveShl,
        0x134 => DppCtrl::WaveRol,
        0x138 => DppCtrl::WaveShr,
        0x13c => DppCtrl::WaveRor,
        0x140 => DppCtrl::RowMirror,
        0x141 => DppCtrl::RowHalfMirror,
        0x142 => DppCtrl::RowBcast15,
        0x143 => DppCtrl::RowBcast31,
        0x150..=0x15f => DppCtrl::RowNewbcast(n),
        _ => return None,
    })
}
