//! Scalar arithmetic, moves and compares.

use super::core::cx::{Cx, Handler, Step};
use super::core::uop::Uop;
use crate::isa::Op;
use crate::isa::inst::scalar;

/// 32 bits from two sources, SCC unchanged.
fn b32(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32) -> u32) -> Step {
    let value = f(c.read32(u.scalar[0]), c.read32(u.scalar[1]));
    c.write32(u, value);
    Step::Next
}

/// 32 bits from two sources; SCC says whether the result is not zero.
fn b32z(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32) -> u32) -> Step {
    let value = f(c.read32(u.scalar[0]), c.read32(u.scalar[1]));
    c.write32(u, value);
    c.wave.scc = value != 0;
    Step::Next
}

/// 32 bits and SCC from two sources and the old SCC.
fn b32c(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32, bool) -> (u32, bool)) -> Step {
    let (value, scc) = f(c.read32(u.scalar[0]), c.read32(u.scalar[1]), c.wave.scc);
    c.write32(u, value);
    c.wave.scc = scc;
    Step::Next
}

fn b64(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u64, u64) -> u64) -> Step {
    let value = f(c.read64(u.scalar[0]), c.read64(u.scalar[1]));
    c.write64(u, value);
    Step::Next
}

fn b64z(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u64, u64) -> u64) -> Step {
    let value = f(c.read64(u.scalar[0]), c.read64(u.scalar[1]));
    c.write64(u, value);
    c.wave.scc = value != 0;
    Step::Next
}

/// 64 bits from a 64-bit and a 32-bit source; SCC says whether the result is not zero.
fn shift64(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u64, u32) -> u64) -> Step {
    let value = f(c.read64(u.scalar[0]), c.read32(u.scalar[1]));
    c.write64(u, value);
    c.wave.scc = value != 0;
    Step::Next
}

/// 32 bits from one 64-bit source, SCC unchanged.
fn narrow(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u64) -> u32) -> Step {
    let value = f(c.read64(u.scalar[0]));
    c.write32(u, value);
    Step::Next
}

fn compare(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32) -> bool) -> Step {
    c.wave.scc = f(c.read32(u.scalar[0]), c.read32(u.scalar[1]));
    Step::Next
}

/// Compares the source with the sign-extended immediate.
fn compare_i16(c: &mut Cx<'_>, u: &Uop, f: impl Fn(i32, i32) -> bool) -> Step {
    c.wave.scc = f(c.read32(u.scalar[0]) as i32, i32::from(u.inst.imm().cast_signed()));
    Step::Next
}

/// Compares the source with the zero-extended immediate.
fn compare_u16(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u32, u32) -> bool) -> Step {
    c.wave.scc = f(c.read32(u.scalar[0]), u32::from(u.inst.imm()));
    Step::Next
}

/// `EXEC = f(source, EXEC)`, the old EXEC to the destination.
fn save_exec(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u64, u64) -> u64) -> Step {
    let old = c.wave.exec();
    let new = f(c.read64(u.scalar[0]), old);
    c.write64(u, old);
    c.wave.set_exec(new);
    c.wave.scc = new != 0;
    Step::Next
}

/// `EXEC = f(source, EXEC)`, also to the destination.
fn write_exec(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u64, u64) -> u64) -> Step {
    let new = f(c.read64(u.scalar[0]), c.wave.exec());
    c.write64(u, new);
    c.wave.set_exec(new);
    c.wave.scc = new != 0;
    Step::Next
}

/// The index of the first match, or -1.
const fn position(found: u32, width: u32) -> u32 {
    if found >= width { u32::MAX } else { found }
}

/// A signed sum and whether it overflowed.
const fn add_i32(a: u32, b: u32) -> (u32, bool) {
    let (value, overflow) = a.cast_signed().overflowing_add(b.cast_signed());
    (value.cast_unsigned(), overflow)
}

/// A sum with carry in and carry out.
pub(super) const fn add_carry(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let wide = a as u64 + b as u64 + carry as u64;
    (wide as u32, wide >> 32 != 0)
}

/// A difference with borrow in and borrow out.
pub(super) const fn sub_borrow(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let wide = (a as u64).wrapping_sub(b as u64).wrapping_sub(borrow as u64);
    (wide as u32, wide >> 32 != 0)
}

