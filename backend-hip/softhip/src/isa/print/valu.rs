//! Vector ALU and matrix instructions.

use std::fmt::{self, Display, Formatter};

use super::Line;
use super::operand::Typed;
use crate::isa::inst::{Dpp, DppCtrl, Format, Mfma, Mods, Operand, Sdwa, SdwaSel, SdwaUnused, VopMods};
use crate::isa::op::Op;
use crate::isa::table::rule::{OpSel, SrcMods, Vop};
use crate::isa::table::{self, Ty};

pub fn print(out: &mut Line<'_, '_>) -> fmt::Result {
    let inst = out.inst;
    out.text(suffix(inst.op, inst.format))?;
    out.dst()?;
    if inst.dst2.is_some() {
        out.operand(inst.dst2, Ty::MASK)?;
    }
    let rule = table::vop_rule(inst.op);
    let mods = inst.vop_mods();
    let sext = match inst.mods {
        Mods::Sdwa(_, sdwa) => sdwa.sext,
        _ => [false; 2],
    };
    for i in 0..3 {
        let operand = Typed { operand: inst.src[i], ty: out.types[i + 1] };
        if !operand.operand.is_some() {
            continue;
        }
        let packed = rule.is_some_and(|rule| rule.op_sel == OpSel::Packed) && !inst.op.is_fma_mix();
        let (abs, neg) = (mods.abs >> i & 1 != 0, mods.neg >> i & 1 != 0);
        let integer = rule.is_some_and(|rule| rule.src[i] == SrcMods::Int);
        if packed {
            out.word(operand)?;
        } else if integer && neg || sext.get(i) == Some(&true) {
            out.word(format_args!("sext({operand})"))?;
        } else if constant_of(inst.op, i) {
            out.word(Constant(operand.operand))?;
        } else {
            out.word(Modified { operand, abs, neg })?;
        }
    }
    match inst.mods {
        Mods::Vop(mods) => {
            if let Some(rule) = rule {
                modifiers(out, &rule, mods)?;
            }
            Ok(())
        }
        Mods::Sdwa(mods, sdwa) => sdwa_controls(out, mods, sdwa),
        Mods::Dpp(_, dpp) => dpp_controls(out, dpp),
        Mods::Mfma(mfma) => matrix_controls(out, mfma),
        _ => Ok(()),
    }
}

fn suffix(op: Op, format: Format) -> &'static str {
    let short = table::has_short_form(op);
    let long = table::vop_rule(op).is_some_and(|rule| rule.vop3) || op == Op::v_pk_fmac_f16;
    match format {
        _ if matches!(op, Op::v_nop | Op::v_clrexcp) => "",
        Format::Sdwa => "_sdwa",
        Format::Dpp => "_dpp",
        Format::Vop3 if short => "_e64",
        Format::Vop1 | Format::Vop2 | Format::Vopc if long => "_e32",
        _ => "",
    }
}

/// Whether source `i` is the constant that is part of the operation, always written in full.
const fn constant_of(op: Op, i: usize) -> bool {
    match op {
        Op::v_fmamk_f32 | Op::v_madmk_f16 => i == 1,
        Op::v_fmaak_f32 | Op::v_madak_f16 => i == 2,
        _ => false,
    }
}

struct Constant(Operand);

impl Display for Constant {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Operand::Literal(bits) => write!(f, "{bits:#x}"),
            operand => write!(f, "{}", Typed { operand, ty: Ty::B32 }),
        }
    }
}

/// A floating-point source with its modifiers.
struct Modified {
    operand: Typed,
    abs: bool,
    neg: bool,
}

impl Display for Modified {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let operand = self.operand;
        let constant = matches!(operand.operand, Operand::Int(_) | Operand::Float(_) | Operand::Literal(_));
        match (self.neg, self.abs) {
            (false, false) => write!(f, "{operand}"),
            (false, true) => write!(f, "|{operand}|"),
            (true, true) => write!(f, "-|{operand}|"),
            (true, false) if constant => write!(f, "neg({operand})"),
            (true, false) => write!(f, "-{operand}"),
        }
    }
}

/// ` name:[a,b,c]` of the low bits of a mask.
fn list(out: &mut Line<'_, '_>, name: &str, mask: u8, count: usize) -> fmt::Result {
    write!(out.f, " {name}:[")?;
    for i in 0..count {
        let gap = if i == 0 { "" } else { "," };
        write!(out.f, "{gap}{}", mask >> i & 1)?;
    }
    out.f.write_str("]")
}

