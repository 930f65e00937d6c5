//! Arithmetic in every rounding mode, on integers.

use super::Float;
use crate::exec::core::mode::Round;

/// A finite number `±significand · 2^exponent`.
#[derive(Debug, Clone, Copy)]
struct Number {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl Number {
    fn of<F: Float>(value: F) -> Self {
        let fraction = value.magnitude() & ((1 << F::FRACTION) - 1);
        let field = value.exponent();
        let (significand, field) =
            if field == 0 { (fraction, 1) } else { (fraction | 1 << F::FRACTION, field) };
        let exponent = field - F::BIAS - F::FRACTION as i32;
        Self { negative: value.is_negative(), significand: significand.into(), exponent }
    }

    /// Moves the significand's first bit to bit 125: room for one carry.
    fn normalised(self) -> Self {
        if self.significand == 0 {
            return self;
        }
        let shift = self.significand.leading_zeros() as i32 - 2;
        let significand = match u32::try_from(shift) {
            Ok(left) => self.significand << left,
            Err(_) => shift_right_sticky(self.significand, shift.unsigned_abs()),
        };
        Self { significand, exponent: self.exponent - shift, ..self }
    }
}

/// The lowest bit says whether anything was shifted out.
fn shift_right_sticky(value: u128, by: u32) -> u128 {
    if by == 0 {
        value
    } else if by > 127 {
        u128::from(value != 0)
    } else {
        let lost = value & ((1 << by) - 1) != 0;
        (value >> by) | u128::from(lost)
    }
}

/// Rounds `±significand · 2^exponent`, whose lowest bit may stand for anything below it.
pub(in crate::exec) fn round<F: Float>(round: Round, negative: bool, significand: u128, exponent: i32) -> F {
    let sign = if negative { F::SIGN } else { 0 };
    if significand == 0 {
        return F::of_bits(sign);
    }
    let number = Number { negative, significand, exponent }.normalised();
    let fraction = F::FRACTION as i32;
    let lowest = 1 - F::BIAS - fraction;
    // Exponent of the result's last place.
    let last = (125 + number.exponent - fraction).max(lowest);
    let drop = (last - number.exponent) as u32;
    let (kept, rest, half) = if drop > 126 {
        (0, number.significand, u128::MAX)
    } else {
        (number.significand >> drop, number.significand & ((1 << drop) - 1), 1 << (drop - 1))
    };
    let away = match round {
        Round::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Round::Up => !negative && rest != 0,
        Round::Down => negative && rest != 0,
        Round::Zero => false,
    };
    // A carry out of the fraction moves into the exponent field, as it should.
    let bits =
        ((last - lowest) as u64).saturating_mul(1 << fraction).saturating_add(kept as u64 + u64::from(away));
    if bits >= F::INFINITY {
        let to_infinity = match round {
            Round::Nearest => true,
            Round::Up => !negative,
            Round::Down => negative,
            Round::Zero => false,
        };
        return F::of_bits(sign | if to_infinity { F::INFINITY } else { F::INFINITY - 1 });
    }
    F::of_bits(sign | bits)
}

/// `a · b + c`, rounded once.
pub(in crate::exec) fn fma<F: Float>(mode: Round, a: F, b: F, c: F) -> F {
    let product_negative = a.is_negative() != b.is_negative();
    let invalid = (a.is_infinite() && b.magnitude() == 0) || (b.is_infinite() && a.magnitude() == 0);
    let product_infinite = a.is_infinite() || b.is_infinite();
    if [a, b, c].iter().any(|x| x.is_nan()) || invalid {
        return super::settle(F::default_nan(), [a, b, c]);
    }
    if product_infinite {
        let opposite = c.is_infinite() && c.is_negative() != product_negative;
        let sign = if product_negative { F::SIGN } else { 0 };
        return if opposite { F::default_nan() } else { F::of_bits(F::INFINITY | sign) };
    }
    if c.is_infinite() {
        return c;
    }
    let (x, y, z) = (Number::of(a), Number::of(b), Number::of(c));
    let product = Number {
        negative: product_negative,
        significand: x.significand * y.significand,
        exponent: x.exponent + y.exponent,
    };
    sum(mode, product, z)
}

fn sum<F: Float>(mode: Round, a: Number, b: Number) -> F {
    let zero = |negative: bool| F::of_bits(if negative { F::SIGN } else { 0 });
    if a.significand == 0 && b.significand == 0 {
        let negative = if a.negative == b.negative { a.negative } else { mode == Round::Down };
        return zero(negative);
    }
    let (a, b) = (a.normalised(), b.normalised());
    let a_first = b.significand == 0 || (a.significand != 0 && a.exponent >= b.exponent);
    let (large, small) = if a_first { (a, b) } else { (b, a) };
    let gap = if small.significand == 0 { 0 } else { (large.exponent - small.exponent) as u32 };
    let aligned = shift_right_sticky(small.significand, gap);
    if large.negative == small.negative {
        return round(mode, large.negative, large.significand + aligned, large.exponent);
    }
    if large.significand == aligned {
        return zero(mode == Round::Down);
    }
    let (negative, difference) = if large.significand > aligned {
        (large.negative, large.significand - aligned)
    } else {
        (small.negative, aligned - large.significand)
    };
    round(mode, negative, difference, large.exponent)
}

/// `a + b`.
pub(in crate::exec) fn add<F: Float>(mode: Round, a: F, b: F) -> F {
    if a.is_nan() || b.is_nan() {
        return super::settle(F::default_nan(), [a, b]);
    }
    fma(mode, a, F::from_f64(1.0), b)
}

/// `a - b`.
pub(in crate::exec) fn sub<F: Float>(mode: Round, a: F, b: F) -> F {
    if a.is_nan() || b.is_nan() {
        return super::settle(F::default_nan(), [a, b]);
    }
    add(mode, a, b.negated())
}

/// `a · b`.
pub(in crate::exec) fn mul<F: Float>(mode: Round, a: F, b: F) -> F {
    let negative = a.is_negative() != b.is_negative();
    let zero = F::of_bits(if negative { F::SIGN } else { 0 });
    if a.is_nan() || b.is_nan() {
        return super::settle(F::default_nan(), [a, b]);
    }
    fma(mode, a, b, zero)
}

/// From one format to another.
pub(in crate::exec) fn convert<F: Float, G: Float>(mode: Round, value: F) -> G {
    let sign = if value.is_negative() { G::SIGN } else { 0 };
    if value.is_nan() {
        let fraction = value.magnitude() & ((1 << F::FRACTION) - 1);
        let moved = if G::FRACTION >= F::FRACTION {
            fraction << (G::FRACTION - F::FRACTION)
        } else {
            fraction >> (F::FRACTION - G::FRACTION)
        };
        return G::of_bits(sign | G::INFINITY | G::QUIET | moved);
    }
    if value.is_infinite() {
        return G::of_bits(sign | G::INFINITY);
    }
    let number = Number::of(value);
    round(mode, number.negative, number.significand, number.exponent)
}

/// From an integer.
pub(in crate::exec) fn from_int<F: Float>(mode: Round, value: i128) -> F {
    round(mode, value < 0, value.unsigned_abs(), 0)
}

/// `value · 2^by`.
pub(in crate::exec) fn ldexp<F: Float>(mode: Round, value: F, by: i32) -> F {
    if value.is_nan() {
        return value.quieted();
    }
    if value.is_infinite() || value.magnitude() == 0 {
        return value;
    }
    let number = Number::of(value);
    // Beyond this the result is certainly out of range.
    let by = by.clamp(-5000, 5000);
    round(mode, number.negative, number.significand, number.exponent + by)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn values() -> Vec<f32> {
        let mut seed = 0x1234_5678_u32;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            seed
        };
        let special = [0, 1, 0x7f_ffff, 0x80_0000, 0x3f80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0001];
        let mut all: Vec<u32> = special.into_iter().flat_map(|x| [x, x | 1 << 31]).collect();
        all.extend((0..40).map(|_| next()));
        all.extend((0..40).map(|_| (next() & 0x81ff_ffff) | 0x3f00_0000));
        all.into_iter().map(f32::from_bits).collect()
    }