const fn low_bits(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// Bits `at .. at + count`.
const fn field(value: u64, at: u32, count: u32) -> u64 {
    (value >> at) & low_bits(count)
}

/// Sign-extends the low `count` bits.
const fn extend(value: u64, count: u32) -> u64 {
    if count == 0 || count >= 64 {
        value
    } else {
        ((value << (64 - count)).cast_signed() >> (64 - count)).cast_unsigned()
    }
}

/// One bit per quad: any of its four bits is set.
fn quads(value: u64) -> u64 {
    (0..16).fold(0, |mask, quad| mask | (u64::from((value >> (4 * quad)) & 15 != 0) << quad))
}

/// Four bits per quad: any of its four bits is set.
fn whole_quads(value: u64) -> u64 {
    (0..16).fold(0, |mask, quad| mask | (if (value >> (4 * quad)) & 15 != 0 { 15 } else { 0 } << (4 * quad)))
}

fn lshl_add(c: &mut Cx<'_>, u: &Uop, by: u32) -> Step {
    b32c(c, u, |a, b, _| {
        let wide = (u64::from(a) << by) + u64::from(b);
        (wide as u32, wide >> 32 != 0)
    })
}

/// Two sources.
pub(super) fn sop2(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::s_add_u32 => |c, u| b32c(c, u, |a, b, _| a.overflowing_add(b)),
        Op::s_sub_u32 => |c, u| b32c(c, u, |a, b, _| a.overflowing_sub(b)),
        Op::s_add_i32 => |c, u| b32c(c, u, |a, b, _| add_i32(a, b)),
        Op::s_sub_i32 => |c, u| {
            b32c(c, u, |a, b, _| {
                let (value, overflow) = a.cast_signed().overflowing_sub(b.cast_signed());
                (value.cast_unsigned(), overflow)
            })
        },
        Op::s_addc_u32 => |c, u| b32c(c, u, add_carry),
        Op::s_subb_u32 => |c, u| b32c(c, u, sub_borrow),
        Op::s_min_i32 => {
            |c, u| b32c(c, u, |a, b, _| ((a as i32).min(b as i32) as u32, (a as i32) < b as i32))
        }
        Op::s_min_u32 => |c, u| b32c(c, u, |a, b, _| (a.min(b), a < b)),
        Op::s_max_i32 => |c, u| b32c(c, u, |a, b, _| ((a as i32).max(b as i32) as u32, a as i32 > b as i32)),
        Op::s_max_u32 => |c, u| b32c(c, u, |a, b, _| (a.max(b), a > b)),
        Op::s_cselect_b32 => |c, u| b32c(c, u, |a, b, scc| (if scc { a } else { b }, scc)),
        Op::s_cselect_b64 => |c, u| {
            let scc = c.wave.scc;
            b64(c, u, |a, b| if scc { a } else { b })
        },
        Op::s_and_b32 => |c, u| b32z(c, u, |a, b| a & b),
        Op::s_and_b64 => |c, u| b64z(c, u, |a, b| a & b),
        Op::s_or_b32 => |c, u| b32z(c, u, |a, b| a | b),
        Op::s_or_b64 => |c, u| b64z(c, u, |a, b| a | b),
        Op::s_xor_b32 => |c, u| b32z(c, u, |a, b| a ^ b),
        Op::s_xor_b64 => |c, u| b64z(c, u, |a, b| a ^ b),
        Op::s_andn2_b32 => |c, u| b32z(c, u, |a, b| a & !b),
        Op::s_andn2_b64 => |c, u| b64z(c, u, |a, b| a & !b),
        Op::s_orn2_b32 => |c, u| b32z(c, u, |a, b| a | !b),
        Op::s_orn2_b64 => |c, u| b64z(c, u, |a, b| a | !b),
        Op::s_nand_b32 => |c, u| b32z(c, u, |a, b| !(a & b)),
        Op::s_nand_b64 => |c, u| b64z(c, u, |a, b| !(a & b)),
        Op::s_nor_b32 => |c, u| b32z(c, u, |a, b| !(a | b)),
        Op::s_nor_b64 => |c, u| b64z(c, u, |a, b| !(a | b)),
        Op::s_xnor_b32 => |c, u| b32z(c, u, |a, b| !(a ^ b)),
        Op::s_xnor_b64 => |c, u| b64z(c, u, |a, b| !(a ^ b)),
        Op::s_lshl_b32 => |c, u| b32z(c, u, |a, b| a << (b & 31)),
        Op::s_lshl_b64 => |c, u| shift64(c, u, |a, b| a << (b & 63)),
        Op::s_lshr_b32 => |c, u| b32z(c, u, |a, b| a >> (b & 31)),
        Op::s_lshr_b64 => |c, u| shift64(c, u, |a, b| a >> (b & 63)),
        Op::s_ashr_i32 => |c, u| b32z(c, u, |a, b| (a as i32 >> (b & 31)) as u32),
        Op::s_ashr_i64 => |c, u| shift64(c, u, |a, b| (a as i64 >> (b & 63)) as u64),
        Op::s_bfm_b32 => |c, u| b32(c, u, |a, b| ((1 << (a & 31)) - 1) << (b & 31)),
        Op::s_bfm_b64 => |c, u| b64(c, u, |a, b| ((1 << (a & 63)) - 1) << (b & 63)),
        Op::s_mul_i32 => |c, u| b32(c, u, u32::wrapping_mul),
        Op::s_bfe_u32 => |c, u| b32z(c, u, |a, b| field(a.into(), b & 31, (b >> 16) & 127) as u32),
        Op::s_bfe_i32 => |c, u| {
            b32z(c, u, |a, b| {
                let count = ((b >> 16) & 127).min(32);
                extend(field(i64::from(a as i32) as u64, b & 31, count), count) as u32
            })
        },
        Op::s_bfe_u64 => |c, u| shift64(c, u, |a, b| field(a, b & 63, (b >> 16) & 127)),
        Op::s_bfe_i64 => |c, u| {
            shift64(c, u, |a, b| {
                let count = (b >> 16) & 127;
                extend(((a as i64) >> (b & 63)) as u64 & low_bits(count), count)
            })
        },
        Op::s_absdiff_i32 => |c, u| b32z(c, u, |a, b| (a.wrapping_sub(b) as i32).wrapping_abs() as u32),
        Op::s_mul_hi_u32 => |c, u| b32(c, u, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        Op::s_mul_hi_i32 => {
            |c, u| b32(c, u, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32)
        }
        Op::s_lshl1_add_u32 => |c, u| lshl_add(c, u, 1),
        Op::s_lshl2_add_u32 => |c, u| lshl_add(c, u, 2),
        Op::s_lshl3_add_u32 => |c, u| lshl_add(c, u, 3),
        Op::s_lshl4_add_u32 => |c, u| lshl_add(c, u, 4),
        Op::s_pack_ll_b32_b16 => |c, u| b32(c, u, |a, b| (a & 0xffff) | (b << 16)),
        Op::s_pack_lh_b32_b16 => |c, u| b32(c, u, |a, b| (a & 0xffff) | (b & 0xffff_0000)),
        Op::s_pack_hh_b32_b16 => |c, u| b32(c, u, |a, b| (a >> 16) | (b & 0xffff_0000)),
        _ => return None,
    };
    Some(handler)
}

/// One source.
pub(super) fn sop1(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::s_mov_b32 => |c, u| b32(c, u, |a, _| a),
        Op::s_mov_b64 => |c, u| b64(c, u, |a, _| a),
        Op::s_cmov_b32 => |c, u| if c.wave.scc { b32(c, u, |a, _| a) } else { Step::Next },
        Op::s_cmov_b64 => |c, u| if c.wave.scc { b64(c, u, |a, _| a) } else { Step::Next },
        Op::s_not_b32 => |c, u| b32z(c, u, |a, _| !a),
        Op::s_not_b64 => |c, u| b64z(c, u, |a, _| !a),
        Op::s_wqm_b32 => |c, u| b32z(c, u, |a, _| whole_quads(a.into()) as u32),
        Op::s_wqm_b64 => |c, u| b64z(c, u, |a, _| whole_quads(a)),
        Op::s_brev_b32 => |c, u| b32(c, u, |a, _| a.reverse_bits()),
        Op::s_brev_b64 => |c, u| b64(c, u, |a, _| a.reverse_bits()),
        Op::s_bcnt0_i32_b32 => |c, u| b32z(c, u, |a, _| a.count_zeros()),
        Op::s_bcnt1_i32_b32 => |c, u| b32z(c, u, |a, _| a.count_ones()),
        Op::s_bcnt0_i32_b64 => |c, u| count64(c, u, u64::count_zeros),
        Op::s_bcnt1_i32_b64 => |c, u| count64(c, u, u64::count_ones),
        Op::s_ff0_i32_b32 => |c, u| b32(c, u, |a, _| position(a.trailing_ones(), 32)),
        Op::s_ff0_i32_b64 => |c, u| narrow(c, u, |a| position(a.trailing_ones(), 64)),
        Op::s_ff1_i32_b32 => |c, u| b32(c, u, |a, _| position(a.trailing_zeros(), 32)),
        Op::s_ff1_i32_b64 => |c, u| narrow(c, u, |a| position(a.trailing_zeros(), 64)),
        Op::s_flbit_i32_b32 => |c, u| b32(c, u, |a, _| position(a.leading_zeros(), 32)),
        Op::s_flbit_i32_b64 => |c, u| narrow(c, u, |a| position(a.leading_zeros(), 64)),
        Op::s_flbit_i32 => {
            |c, u| b32(c, u, |a, _| position((a ^ (a as i32 >> 31) as u32).leading_zeros(), 32))
        }
        Op::s_flbit_i32_i64 => {
            |c, u| narrow(c, u, |a| position((a ^ (a as i64 >> 63) as u64).leading_zeros(), 64))
        }
        Op::s_sext_i32_i8 => |c, u| b32(c, u, |a, _| i32::from(a as i8) as u32),
        Op::s_sext_i32_i16 => |c, u| b32(c, u, |a, _| i32::from(a as i16) as u32),
        Op::s_bitset0_b32 => |c, u| {
            let old = c.wave.s[usize::from(u.sdst)];
            b32(c, u, |a, _| old & !(1 << (a & 31)))
        },
        Op::s_bitset1_b32 => |c, u| {
            let old = c.wave.s[usize::from(u.sdst)];
            b32(c, u, |a, _| old | (1 << (a & 31)))
        },
        Op::s_bitset0_b64 => |c, u| {
            let old = c.wave.pair(u.sdst);
            b64(c, u, |a, _| old & !(1 << (a & 63)))
        },
        Op::s_bitset1_b64 => |c, u| {
            let old = c.wave.pair(u.sdst);
            b64(c, u, |a, _| old | (1 << (a & 63)))
        },
        Op::s_and_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| s & exec),
        Op::s_or_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| s | exec),
        Op::s_xor_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| s ^ exec),
        Op::s_andn2_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| s & !exec),
        Op::s_orn2_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| s | !exec),
        Op::s_nand_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| !(s & exec)),
        Op::s_nor_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| !(s | exec)),
        Op::s_xnor_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| !(s ^ exec)),
        Op::s_andn1_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| !s & exec),
        Op::s_orn1_saveexec_b64 => |c, u| save_exec(c, u, |s, exec| !s | exec),
        Op::s_andn1_wrexec_b64 => |c, u| write_exec(c, u, |s, exec| !s & exec),
        Op::s_andn2_wrexec_b64 => |c, u| write_exec(c, u, |s, exec| s & !exec),
        Op::s_quadmask_b32 => |c, u| b32z(c, u, |a, _| quads(a.into()) as u32),
        Op::s_quadmask_b64 => |c, u| b64z(c, u, |a, _| quads(a)),
        Op::s_abs_i32 => |c, u| b32z(c, u, |a, _| (a as i32).wrapping_abs() as u32),
        Op::s_bitreplicate_b64_b32 => {
            |c, u| b64(c, u, |a, _| (0..32).fold(0, |bits, i| bits | (((a >> i) & 1) * 3) << (2 * i)))
        }
        Op::s_movrels_b32 => |c, u| {
            relative(c, u, |c, u, m0| match index(u.inst.src[0], m0) {
                Some(from) => c.write32(u, c.wave.s[from]),
                None => c.write32(u, 0),
            })
        },
        Op::s_movrels_b64 => |c, u| {
            relative(c, u, |c, u, m0| match index(u.inst.src[0], m0) {
                Some(from) if from < 127 => c.write64(u, c.wave.pair(from as u8)),
                _ => c.write64(u, 0),
            })
        },
        Op::s_movreld_b32 => |c, u| {
            relative(c, u, |c, u, m0| {
                if let Some(to) = index(u.inst.dst, m0) {
                    c.wave.s[to] = c.read32(u.scalar[0]);
                }
            })
        },
        Op::s_movreld_b64 => |c, u| {
            relative(c, u, |c, u, m0| {
                if let Some(to) = index(u.inst.dst, m0).filter(|&to| to < 127) {
                    let value = c.read64(u.scalar[0]);
                    c.wave.set_pair(to as u8, value);
                }
            })
        },
        _ => return None,
    };
    Some(handler)
}

