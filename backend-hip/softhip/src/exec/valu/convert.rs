//! Conversions between number formats.

use half::f16;

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{map1, map2, map3};
use crate::exec::core::mode::Round;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::exec::core::word::Word;
use crate::exec::float::fp8::{BF8, FP8, Fp8};
use crate::exec::float::{self, Float, soft};
use crate::isa::Op;

#[cold]
fn rounded_int<T: Word + Into<i64>, F: Float>(c: &mut Cx<'_>, u: &Uop, round: Round) -> Step {
    map1(c, u, move |a: T| soft::from_int::<F>(round, i128::from(a.into())))
}

#[cold]
fn rounded<T: Float, F: Float>(c: &mut Cx<'_>, u: &Uop, round: Round) -> Step {
    map1(c, u, move |a: T| soft::convert::<T, F>(round, a))
}

/// Integer to float, rounded as the mode says.
#[inline(always)]
fn from_int<T: Word + Into<i64>, F: Float>(c: &mut Cx<'_>, u: &Uop, nearest: impl Fn(T) -> F) -> Step {
    match c.wave.mode.round_of(F::SIZE) {
        Round::Nearest => map1(c, u, nearest),
        round => rounded_int::<T, F>(c, u, round),
    }
}

#[inline(always)]
fn narrow_f16(c: &mut Cx<'_>, u: &Uop) -> Step {
    match c.wave.mode.round16_64 {
        Round::Nearest => map1(c, u, float::narrow),
        round => rounded::<f32, f16>(c, u, round),
    }
}

fn quiet<F: Float>(value: F) -> F {
    if value.is_nan() { value.quieted() } else { value }
}

