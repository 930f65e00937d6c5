//! Operand modifiers: what happens to sources before an operation and to its result afterwards.
//!
//! The order is: DPP permutation, SDWA or `op_sel` selection, absolute value, negation; then the bare operation
//! on temporaries; then output multiplier, clamp, and the choice of destination bits.

use half::f16;

use super::core::cx::{Cx, Handler, Step};
use super::core::lanes::{map_unmodified, merge, transform};
use super::core::uop::Uop;
use super::core::vectorised::lanewise;
use super::dpp;
use super::float::{Float, flush};
use super::resolve::Layout;
use super::valu;
use crate::isa::inst::{Sdwa, SdwaSel, SdwaUnused, VopMods};
use crate::isa::table::rule::OpSel;
use crate::isa::table::{Ty, vop_rule};
use crate::isa::{Format, Inst, Mods, Op};
use crate::memory::Lanes;

/// Points the bare operation to temporaries where sources or the result have modifiers.
pub(super) fn redirect(layout: &Layout, u: &mut Uop) {
    if !is_valu(u.inst.format) || u.missing.is_some() {
        return;
    }
    let types = u.inst.operand_types();
    let mut any = false;
    for i in 0..3 {
        if modifies_source(&u.inst, types[i + 1], i) {
            u.src[i] = layout.modified_slot(i as u16);
            any = true;
        }
    }
    if modifies_result(&u.inst, types[0]) {
        u.dst = layout.result_slot();
        any = true;
    }
    let mods = u.inst.vop_mods();
    u.select = [mods.op_sel, mods.op_sel_hi];
    if let Some(handler) = valu::packed::of_halves(u.inst.op).filter(|_| any && only_selects(u)) {
        u.run = handler;
    } else if any || matches!(u.inst.mods, Mods::Dpp(..)) {
        u.run = part_to_f32(u).unwrap_or(modified);
    }
}

/// Sources have no modifier but the choice of halves, and the result has none.
fn only_selects(u: &Uop) -> bool {
    let mods = u.inst.vop_mods();
    (mods.abs, mods.neg, mods.neg_hi) == (0, 0, 0) && u.dst == u.raw_dst
}

/// Vector arithmetic, as opposed to memory and matrices.
pub(super) fn is_valu(format: Format) -> bool {
    matches!(
        format,
        Format::Vop1
            | Format::Vop2
            | Format::Vop3
            | Format::Vopc
            | Format::Sdwa
            | Format::Dpp
            | Format::Vop3p
    )
}

/// Dot products of more than two elements take no half selects.
fn selects_halves(op: Op) -> bool {
    !matches!(
        op,
        Op::v_dot4_i32_i8 | Op::v_dot4_u32_u8 | Op::v_dot8_i32_i4 | Op::v_dot8_u32_u4 | Op::v_pk_mov_b32
    )
}

fn is_mix(op: Op) -> bool {
    matches!(op, Op::v_fma_mix_f32 | Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16)
}

/// Whether source `i` of an operation of mixed precision is an f16.
pub(super) fn is_half_of_mix(inst: &Inst, i: usize) -> bool {
    is_mix(inst.op) && (inst.vop_mods().op_sel_hi >> i) & 1 != 0
}

fn modifies_source(inst: &Inst, ty: Ty, i: usize) -> bool {
    if matches!(ty, Ty::X | Ty::MASK) {
        return false;
    }
    let mods = inst.vop_mods();
    let bit = |mask: u8| (mask >> i) & 1 != 0;
    let sign = bit(mods.abs) || bit(mods.neg);
    match inst.mods {
        _ if is_mix(inst.op) => sign || bit(mods.op_sel_hi),
        Mods::Vop(_) if inst.format == Format::Vop3p => {
            let plain = matches!(ty, Ty::B32 | Ty::F32) && i == 2;
            selects_halves(inst.op)
                && !plain
                && (bit(mods.op_sel) || !bit(mods.op_sel_hi) || bit(mods.neg) || bit(mods.neg_hi))
        }
        Mods::Vop(_) => sign || (bit(mods.op_sel) && half_selects(inst.op)),
        Mods::Sdwa(_, sdwa) => sign || (i < 2 && (sdwa.src_sel[i] != SdwaSel::Dword)),
        Mods::Dpp(..) => sign || i == 0,
        _ => false,
    }
}

/// Whether `op_sel` bits of sources choose halves: conversions to 8-bit floats use the bits otherwise.
fn half_selects(op: Op) -> bool {
    !matches!(op, Op::v_cvt_pk_fp8_f32 | Op::v_cvt_pk_bf8_f32 | Op::v_cvt_sr_fp8_f32 | Op::v_cvt_sr_bf8_f32)
}