fn count64(c: &mut Cx<'_>, u: &Uop, f: impl Fn(u64) -> u32) -> Step {
    let value = f(c.read64(u.scalar[0]));
    c.write32(u, value);
    c.wave.scc = value != 0;
    Step::Next
}

fn relative(c: &mut Cx<'_>, u: &Uop, f: impl Fn(&mut Cx<'_>, &Uop, u32)) -> Step {
    let m0 = c.wave.s[usize::from(scalar::M0)];
    f(c, u, m0);
    Step::Next
}

/// The SGPR `m0` places after the one that is named; out of range is ignored.
fn index(operand: crate::isa::Operand, m0: u32) -> Option<usize> {
    let crate::isa::Operand::Scalar(first) = operand else { return None };
    let at = u32::from(first).checked_add(m0)?;
    (at < 102).then_some(at as usize)
}

/// Compares.
pub(super) fn sopc(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::s_cmp_eq_i32 | Op::s_cmp_eq_u32 => |c, u| compare(c, u, |a, b| a == b),
        Op::s_cmp_lg_i32 | Op::s_cmp_lg_u32 => |c, u| compare(c, u, |a, b| a != b),
        Op::s_cmp_gt_i32 => |c, u| compare(c, u, |a, b| a as i32 > b as i32),
        Op::s_cmp_ge_i32 => |c, u| compare(c, u, |a, b| a as i32 >= b as i32),
        Op::s_cmp_lt_i32 => |c, u| compare(c, u, |a, b| (a as i32) < b as i32),
        Op::s_cmp_le_i32 => |c, u| compare(c, u, |a, b| a as i32 <= b as i32),
        Op::s_cmp_gt_u32 => |c, u| compare(c, u, |a, b| a > b),
        Op::s_cmp_ge_u32 => |c, u| compare(c, u, |a, b| a >= b),
        Op::s_cmp_lt_u32 => |c, u| compare(c, u, |a, b| a < b),
        Op::s_cmp_le_u32 => |c, u| compare(c, u, |a, b| a <= b),
        Op::s_bitcmp0_b32 => |c, u| compare(c, u, |a, b| (a >> (b & 31)) & 1 == 0),
        Op::s_bitcmp1_b32 => |c, u| compare(c, u, |a, b| (a >> (b & 31)) & 1 == 1),
        Op::s_bitcmp0_b64 => |c, u| {
            c.wave.scc = (c.read64(u.scalar[0]) >> (c.read32(u.scalar[1]) & 63)) & 1 == 0;
            Step::Next
        },
        Op::s_bitcmp1_b64 => |c, u| {
            c.wave.scc = (c.read64(u.scalar[0]) >> (c.read32(u.scalar[1]) & 63)) & 1 == 1;
            Step::Next
        },
        Op::s_cmp_eq_u64 => |c, u| {
            c.wave.scc = c.read64(u.scalar[0]) == c.read64(u.scalar[1]);
            Step::Next
        },
        Op::s_cmp_lg_u64 => |c, u| {
            c.wave.scc = c.read64(u.scalar[0]) != c.read64(u.scalar[1]);
            Step::Next
        },
        _ => return None,
    };
    Some(handler)
}