/// Signed: −1 to 1 becomes −32767 to 32767.
fn snorm16(value: f64) -> i16 {
    (value.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16
}

/// Unsigned: 0 to 1 becomes 0 to 65535.
fn unorm16(value: f64) -> u16 {
    (value.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

/// Half a multiple of 1/16 from a signed 4-bit number.
fn offset4(value: u32) -> f32 {
    let signed = (value << 28).cast_signed() >> 28;
    signed as f32 / 16.0
}

/// `MODE.FP16_OVFL`: conversions saturate instead of overflowing.
#[inline(always)]
fn saturates(c: &Cx<'_>) -> bool {
    c.wave.mode.bits() & (1 << 23) != 0
}

/// Two numbers into one half of the destination; the other half is kept.
#[inline(always)]
fn pack_fp8(c: &mut Cx<'_>, u: &Uop, format: Fp8) -> Step {
    let saturate = saturates(c);
    let high = u.inst.vop_mods().op_sel & 8 != 0;
    map3(c, u, move |a: f32, b: f32, old: u32| {
        let pair = u32::from(format.narrow(a, saturate)) | (u32::from(format.narrow(b, saturate)) << 8);
        if high { (old & 0xffff) | (pair << 16) } else { (old & 0xffff_0000) | pair }
    })
}

/// One number into the byte that `op_sel` names; the others are kept.
#[inline(always)]
fn stochastic_fp8(c: &mut Cx<'_>, u: &Uop, format: Fp8) -> Step {
    let saturate = saturates(c);
    let shift = 8 * u32::from(u.inst.vop_mods().op_sel >> 2);
    map3(c, u, move |a: f32, random: u32, old: u32| {
        let byte = u32::from(format.narrow_stochastic(a, random, saturate));
        (old & !(0xff << shift)) | (byte << shift)
    })
}

fn widen_pair(format: Fp8, bits: u32) -> [f32; 2] {
    let [low, high, ..] = bits.to_le_bytes();
    [format.widen(low), format.widen(high)]
}

fn insert_byte(value: f32, at: u32, old: u32) -> u32 {
    let shift = 8 * (at & 3);
    (old & !(0xff << shift)) | (u32::from(value as u8) << shift)
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    scalar(op).or_else(|| packing(op))
}

/// One number to one number.
fn scalar(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_cvt_i32_f32 => lanewise!(|c, u| map1(c, u, |a: f32| a as i32)),
        Op::v_cvt_u32_f32 => lanewise!(|c, u| map1(c, u, |a: f32| a as u32)),
        Op::v_cvt_i32_f64 => lanewise!(|c, u| map1(c, u, |a: f64| a as i32)),
        Op::v_cvt_u32_f64 => lanewise!(|c, u| map1(c, u, |a: f64| a as u32)),
        Op::v_cvt_i16_f16 => lanewise!(|c, u| map1(c, u, |a: f16| float::widen(a) as i16)),
        Op::v_cvt_u16_f16 => lanewise!(|c, u| map1(c, u, |a: f16| float::widen(a) as u16)),
        Op::v_cvt_rpi_i32_f32 => lanewise!(|c, u| map1(c, u, |a: f32| (f64::from(a) + 0.5).floor() as i32)),
        Op::v_cvt_flr_i32_f32 => lanewise!(|c, u| map1(c, u, |a: f32| a.floor() as i32)),
        Op::v_cvt_f32_i32 => lanewise!(|c, u| from_int(c, u, |a: i32| a as f32)),
        Op::v_cvt_f32_u32 => lanewise!(|c, u| from_int(c, u, |a: u32| a as f32)),
        Op::v_cvt_f64_i32 => lanewise!(|c, u| map1(c, u, |a: i32| f64::from(a))),
        Op::v_cvt_f64_u32 => lanewise!(|c, u| map1(c, u, |a: u32| f64::from(a))),
        Op::v_cvt_f16_i16 => lanewise!(|c, u| from_int(c, u, |a: i16| float::narrow(a.into()))),
        Op::v_cvt_f16_u16 => lanewise!(|c, u| from_int(c, u, |a: u16| float::narrow(a.into()))),
        Op::v_cvt_f16_f32 => lanewise!(narrow_f16),
        Op::v_cvt_f32_f16 => lanewise!(|c, u| map1(c, u, |a: f16| quiet(float::widen(a)))),
        Op::v_cvt_f64_f32 => lanewise!(|c, u| map1(c, u, |a: f32| quiet(f64::from(a)))),
        Op::v_cvt_f32_f64 => lanewise!(|c, u| match c.wave.mode.round32 {
            Round::Nearest => map1(c, u, |a: f64| quiet(a as f32)),
            round => rounded::<f64, f32>(c, u, round),
        }),
        Op::v_cvt_f32_ubyte0 => lanewise!(|c, u| map1(c, u, |a: u32| (a & 0xff) as f32)),
        Op::v_cvt_f32_ubyte1 => lanewise!(|c, u| map1(c, u, |a: u32| ((a >> 8) & 0xff) as f32)),
        Op::v_cvt_f32_ubyte2 => lanewise!(|c, u| map1(c, u, |a: u32| ((a >> 16) & 0xff) as f32)),
        Op::v_cvt_f32_ubyte3 => lanewise!(|c, u| map1(c, u, |a: u32| (a >> 24) as f32)),
        Op::v_cvt_off_f32_i4 => lanewise!(|c, u| map1(c, u, offset4)),
        Op::v_cvt_f32_fp8 => lanewise!(|c, u| map1(c, u, |a: u32| FP8.widen(a as u8))),
        Op::v_cvt_f32_bf8 => lanewise!(|c, u| map1(c, u, |a: u32| BF8.widen(a as u8))),
        Op::v_cvt_norm_i16_f16 => lanewise!(|c, u| map1(c, u, |a: f16| snorm16(a.to_f64()))),
        Op::v_cvt_norm_u16_f16 => lanewise!(|c, u| map1(c, u, |a: f16| unorm16(a.to_f64()))),
        _ => return None,
    };
    Some(handler)
}

/// Results of several parts.
fn packing(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_cvt_pk_f32_fp8 => lanewise!(|c, u| map1(c, u, |a: u32| widen_pair(FP8, a))),
        Op::v_cvt_pk_f32_bf8 => lanewise!(|c, u| map1(c, u, |a: u32| widen_pair(BF8, a))),
        Op::v_cvt_pk_fp8_f32 => lanewise!(|c, u| pack_fp8(c, u, FP8)),
        Op::v_cvt_pk_bf8_f32 => lanewise!(|c, u| pack_fp8(c, u, BF8)),
        Op::v_cvt_sr_fp8_f32 => lanewise!(|c, u| stochastic_fp8(c, u, FP8)),
        Op::v_cvt_sr_bf8_f32 => lanewise!(|c, u| stochastic_fp8(c, u, BF8)),
        Op::v_cvt_pknorm_i16_f32 => {
            lanewise!(|c, u| map2(c, u, |a: f32, b: f32| [snorm16(a.into()), snorm16(b.into())]))
        }
        Op::v_cvt_pknorm_u16_f32 => {
            lanewise!(|c, u| map2(c, u, |a: f32, b: f32| [unorm16(a.into()), unorm16(b.into())]))
        }
        Op::v_cvt_pknorm_i16_f16 => {
            lanewise!(|c, u| map2(c, u, |a: f16, b: f16| [snorm16(a.to_f64()), snorm16(b.to_f64())]))
        }
        Op::v_cvt_pknorm_u16_f16 => {
            lanewise!(|c, u| map2(c, u, |a: f16, b: f16| [unorm16(a.to_f64()), unorm16(b.to_f64())]))
        }
        Op::v_cvt_pkrtz_f16_f32 => {
            lanewise!(
                |c, u| map2(c, u, |a: f32, b: f32| [a, b].map(|x| soft::convert::<f32, f16>(Round::Zero, x)))
            )
        }
        Op::v_cvt_pk_u16_u32 => {
            lanewise!(|c, u| map2(c, u, |a: u32, b: u32| [a, b].map(|x| x.min(0xffff) as u16)))
        }
        Op::v_cvt_pk_i16_i32 => lanewise!(|c, u| {
            map2(c, u, |a: i32, b: i32| [a, b].map(|x| x.clamp(i16::MIN.into(), i16::MAX.into()) as i16))
        }),
        Op::v_cvt_pk_u8_f32 => lanewise!(|c, u| map3(c, u, insert_byte)),
        Op::v_cvt_pkaccum_u8_f32 => lanewise!(|c, u| map3(c, u, insert_byte)),
        Op::v_sat_pk_u8_i16 => lanewise!(|c, u| {
            map1(c, u, |a: [i16; 2]| {
                let [low, high] = a.map(|x| x.clamp(0, 255) as u8);
                u16::from_le_bytes([low, high])
            })
        }),
        Op::v_pack_b32_f16 => lanewise!(|c, u| map2(c, u, |a: u16, b: u16| [a, b])),
        _ => return None,
    };
    Some(handler)
}