/// Whether a 16-bit result leaves the other half of its register alone.
fn keeps_other_half(inst: &Inst, dst: Ty) -> bool {
    let selectable = vop_rule(inst.op).is_some_and(|rule| matches!(rule.op_sel, OpSel::Two | OpSel::Three));
    matches!(inst.op, Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16)
        || (inst.format == Format::Vop3 && selectable && matches!(dst, Ty::B16 | Ty::F16))
}

fn is_float(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::F32 | Ty::F64 | Ty::PF16 | Ty::PF32)
}

fn modifies_result(inst: &Inst, dst: Ty) -> bool {
    if matches!(dst, Ty::X | Ty::MASK | Ty::S32) {
        return false;
    }
    let mods = inst.vop_mods();
    let selects = match inst.mods {
        Mods::Sdwa(_, sdwa) => sdwa.dst_sel != SdwaSel::Dword,
        _ => keeps_other_half(inst, dst),
    };
    selects || (is_float(dst) && (mods.clamp || mods.omod != 0))
}

/// Runs an operation with its modifiers.
pub(super) fn modified(c: &mut Cx<'_>, u: &Uop) -> Step {
    let types = u.types;
    let exec = c.wave.exec();
    if exec == 0 {
        return (u.base)(c, u);
    }
    let mut writing = exec;
    let mut from = u.raw_src;
    if let Mods::Dpp(_, control) = u.inst.mods {
        let wide = types[1].dwords() == 2;
        writing &= dpp::permute(&mut c.wave.v, u.raw_src[0], u.src[0], wide, control, exec);
        from[0] = u.src[0];
    }
    for i in 0..3 {
        if u.src[i] != u.raw_src[i] {
            source(&mut c.wave.v, u, i, types[i + 1], from[i]);
        }
    }
    c.wave.set_exec(writing);
    let step = (u.base)(c, u);
    if c.wave.exec() == writing {
        c.wave.set_exec(exec);
    }
    if u.dst != u.raw_dst {
        result(c, u, types[0], writing);
    }
    step
}

/// Does in one step what [`modified`] would, if the instruction converts a byte or half of a register to f32, as unpacking
/// does again and again. No rounding mode matters.
fn part_to_f32(u: &mut Uop) -> Option<Handler> {
    let Mods::Sdwa(mods, sdwa) = u.inst.mods else { return None };
    let converts = matches!(u.inst.op, Op::v_cvt_f32_i32 | Op::v_cvt_f32_u32) && u.dst == u.raw_dst;
    if !converts || sdwa.src_sel[0] == SdwaSel::Dword || (mods.abs, mods.neg) != (0, 0) {
        return None;
    }
    let (shift, width) = part(sdwa.src_sel[0]);
    u.select = [shift as u8, (32 - width) as u8];
    match (sdwa.sext[0], u.inst.op) {
        (true, Op::v_cvt_f32_i32) => Some(lanewise!(|c, u| {
            let [shift, spare] = u.select;
            map_unmodified(c, u, |x: u32| (((x >> shift) << spare) as i32 >> spare) as f32)
        })),
        (true, _) => None,
        // What is not extended as a signed number is below 2^16 in either type.
        (false, _) => Some(lanewise!(|c, u| {
            let [shift, spare] = u.select;
            map_unmodified(c, u, |x: u32| ((x >> shift) << spare >> spare) as f32)
        })),
    }
}

/// As [`modified`], with denormals flushed as the mode asks.
#[cold]
pub(super) fn flushed(c: &mut Cx<'_>, u: &Uop) -> Step {
    let types = u.types;
    let layout = c.program.layout();
    let mode = c.wave.mode;
    let mut inner = u.clone();
    for i in 0..3 {
        // The halves that operations of mixed precision select are f16.
        let ty = if is_half_of_mix(&u.inst, i) { Ty::PF16 } else { types[i + 1] };
        if is_float(ty) {
            inner.raw_src[i] = layout.flushed_slot(i as u16);
            if u.src[i] == u.raw_src[i] {
                inner.src[i] = inner.raw_src[i];
            }
            flush_register(&mut c.wave.v, u.raw_src[i], inner.raw_src[i], ty, |size| {
                mode.flush_of(size).input
            });
        }
    }
    if is_float(types[0]) && u.dst == u.raw_dst {
        inner.dst = layout.result_slot();
    }
    modified(c, &inner)
}

