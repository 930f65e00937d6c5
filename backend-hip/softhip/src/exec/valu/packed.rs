//! Pairs of numbers, mixed precision and dot products.

use half::f16;

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{map2, map3, settle_halves, settle3};
use crate::exec::core::mode::Round;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::exec::core::word::Word;
use crate::exec::float::{self, Float, soft};
use crate::exec::modifiers::modified;
use crate::exec::valu::float::rounded3;
use crate::exec::valu::int::{mad_i16, mad_u16};
use crate::isa::Op;

/// Two sources, each half on its own.
#[inline(always)]
fn pair2<T: Copy>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(T, T) -> T) -> Step
where
    [T; 2]: Word,
{
    map2(c, u, |a: [T; 2], b: [T; 2]| [f(a[0], b[0]), f(a[1], b[1])])
}

/// Three sources.
#[inline(always)]
fn pair3<T: Copy>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(T, T, T) -> T) -> Step
where
    [T; 2]: Word,
{
    map3(c, u, |a: [T; 2], b: [T; 2], d: [T; 2]| [f(a[0], b[0], d[0]), f(a[1], b[1], d[1])])
}

#[cold]
fn rounded_pair2<F: Float>(c: &mut Cx<'_>, u: &Uop, round: Round, slow: fn(Round, F, F) -> F) -> Step
where
    [F; 2]: Word,
{
    pair2(c, u, move |a, b| slow(round, a, b))
}

#[cold]
fn rounded_pair3<F: Float>(c: &mut Cx<'_>, u: &Uop, round: Round, slow: fn(Round, F, F, F) -> F) -> Step
where
    [F; 2]: Word,
{
    pair3(c, u, move |a, b, d| slow(round, a, b, d))
}

#[inline(always)]
fn fp_pair2<F: Float>(c: &mut Cx<'_>, u: &Uop, fast: impl Fn(F, F) -> F, slow: fn(Round, F, F) -> F) -> Step
where
    [F; 2]: Word,
{
    match c.wave.mode.round_of(F::SIZE) {
        Round::Nearest => pair2(c, u, fast),
        round => rounded_pair2(c, u, round, slow),
    }
}

#[inline(always)]
fn fp_fma<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step
where
    [F; 2]: Word,
{
    match c.wave.mode.round_of(F::SIZE) {
        Round::Nearest => settle3(
            c,
            u,
            |a: [F; 2], b: [F; 2], d: [F; 2]| [a[0].host_fma(b[0], d[0]), a[1].host_fma(b[1], d[1])],
            |a: [F; 2], b: [F; 2], d: [F; 2]| [float::fma(a[0], b[0], d[0]), float::fma(a[1], b[1], d[1])],
        ),
        round => rounded_pair3(c, u, round, soft::fma::<F>),
    }
}

#[inline(always)]
fn halves_f32(
    c: &mut Cx<'_>,
    u: &Uop,
    host: impl Fn(f32, f32, f32) -> f32,
    fast: impl Fn(f32, f32, f32) -> f32,
) -> Step {
    // Other modes are rare: they go by way of temporaries.
    if c.wave.mode.round32 == Round::Nearest { settle_halves(c, u, host, fast) } else { modified(c, u) }
}

/// The handler of an operation on pairs of f32 whose instruction selects from the pairs.
pub(in crate::exec) fn of_halves(op: Op) -> Option<Handler> {
    Some(match op {
        Op::v_pk_fma_f32 => lanewise!(|c, u| halves_f32(c, u, f32::host_fma, float::fma)),
        Op::v_pk_mul_f32 => {
            lanewise!(|c, u| halves_f32(c, u, |a, b, _| a.host_mul(b), |a, b, _| float::mul(a, b)))
        }
        Op::v_pk_add_f32 => {
            lanewise!(|c, u| halves_f32(c, u, |a, b, _| a.host_add(b), |a, b, _| float::add(a, b)))
        }
        _ => return None,
    })
}

/// Sources are f32 by now.
#[inline(always)]
fn fma_mix(c: &mut Cx<'_>, u: &Uop) -> Step {
    match c.wave.mode.round32 {
        Round::Nearest => map3(c, u, float::fma::<f32>),
        round => rounded3(c, u, round, soft::fma::<f32>),
    }
}

/// Fused in f32, then rounded to f16.
#[inline(always)]
fn fma_mix_f16(c: &mut Cx<'_>, u: &Uop) -> Step {
    let round = c.wave.mode.round16_64;
    map3(c, u, move |a: f32, b: f32, d: f32| {
        let wide: f32 = float::fma(a, b, d);
        if round == Round::Nearest { float::narrow(wide) } else { soft::convert::<f32, f16>(round, wide) }
    })
}

/// Sum of products in f32, each step rounded.
fn dot2_f32(a: [f16; 2], b: [f16; 2], d: f32) -> f32 {
    let low = float::fma(float::widen(a[0]), float::widen(b[0]), d);
    float::fma(float::widen(a[1]), float::widen(b[1]), low)
}

#[inline(always)]
fn signed_sum(c: &mut Cx<'_>, u: &Uop, dot: impl Fn(u32, u32) -> i64) -> Step {
    let clamp = u.clamp;
    map3(c, u, move |a: u32, b: u32, d: i32| {
        let exact = dot(a, b) + i64::from(d);
        if clamp { exact.clamp(i32::MIN.into(), i32::MAX.into()) as i32 } else { exact as i32 }
    })
}

#[inline(always)]
fn unsigned_sum(c: &mut Cx<'_>, u: &Uop, dot: impl Fn(u32, u32) -> u64) -> Step {
    let clamp = u.clamp;
    map3(c, u, move |a: u32, b: u32, d: u32| {
        let exact = dot(a, b) + u64::from(d);
        if clamp { exact.min(u32::MAX.into()) as u32 } else { exact as u32 }
    })
}

#[inline(always)]
fn dot4_signed(c: &mut Cx<'_>, u: &Uop) -> Step {
    if u.clamp {
        return signed_sum(c, u, signed_dot::<8>);
    }
    map3(c, u, |a: u32, b: u32, d: i32| {
        let product = |shift: u32| (((a << shift) as i32) >> 24) * (((b << shift) as i32) >> 24);
        d.wrapping_add(product(0))
            .wrapping_add(product(8))
            .wrapping_add(product(16))
            .wrapping_add(product(24))
    })
}

/// Elements of `BITS` bits.
fn signed_dot<const BITS: u32>(a: u32, b: u32) -> i64 {
    let element = |word: u32, i: u32| i64::from(((word << (32 - BITS - BITS * i)) as i32) >> (32 - BITS));
    (0..32 / BITS).map(|i| element(a, i) * element(b, i)).sum()
}

fn unsigned_dot<const BITS: u32>(a: u32, b: u32) -> u64 {
    let element = |word: u32, i: u32| u64::from((word >> (BITS * i)) & ((1 << BITS) - 1));
    (0..32 / BITS).map(|i| element(a, i) * element(b, i)).sum()
}

/// Each result is one register of a pair, chosen by `op_sel`.
#[inline(always)]
fn pk_mov(c: &mut Cx<'_>, u: &Uop) -> Step {
    let select = u.inst.vop_mods().op_sel;
    let (low, high) = (usize::from(select & 1), usize::from((select >> 1) & 1));
    map2(c, u, move |a: [u32; 2], b: [u32; 2]| [a[low], b[high]])
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_pk_mad_i16 => lanewise!(|c, u| {
            let clamp = u.clamp;
            pair3(c, u, move |a, b, d| mad_i16(a, b, d, clamp))
        }),
        Op::v_pk_mad_u16 => lanewise!(|c, u| {
            let clamp = u.clamp;
            pair3(c, u, move |a, b, d| mad_u16(a, b, d, clamp))
        }),
        Op::v_pk_mul_lo_u16 => lanewise!(|c, u| pair2(c, u, u16::wrapping_mul)),
        Op::v_pk_add_i16 => lanewise!(|c, u| {
            if u.clamp { pair2(c, u, i16::saturating_add) } else { pair2(c, u, i16::wrapping_add) }
        }),
        Op::v_pk_sub_i16 => lanewise!(|c, u| {
            if u.clamp { pair2(c, u, i16::saturating_sub) } else { pair2(c, u, i16::wrapping_sub) }
        }),
        Op::v_pk_add_u16 => lanewise!(|c, u| {
            if u.clamp { pair2(c, u, u16::saturating_add) } else { pair2(c, u, u16::wrapping_add) }
        }),
        Op::v_pk_sub_u16 => lanewise!(|c, u| {
            if u.clamp { pair2(c, u, u16::saturating_sub) } else { pair2(c, u, u16::wrapping_sub) }
        }),
        Op::v_pk_lshlrev_b16 => lanewise!(|c, u| pair2(c, u, |by: u16, a: u16| a << (by & 15))),
        Op::v_pk_lshrrev_b16 => lanewise!(|c, u| pair2(c, u, |by: u16, a: u16| a >> (by & 15))),
        Op::v_pk_ashrrev_i16 => lanewise!(|c, u| pair2(c, u, |by: i16, a: i16| a >> (by & 15))),
        Op::v_pk_max_i16 => lanewise!(|c, u| pair2(c, u, |a: i16, b: i16| a.max(b))),
        Op::v_pk_min_i16 => lanewise!(|c, u| pair2(c, u, |a: i16, b: i16| a.min(b))),
        Op::v_pk_max_u16 => lanewise!(|c, u| pair2(c, u, |a: u16, b: u16| a.max(b))),
        Op::v_pk_min_u16 => lanewise!(|c, u| pair2(c, u, |a: u16, b: u16| a.min(b))),
        Op::v_pk_fma_f16 | Op::v_pk_fmac_f16 => lanewise!(fp_fma::<f16>),
        Op::v_pk_add_f16 => lanewise!(|c, u| fp_pair2::<f16>(c, u, float::add, soft::add)),
        Op::v_pk_mul_f16 => lanewise!(|c, u| fp_pair2::<f16>(c, u, float::mul, soft::mul)),
        Op::v_pk_min_f16 => lanewise!(|c, u| {
            let ieee = c.wave.mode.ieee;
            pair2(c, u, move |a: f16, b: f16| float::min(ieee, a, b))
        }),
        Op::v_pk_max_f16 => lanewise!(|c, u| {
            let ieee = c.wave.mode.ieee;
            pair2(c, u, move |a: f16, b: f16| float::max(ieee, a, b))
        }),
        Op::v_pk_fma_f32 => lanewise!(fp_fma::<f32>),
        Op::v_pk_mul_f32 => lanewise!(|c, u| fp_pair2::<f32>(c, u, float::mul, soft::mul)),
        Op::v_pk_add_f32 => lanewise!(|c, u| fp_pair2::<f32>(c, u, float::add, soft::add)),
        Op::v_pk_mov_b32 => lanewise!(pk_mov),
        Op::v_fma_mix_f32 => lanewise!(fma_mix),
        Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16 => lanewise!(fma_mix_f16),
        Op::v_dot2_f32_f16 | Op::v_dot2c_f32_f16 => lanewise!(|c, u| map3(c, u, dot2_f32)),
        Op::v_dot2_i32_i16 | Op::v_dot2c_i32_i16 => lanewise!(|c, u| signed_sum(c, u, signed_dot::<16>)),
        Op::v_dot4_i32_i8 | Op::v_dot4c_i32_i8 => lanewise!(dot4_signed),
        Op::v_dot8_i32_i4 | Op::v_dot8c_i32_i4 => lanewise!(|c, u| signed_sum(c, u, signed_dot::<4>)),
        Op::v_dot2_u32_u16 => lanewise!(|c, u| unsigned_sum(c, u, unsigned_dot::<16>)),
        Op::v_dot4_u32_u8 => lanewise!(|c, u| unsigned_sum(c, u, unsigned_dot::<8>)),
        Op::v_dot8_u32_u4 => lanewise!(|c, u| unsigned_sum(c, u, unsigned_dot::<4>)),
        _ => return None,
    };
    Some(handler)
}