fn immediate(u: &Uop) -> u32 {
    i32::from(u.inst.imm().cast_signed()).cast_unsigned()
}

/// With a 16-bit immediate.
pub(super) fn sopk(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::s_movk_i32 => |c, u| {
            c.write32(u, immediate(u));
            Step::Next
        },
        Op::s_cmovk_i32 => |c, u| {
            if c.wave.scc {
                c.write32(u, immediate(u));
            }
            Step::Next
        },
        Op::s_addk_i32 => |c, u| {
            let (value, overflow) = add_i32(c.wave.s[usize::from(u.sdst)], immediate(u));
            c.write32(u, value);
            c.wave.scc = overflow;
            Step::Next
        },
        Op::s_mulk_i32 => |c, u| {
            let value = c.wave.s[usize::from(u.sdst)].wrapping_mul(immediate(u));
            c.write32(u, value);
            Step::Next
        },
        Op::s_cmpk_eq_i32 => |c, u| compare_i16(c, u, |a, b| a == b),
        Op::s_cmpk_lg_i32 => |c, u| compare_i16(c, u, |a, b| a != b),
        Op::s_cmpk_gt_i32 => |c, u| compare_i16(c, u, |a, b| a > b),
        Op::s_cmpk_ge_i32 => |c, u| compare_i16(c, u, |a, b| a >= b),
        Op::s_cmpk_lt_i32 => |c, u| compare_i16(c, u, |a, b| a < b),
        Op::s_cmpk_le_i32 => |c, u| compare_i16(c, u, |a, b| a <= b),
        Op::s_cmpk_eq_u32 => |c, u| compare_u16(c, u, |a, b| a == b),
        Op::s_cmpk_lg_u32 => |c, u| compare_u16(c, u, |a, b| a != b),
        Op::s_cmpk_gt_u32 => |c, u| compare_u16(c, u, |a, b| a > b),
        Op::s_cmpk_ge_u32 => |c, u| compare_u16(c, u, |a, b| a >= b),
        Op::s_cmpk_lt_u32 => |c, u| compare_u16(c, u, |a, b| a < b),
        Op::s_cmpk_le_u32 => |c, u| compare_u16(c, u, |a, b| a <= b),
        _ => return None,
    };
    Some(handler)
}