fn flush_register(file: &mut [Lanes], from: u16, to: u16, ty: Ty, flushes: impl Fn(u32) -> bool) {
    match ty {
        Ty::F16 if flushes(16) => transform(file, from, to, flush::<f16>),
        Ty::PF16 if flushes(16) => transform(file, from, to, |x: [f16; 2]| x.map(flush)),
        Ty::F32 if flushes(32) => transform(file, from, to, flush::<f32>),
        Ty::PF32 if flushes(32) => transform(file, from, to, |x: [f32; 2]| x.map(flush)),
        Ty::F64 if flushes(64) => transform(file, from, to, flush::<f64>),
        _ if ty.dwords() == 2 => transform(file, from, to, |x: u64| x),
        _ => transform(file, from, to, |x: u32| x),
    }
}

/// Selects and signs one source, from its place to the temporary that the operation reads.
fn source(file: &mut [Lanes], u: &Uop, i: usize, ty: Ty, from: u16) {
    let mods = u.inst.vop_mods();
    let to = u.src[i];
    let bit = |mask: u8| (mask >> i) & 1 != 0;
    if is_mix(u.inst.op) {
        return mix_source(file, from, to, mods, i);
    }
    if u.inst.format == Format::Vop3p {
        return packed_source(file, from, to, ty, mods, i);
    }
    let (keep, flip) = signs(ty, bit(mods.abs), bit(mods.neg));
    if ty.dwords() == 2 {
        return transform(file, from, to, |x: u64| (x & keep) ^ flip);
    }
    let (keep, flip) = (keep as u32, flip as u32);
    match u.inst.mods {
        Mods::Sdwa(_, sdwa) if i < 2 => {
            let (shift, width) = part(sdwa.src_sel[i]);
            let spare = 32 - width;
            if sdwa.sext[i] {
                transform(file, from, to, |x: u32| (((x >> shift) << spare) as i32 >> spare) as u32);
            } else {
                transform(file, from, to, |x: u32| (((x >> shift) << spare >> spare) & keep) ^ flip);
            }
        }
        Mods::Vop(_) if bit(mods.op_sel) => transform(file, from, to, |x: u32| ((x >> 16) & keep) ^ flip),
        _ => transform(file, from, to, |x: u32| (x & keep) ^ flip),
    }
}

/// The masks that take the absolute value and negate.
fn signs(ty: Ty, abs: bool, neg: bool) -> (u64, u64) {
    let sign = match ty {
        Ty::F16 | Ty::B16 => 1 << 15,
        Ty::F64 | Ty::B64 => 1 << 63,
        _ => 1 << 31,
    };
    (if abs { !sign } else { u64::MAX }, if neg { sign } else { 0 })
}

/// Shift and width in bits of an SDWA part.
fn part(select: SdwaSel) -> (u32, u32) {
    match select {
        SdwaSel::Byte0 => (0, 8),
        SdwaSel::Byte1 => (8, 8),
        SdwaSel::Byte2 => (16, 8),
        SdwaSel::Byte3 => (24, 8),
        SdwaSel::Word0 => (0, 16),
        SdwaSel::Word1 => (16, 16),
        SdwaSel::Dword => (0, 32),
    }
}

fn mix_source(file: &mut [Lanes], from: u16, to: u16, mods: VopMods, i: usize) {
    let bit = |mask: u8| (mask >> i) & 1 != 0;
    let (half, high) = (bit(mods.op_sel_hi), bit(mods.op_sel));
    let (keep, flip) = signs(Ty::F32, bit(mods.abs), bit(mods.neg));
    let (keep, flip) = (keep as u32, flip as u32);
    if half {
        let shift = if high { 16 } else { 0 };
        transform(file, from, to, |x: u32| (super::float::f32_of_f16((x >> shift) as u16) & keep) ^ flip);
    } else {
        transform(file, from, to, |x: u32| (x & keep) ^ flip);
    }
}

