//! The three steps around a Newton iteration that make a division correctly rounded.
//!
//! `div_scale` brings numerator and denominator into a range where the iteration neither overflows nor loses
//! bits, and says in VCC whether the result has to be scaled back; `div_fmas` does so in the last step;
//! `div_fixup` puts the special cases in.

use half::f16;

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{map_flags, map3};
use crate::exec::core::mode::Round;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::exec::float::{self, Float, soft};
use crate::isa::Op;
use crate::isa::inst::scalar;

/// The numbers of a format that the algorithm needs.
trait Division: Float {
    /// Exponent by which values are scaled.
    const SCALE: i32;
    /// Difference of exponents from which the quotient is near overflow.
    const NEAR_OVERFLOW: i32;
    /// Exponent field up to which a numerator is tiny.
    const TINY: i32;
    /// Difference of exponents below which the quotient is zero.
    const UNDERFLOW: i32;
    fn quotient(self, by: Self) -> Self;
}

impl Division for f32 {
    const SCALE: i32 = 64;
    const NEAR_OVERFLOW: i32 = 96;
    const TINY: i32 = 23;
    const UNDERFLOW: i32 = -150;
    fn quotient(self, by: Self) -> Self {
        self / by
    }
}

impl Division for f64 {
    const SCALE: i32 = 128;
    const NEAR_OVERFLOW: i32 = 768;
    const TINY: i32 = 53;
    const UNDERFLOW: i32 = -1075;
    fn quotient(self, by: Self) -> Self {
        self / by
    }
}

/// `value` is either the denominator or the numerator. Answers it scaled, and the flag.
fn scale<F: Division>(value: F, denominator: F, numerator: F) -> (F, bool) {
    let up = || soft::ldexp(Round::Nearest, value, F::SCALE);
    let down = || soft::ldexp(Round::Nearest, value, -F::SCALE);
    let is = |which: F| value == which;
    let one = F::from_f64(1.0);
    if numerator.magnitude() == 0 || denominator.magnitude() == 0 {
        return (F::default_nan(), false);
    }
    let reciprocal_tiny = one.quotient(denominator).is_denormal();
    let quotient_tiny = numerator.quotient(denominator).is_denormal();
    if numerator.exponent() - denominator.exponent() >= F::NEAR_OVERFLOW {
        (if is(denominator) { up() } else { value }, true)
    } else if denominator.is_denormal() {
        (up(), false)
    } else if reciprocal_tiny && quotient_tiny {
        // AMD's text scales up here, which would overflow: a smaller denominator is what VCC undoes.
        (if is(denominator) { down() } else { value }, true)
    } else if reciprocal_tiny {
        (down(), false)
    } else if quotient_tiny {
        (if is(numerator) { up() } else { value }, true)
    } else if numerator.exponent() <= F::TINY {
        (up(), false)
    } else {
        (value, false)
    }
}

#[inline(always)]
fn div_scale<F: Division>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let flags =
        map_flags(c, u, 0, |value: F, denominator: F, numerator: F, _| scale(value, denominator, numerator));
    c.write64(u, flags);
    Step::Next
}

#[inline(always)]
fn div_fmas<F: Division>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let vcc = c.wave.pair(scalar::VCC);
    let round = c.wave.mode.round_of(F::SIZE);
    map_flags(c, u, vcc, move |a: F, b: F, d: F, scaled| {
        if !scaled {
            return (soft_or_host(round, a, b, d), false);
        }
        let by = if d.exponent() > F::BIAS { F::SCALE } else { -F::SCALE };
        (soft::ldexp(round, soft_or_host(round, a, b, d), by), false)
    });
    Step::Next
}

fn soft_or_host<F: Float>(round: Round, a: F, b: F, d: F) -> F {
    if round == Round::Nearest { float::fma(a, b, d) } else { soft::fma(round, a, b, d) }
}

/// The quotient `value` of `numerator / denominator`, with the special cases put in.
fn fixup<F: Float>(value: F, denominator: F, numerator: F, underflow: i32) -> F {
    let negative = denominator.is_negative() != numerator.is_negative();
    let signed = |magnitude: u64| F::of_bits(magnitude | if negative { F::SIGN } else { 0 });
    if numerator.is_nan() {
        numerator.quieted()
    } else if denominator.is_nan() {
        denominator.quieted()
    } else if (denominator.magnitude() == 0 && numerator.magnitude() == 0)
        || (denominator.is_infinite() && numerator.is_infinite())
    {
        F::of_bits(F::SIGN | F::default_nan().bits())
    } else if denominator.magnitude() == 0 || numerator.is_infinite() {
        signed(F::INFINITY)
    } else if denominator.is_infinite()
        || numerator.magnitude() == 0
        || numerator.exponent() - denominator.exponent() < underflow
    {
        signed(0)
    } else if value.is_nan() {
        // Of ordinary numbers: the iteration overflowed, as the quotient does.
        signed(F::INFINITY)
    } else {
        signed(value.magnitude())
    }
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_div_scale_f32 => lanewise!(div_scale::<f32>),
        Op::v_div_scale_f64 => lanewise!(div_scale::<f64>),
        Op::v_div_fmas_f32 => lanewise!(div_fmas::<f32>),
        Op::v_div_fmas_f64 => lanewise!(div_fmas::<f64>),
        Op::v_div_fixup_f32 => lanewise!(|c, u| map3(c, u, |a: f32, b, d| fixup(a, b, d, f32::UNDERFLOW))),
        Op::v_div_fixup_f64 => lanewise!(|c, u| map3(c, u, |a: f64, b, d| fixup(a, b, d, f64::UNDERFLOW))),
        Op::v_div_fixup_f16 | Op::v_div_fixup_legacy_f16 => {
            lanewise!(|c, u| map3(c, u, |a: f16, b, d| fixup(a, b, d, i32::MIN)))
        }
        _ => return None,
    };
    Some(handler)
}
