//! Floating-point arithmetic on f16, f32 and f64.

use half::f16;

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{map1, map2, map3, settle2, settle3};
use crate::exec::core::mode::Round;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::exec::float::{self, Float, soft};
use crate::isa::Op;

/// Two sources: `fast` under round-to-nearest-even, which is `host` but for NaNs; `slow` otherwise.
#[inline(always)]
pub(super) fn fp2<F: Float>(
    c: &mut Cx<'_>,
    u: &Uop,
    host: impl Fn(F, F) -> F,
    fast: impl Fn(F, F) -> F,
    slow: fn(Round, F, F) -> F,
) -> Step {
    match c.wave.mode.round_of(F::SIZE) {
        Round::Nearest => settle2(c, u, host, fast),
        round => rounded2(c, u, round, slow),
    }
}

#[cold]
fn rounded2<F: Float>(c: &mut Cx<'_>, u: &Uop, round: Round, slow: fn(Round, F, F) -> F) -> Step {
    map2(c, u, move |a, b| slow(round, a, b))
}

#[cold]
pub(super) fn rounded3<F: Float>(
    c: &mut Cx<'_>,
    u: &Uop,
    round: Round,
    slow: fn(Round, F, F, F) -> F,
) -> Step {
    map3(c, u, move |a, b, d| slow(round, a, b, d))
}

/// Three sources.
#[inline(always)]
pub(super) fn fp3<F: Float>(
    c: &mut Cx<'_>,
    u: &Uop,
    host: impl Fn(F, F, F) -> F,
    fast: impl Fn(F, F, F) -> F,
    slow: fn(Round, F, F, F) -> F,
) -> Step {
    match c.wave.mode.round_of(F::SIZE) {
        Round::Nearest => settle3(c, u, host, fast),
        round => rounded3(c, u, round, slow),
    }
}

#[inline(always)]
fn minimum<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let ieee = c.wave.mode.ieee;
    map2(c, u, move |a: F, b: F| float::min(ieee, a, b))
}

#[inline(always)]
fn maximum<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let ieee = c.wave.mode.ieee;
    map2(c, u, move |a: F, b: F| float::max(ieee, a, b))
}

#[inline(always)]
fn min3<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let ieee = c.wave.mode.ieee;
    map3(c, u, move |a: F, b: F, d: F| float::min(ieee, float::min(ieee, a, b), d))
}

#[inline(always)]
fn max3<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let ieee = c.wave.mode.ieee;
    map3(c, u, move |a: F, b: F, d: F| float::max(ieee, float::max(ieee, a, b), d))
}

#[inline(always)]
fn med3<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let ieee = c.wave.mode.ieee;
    map3(c, u, move |a: F, b: F, d: F| float::med3(ieee, a, b, d))
}

/// An operation that f64 carries out exactly for every format.
#[inline(always)]
fn integral<F: Float>(c: &mut Cx<'_>, u: &Uop, f: impl Fn(f64) -> f64) -> Step {
    map1(c, u, |a: F| float::settle(F::from_f64(f(a.to_f64())), [a]))
}

/// `x - floor(x)`, kept below 1.
fn fract<F: Float>(value: F) -> F {
    if value.is_nan() || value.is_infinite() {
        return float::settle(F::default_nan(), [value]);
    }
    let wide = value.to_f64();
    let below_one = F::of_bits(F::from_f64(1.0).bits() - 1);
    let rest = F::from_f64(wide - wide.floor());
    if rest < below_one { rest } else { below_one }
}

/// Exponent of a mantissa in [0.5, 1), 0 for zeros, infinities and NaNs.
fn frexp_exponent<F: Float>(value: F) -> i32 {
    if value.is_nan() || value.is_infinite() || value.magnitude() == 0 {
        return 0;
    }
    let leading = value.magnitude().leading_zeros() as i32 - (63 - F::FRACTION as i32);
    let field = if value.exponent() == 0 { 1 - leading } else { value.exponent() };
    field - F::BIAS + 1
}

fn frexp_mantissa<F: Float>(value: F) -> F {
    if value.is_nan() {
        return value.quieted();
    }
    if value.is_infinite() || value.magnitude() == 0 {
        return value;
    }
    soft::ldexp(Round::Nearest, value, -frexp_exponent(value))
}