fn packed_source(file: &mut [Lanes], from: u16, to: u16, ty: Ty, mods: VopMods, i: usize) {
    let bit = |mask: u8| (mask >> i) & 1 != 0;
    let (low_high, high_high) = (bit(mods.op_sel), bit(mods.op_sel_hi));
    if matches!(ty, Ty::PF32) {
        let flip = [u32::from(bit(mods.neg)) << 31, u32::from(bit(mods.neg_hi)) << 31];
        transform(file, from, to, |x: [u32; 2]| {
            [x[usize::from(low_high)] ^ flip[0], x[usize::from(high_high)] ^ flip[1]]
        });
        return;
    }
    let float = matches!(ty, Ty::PF16);
    let flip = |neg: bool| if float && neg { 0x8000 } else { 0 };
    let (flip_low, flip_high) = (flip(bit(mods.neg)), flip(bit(mods.neg_hi)));
    let (low_shift, high_shift) = (if low_high { 16 } else { 0 }, if high_high { 16 } else { 0 });
    transform(file, from, to, |x: u32| {
        let low = ((x >> low_shift) & 0xffff) ^ flip_low;
        let high = ((x >> high_shift) & 0xffff) ^ flip_high;
        low | (high << 16)
    });
}

/// Scales, clamps and places the result.
fn result(c: &mut Cx<'_>, u: &Uop, ty: Ty, exec: u64) {
    let mods = u.inst.vop_mods();
    let mode = c.wave.mode;
    let (from, to) = (u.dst, u.raw_dst);
    let file = &mut c.wave.v;
    let clamps = mods.clamp;
    // The hardware ignores the output multiplier where results may be denormal or follow IEEE.
    let size = match ty {
        Ty::F16 | Ty::PF16 => 16,
        Ty::F64 => 64,
        _ => 32,
    };
    let flushes = mode.flush_of(size).output;
    let scale = if flushes && !mode.ieee { [1.0, 2.0, 4.0, 0.5][usize::from(mods.omod & 3)] } else { 1.0 };
    let finish = Finish { scale, clamps, flushes, nan_to_zero: mode.dx10_clamp };
    match ty {
        Ty::F32 => transform(file, from, from, |x: f32| finish.apply(x)),
        Ty::F16 => transform(file, from, from, |x: f16| finish.apply(x)),
        Ty::F64 => transform(file, from, from, |x: f64| finish.apply(x)),
        Ty::PF16 => transform(file, from, from, |x: [f16; 2]| x.map(|x| finish.apply(x))),
        Ty::PF32 => transform(file, from, from, |x: [f32; 2]| x.map(|x| finish.apply(x))),
        _ => {}
    }
    match u.inst.mods {
        Mods::Sdwa(_, sdwa) if sdwa.dst_sel != SdwaSel::Dword => place_part(file, from, to, exec, sdwa),
        _ if u.inst.op == Op::v_fma_mixhi_f16 || mods.op_sel & 8 != 0 && keeps_other_half(&u.inst, ty) => {
            merge(file, from, to, exec, |new: u32, old: u32| (new << 16) | (old & 0xffff));
        }
        _ if keeps_other_half(&u.inst, ty) => {
            merge(file, from, to, exec, |new: u32, old: u32| (new & 0xffff) | (old & 0xffff_0000));
        }
        _ if ty.dwords() == 2 => merge(file, from, to, exec, |new: u64, _: u64| new),
        _ => merge(file, from, to, exec, |new: u32, _: u32| new),
    }
}

fn place_part(file: &mut [Lanes], from: u16, to: u16, exec: u64, sdwa: Sdwa) {
    let (shift, width) = part(sdwa.dst_sel);
    let mask = (u32::MAX >> (32 - width)) << shift;
    match sdwa.dst_unused {
        SdwaUnused::Pad => merge(file, from, to, exec, |new: u32, _: u32| (new << shift) & mask),
        SdwaUnused::Sext => {
            let spare = 32 - width;
            merge(file, from, to, exec, |new: u32, _: u32| {
                (((new << spare) as i32 >> spare) as u32) << shift
            });
        }
        SdwaUnused::Preserve => {
            merge(file, from, to, exec, |new: u32, old: u32| ((new << shift) & mask) | (old & !mask));
        }
    }
}

/// What is done to a floating-point result.
#[derive(Clone, Copy)]
struct Finish {
    scale: f64,
    clamps: bool,
    flushes: bool,
    nan_to_zero: bool,
}

impl Finish {
    fn apply<F: Float>(self, value: F) -> F {
        let mut value = value;
        if self.scale != 1.0 {
            // Powers of two are exact but at the ends of the range. Negative zero becomes zero.
            value = F::from_f64(value.to_f64() * self.scale + 0.0);
        }
        if self.flushes {
            value = flush(value);
        }
        if self.clamps {
            let wide = value.to_f64();
            if wide.is_nan() {
                return if self.nan_to_zero { F::from_f64(0.0) } else { value };
            }
            if wide <= 0.0 {
                value = F::from_f64(0.0);
            } else if wide > 1.0 {
                value = F::from_f64(1.0);
            }
        }
        value
    }
}