    fn same<F: Float>(a: F, b: F) -> bool {
        a.bits() == b.bits() || (a.is_nan() && b.is_nan())
    }

    #[test]
    fn nearest_is_what_the_host_computes() {
        for a in values() {
            for b in values() {
                assert!(same(add(Round::Nearest, a, b), a + b), "{a:e} + {b:e}");
                assert!(same(mul(Round::Nearest, a, b), a * b), "{a:e} * {b:e}");
                let (wide_a, wide_b) = (f64::from(a) * 1.000_000_1, f64::from(b) * 0.999_999_9);
                assert!(same(add(Round::Nearest, wide_a, wide_b), wide_a + wide_b));
                assert!(same(mul(Round::Nearest, wide_a, wide_b), wide_a * wide_b));
                for c in [a, -b, 1.0, 1e-30] {
                    assert!(same(fma(Round::Nearest, a, b, c), a.mul_add(b, c)), "{a:e} * {b:e} + {c:e}");
                    let c = f64::from(c);
                    assert!(same(fma(Round::Nearest, wide_a, wide_b, c), wide_a.mul_add(wide_b, c)));
                }
            }
        }
    }

    /// A directed result is next to the nearest one, on the right side of the exact value.
    #[test]
    fn directed_results_enclose_the_exact_product() {
        for a in values() {
            for b in values() {
                let exact = f64::from(a) * f64::from(b);
                if !exact.is_finite() || exact == 0.0 {
                    continue;
                }
                let (down, up) = (mul(Round::Down, a, b), mul(Round::Up, a, b));
                let zero = mul(Round::Zero, a, b);
                assert!(f64::from(down) <= exact && exact <= f64::from(up), "{a:e} * {b:e}");
                assert!(down == up || down.next_up() == up, "{a:e} * {b:e}");
                assert_eq!(zero.to_bits(), if exact > 0.0 { down } else { up }.to_bits());
                assert_eq!(down == up, f64::from(down) == exact);
            }
        }
    }

    #[test]
    fn conversions_and_scaling_agree_with_the_host() {
        for a in values() {
            assert!(same(convert::<f32, f16>(Round::Nearest, a), f16::from_f32(a)), "{a:e}");
            let wide = f64::from(a) * 1.000_000_03;
            assert!(same(convert::<f64, f32>(Round::Nearest, wide), wide as f32), "{wide:e}");
            for by in [-200, -24, -1, 0, 1, 30, 300] {
                let expected = f64::from(a) * f64::from(by).exp2();
                assert!(same(ldexp(Round::Nearest, a, by), expected as f32), "{a:e} {by}");
            }
        }
    }
}