/// `value · 2^by` to nearest. f64 holds the product exactly: beyond 300 either way it is out of f32's range for sure.
#[inline(always)]
fn scaled(value: f32, by: i32) -> f32 {
    let power = f64::from_bits(((1023 + by.clamp(-300, 300)) as u64) << 52);
    let product = (f64::from(value) * power) as f32;
    if value.is_nan() { value.quieted() } else { product }
}

#[inline(always)]
fn ldexp_f32(c: &mut Cx<'_>, u: &Uop) -> Step {
    match c.wave.mode.round32 {
        Round::Nearest => map2(c, u, scaled),
        _ => ldexp::<f32>(c, u),
    }
}

fn ldexp<F: Float>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let round = c.wave.mode.round_of(F::SIZE);
    map2(c, u, move |a: F, by: i32| soft::ldexp(round, a, by))
}

fn ldexp_f16(c: &mut Cx<'_>, u: &Uop) -> Step {
    let round = c.wave.mode.round_of(16);
    map2(c, u, move |a: f16, by: i16| soft::ldexp(round, a, by.into()))
}

/// A product in which zero wins over everything.
fn mul_legacy(a: f32, b: f32) -> f32 {
    if a == 0.0 || b == 0.0 { 0.0 } else { float::mul(a, b) }
}

fn host_sub<F: Float>(a: F, b: F) -> F {
    a.host_add(b.negated())
}

fn host_mad<F: Float>(a: F, b: F, d: F) -> F {
    a.host_mul(b).host_add(d)
}

/// A product that is rounded before the sum.
fn mad<F: Float>(a: F, b: F, d: F) -> F {
    float::add(float::mul(a, b), d)
}