fn modifiers(out: &mut Line<'_, '_>, rule: &Vop, mods: VopMods) -> fmt::Result {
    let sources = out.inst.src.iter().filter(|src| src.is_some()).count();
    match rule.op_sel {
        OpSel::Three if mods.op_sel != 0 => list(out, "op_sel", mods.op_sel, 4)?,
        OpSel::Two if mods.op_sel != 0 => list(out, "op_sel", mods.op_sel & 3 | mods.op_sel >> 1 & 4, 3)?,
        OpSel::Ignored | OpSel::Sdst | OpSel::Two | OpSel::Three => {}
        OpSel::Packed => {
            let all = (1 << sources) - 1;
            if mods.op_sel != 0 {
                list(out, "op_sel", mods.op_sel, sources)?;
            }
            let usual = if out.inst.op.is_fma_mix() { 0 } else { all };
            if mods.op_sel_hi != usual {
                list(out, "op_sel_hi", mods.op_sel_hi, sources)?;
            }
            if !out.inst.op.is_fma_mix() && mods.neg != 0 {
                list(out, "neg_lo", mods.neg, sources)?;
            }
            if mods.neg_hi != 0 {
                list(out, "neg_hi", mods.neg_hi, sources)?;
            }
        }
    }
    out.flag("clamp", mods.clamp)?;
    output_multiplier(out, mods.omod)
}

fn output_multiplier(out: &mut Line<'_, '_>, omod: u8) -> fmt::Result {
    match omod {
        1 => out.text(" mul:2"),
        2 => out.text(" mul:4"),
        3 => out.text(" div:2"),
        _ => Ok(()),
    }
}

fn sdwa_controls(out: &mut Line<'_, '_>, mods: VopMods, sdwa: Sdwa) -> fmt::Result {
    out.flag("clamp", mods.clamp)?;
    output_multiplier(out, mods.omod)?;
    if out.types[0] != Ty::MASK && !out.inst.op.is_from_fp8() {
        let unused = match sdwa.dst_unused {
            SdwaUnused::Pad => "UNUSED_PAD",
            SdwaUnused::Sext => "UNUSED_SEXT",
            SdwaUnused::Preserve => "UNUSED_PRESERVE",
        };
        write!(out.f, " dst_sel:{} dst_unused:{unused}", select_name(sdwa.dst_sel))?;
    }
    write!(out.f, " src0_sel:{}", select_name(sdwa.src_sel[0]))?;
    if out.inst.src[1].is_some() {
        write!(out.f, " src1_sel:{}", select_name(sdwa.src_sel[1]))?;
    }
    Ok(())
}

const fn select_name(select: SdwaSel) -> &'static str {
    match select {
        SdwaSel::Byte0 => "BYTE_0",
        SdwaSel::Byte1 => "BYTE_1",
        SdwaSel::Byte2 => "BYTE_2",
        SdwaSel::Byte3 => "BYTE_3",
        SdwaSel::Word0 => "WORD_0",
        SdwaSel::Word1 => "WORD_1",
        SdwaSel::Dword => "DWORD",
    }
}

fn dpp_controls(out: &mut Line<'_, '_>, dpp: Dpp) -> fmt::Result {
    let f = &mut *out.f;
    match dpp.ctrl {
        DppCtrl::QuadPerm([a, b, c, d]) => write!(f, " quad_perm:[{a},{b},{c},{d}]"),
        DppCtrl::RowShl(n) => write!(f, " row_shl:{n}"),
        DppCtrl::RowShr(n) => write!(f, " row_shr:{n}"),
        DppCtrl::RowRor(n) => write!(f, " row_ror:{n}"),
        DppCtrl::WaveShl => f.write_str(" wave_shl:1"),
        DppCtrl::WaveRol => f.write_str(" wave_rol:1"),
        DppCtrl::WaveShr => f.write_str(" wave_shr:1"),
        DppCtrl::WaveRor => f.write_str(" wave_ror:1"),
        DppCtrl::RowMirror => f.write_str(" row_mirror"),
        DppCtrl::RowHalfMirror => f.write_str(" row_half_mirror"),
        DppCtrl::RowBcast15 => f.write_str(" row_bcast:15"),
        DppCtrl::RowBcast31 => f.write_str(" row_bcast:31"),
        DppCtrl::RowNewbcast(n) => write!(f, " row_newbcast:{n}"),
    }?;
    write!(f, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
    out.flag("bound_ctrl:1", dpp.bound_ctrl)
}

fn matrix_controls(out: &mut Line<'_, '_>, mfma: Mfma) -> fmt::Result {
    if mfma.cbsz != 0 {
        write!(out.f, " cbsz:{}", mfma.cbsz)?;
    }
    if mfma.abid != 0 {
        write!(out.f, " abid:{}", mfma.abid)?;
    }
    match mfma.blgp {
        0 => Ok(()),
        blgp if out.types[1] == Ty::F64 => list(out, "neg", blgp, 3),
        blgp => write!(out.f, " blgp:{blgp}"),
    }
}