fn mad_slow<F: Float>(round: Round, a: F, b: F, d: F) -> F {
    soft::add(round, soft::mul(round, a, b), d)
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_add_f32 => lanewise!(|c, u| fp2::<f32>(c, u, f32::host_add, float::add, soft::add)),
        Op::v_add_f64 => lanewise!(|c, u| fp2::<f64>(c, u, f64::host_add, float::add, soft::add)),
        Op::v_add_f16 => lanewise!(|c, u| fp2::<f16>(c, u, f16::host_add, float::add, soft::add)),
        Op::v_sub_f32 => lanewise!(|c, u| fp2::<f32>(c, u, host_sub, float::sub, soft::sub)),
        Op::v_sub_f16 => lanewise!(|c, u| fp2::<f16>(c, u, host_sub, float::sub, soft::sub)),
        Op::v_subrev_f32 => lanewise!(|c, u| {
            fp2::<f32>(c, u, |a, b| host_sub(b, a), |a, b| float::sub(b, a), |r, a, b| soft::sub(r, b, a))
        }),
        Op::v_subrev_f16 => lanewise!(|c, u| {
            fp2::<f16>(c, u, |a, b| host_sub(b, a), |a, b| float::sub(b, a), |r, a, b| soft::sub(r, b, a))
        }),
        Op::v_mul_f32 => lanewise!(|c, u| fp2::<f32>(c, u, f32::host_mul, float::mul, soft::mul)),
        Op::v_mul_f64 => lanewise!(|c, u| fp2::<f64>(c, u, f64::host_mul, float::mul, soft::mul)),
        Op::v_mul_f16 => lanewise!(|c, u| fp2::<f16>(c, u, f16::host_mul, float::mul, soft::mul)),
        Op::v_mul_legacy_f32 => lanewise!(|c, u| map2(c, u, mul_legacy)),
        Op::v_fma_f32 | Op::v_fmac_f32 | Op::v_fmamk_f32 | Op::v_fmaak_f32 => {
            lanewise!(|c, u| fp3::<f32>(c, u, f32::host_fma, float::fma, soft::fma))
        }
        Op::v_fma_f64 | Op::v_fmac_f64 => {
            lanewise!(|c, u| fp3::<f64>(c, u, f64::host_fma, float::fma, soft::fma))
        }
        Op::v_fma_f16 | Op::v_fma_legacy_f16 => {
            lanewise!(|c, u| fp3::<f16>(c, u, f16::host_fma, float::fma, soft::fma))
        }
        Op::v_mac_f16 | Op::v_madmk_f16 | Op::v_madak_f16 | Op::v_mad_f16 | Op::v_mad_legacy_f16 => {
            lanewise!(|c, u| fp3::<f16>(c, u, host_mad, mad, mad_slow))
        }
        Op::v_min_f32 => lanewise!(minimum::<f32>),
        Op::v_min_f64 => lanewise!(minimum::<f64>),
        Op::v_min_f16 => lanewise!(minimum::<f16>),
        Op::v_max_f32 => lanewise!(maximum::<f32>),
        Op::v_max_f64 => lanewise!(maximum::<f64>),
        Op::v_max_f16 => lanewise!(maximum::<f16>),
        Op::v_min3_f32 => lanewise!(min3::<f32>),
        Op::v_min3_f16 => lanewise!(min3::<f16>),
        Op::v_max3_f32 => lanewise!(max3::<f32>),
        Op::v_max3_f16 => lanewise!(max3::<f16>),
        Op::v_med3_f32 => lanewise!(med3::<f32>),
        Op::v_med3_f16 => lanewise!(med3::<f16>),
        Op::v_trunc_f32 => lanewise!(|c, u| integral::<f32>(c, u, f64::trunc)),
        Op::v_trunc_f64 => lanewise!(|c, u| integral::<f64>(c, u, f64::trunc)),
        Op::v_trunc_f16 => lanewise!(|c, u| integral::<f16>(c, u, f64::trunc)),
        Op::v_ceil_f32 => lanewise!(|c, u| integral::<f32>(c, u, f64::ceil)),
        Op::v_ceil_f64 => lanewise!(|c, u| integral::<f64>(c, u, f64::ceil)),
        Op::v_ceil_f16 => lanewise!(|c, u| integral::<f16>(c, u, f64::ceil)),
        Op::v_floor_f32 => lanewise!(|c, u| integral::<f32>(c, u, f64::floor)),
        Op::v_floor_f64 => lanewise!(|c, u| integral::<f64>(c, u, f64::floor)),
        Op::v_floor_f16 => lanewise!(|c, u| integral::<f16>(c, u, f64::floor)),
        Op::v_rndne_f32 => lanewise!(|c, u| integral::<f32>(c, u, f64::round_ties_even)),
        Op::v_rndne_f64 => lanewise!(|c, u| integral::<f64>(c, u, f64::round_ties_even)),
        Op::v_rndne_f16 => lanewise!(|c, u| integral::<f16>(c, u, f64::round_ties_even)),
        Op::v_fract_f32 => lanewise!(|c, u| map1(c, u, fract::<f32>)),
        Op::v_fract_f64 => lanewise!(|c, u| map1(c, u, fract::<f64>)),
        Op::v_fract_f16 => lanewise!(|c, u| map1(c, u, fract::<f16>)),
        Op::v_frexp_exp_i32_f32 => lanewise!(|c, u| map1(c, u, frexp_exponent::<f32>)),
        Op::v_frexp_exp_i32_f64 => lanewise!(|c, u| map1(c, u, frexp_exponent::<f64>)),
        Op::v_frexp_exp_i16_f16 => lanewise!(|c, u| map1(c, u, |a: f16| frexp_exponent(a) as i16)),
        Op::v_frexp_mant_f32 => lanewise!(|c, u| map1(c, u, frexp_mantissa::<f32>)),
        Op::v_frexp_mant_f64 => lanewise!(|c, u| map1(c, u, frexp_mantissa::<f64>)),
        Op::v_frexp_mant_f16 => lanewise!(|c, u| map1(c, u, frexp_mantissa::<f16>)),
        Op::v_ldexp_f32 => lanewise!(ldexp_f32),
        Op::v_ldexp_f64 => ldexp::<f64>,
        Op::v_ldexp_f16 => ldexp_f16,
        _ => return None,
    };
    Some(handler)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::splitmix64;

    #[test]
    fn scaling_by_the_host_is_scaling_in_integers() {
        let mut state = 5;
        for turn in 0..200_000 {
            let bits = splitmix64(&mut state);
            let value = f32::from_bits(bits as u32);
            let by = match turn % 3 {
                0 => (bits >> 32) as i32,
                1 => (bits >> 32) as i32 % 400,
                // Next to the denormals.
                _ => -126 - (value.exponent() - 127) - ((bits >> 32) as i32 % 30),
            };
            let expected = soft::ldexp(Round::Nearest, value, by);
            assert_eq!(scaled(value, by).to_bits(), expected.to_bits(), "{value:e} {by}");
        }
    }
}
