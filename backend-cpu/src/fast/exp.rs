//! The exponential, eight at a time.

use super::simd::Simd;

/// `1 / ln 2`.
const LOG2_E: f32 = std::f32::consts::LOG2_E;

/// `ln 2` in two parts: the first has 9 bits, so that its products with integers below 2^14 are exact.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Coefficients of the polynomial for `(e^r − 1 − r)/r²` on `|r| ≤ ln 2 / 2`, the highest power first.
const COEFFICIENTS: [f32; 6] =
    [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];

/// Below this the result is 0: `e^x` is about to leave the normal numbers.
const LOWEST: f32 = -87.0;

/// `e^x` for `x ≤ 0`, within [`ULPS`] units in the last place. 0 below −87; NaN for NaN.
///
/// `x = n·ln 2 + r`: the power of two goes to the exponent's bits, the rest through a polynomial.
#[inline(always)]
pub fn exp_of_negative<S: Simd>(s: S, x: S::F) -> S::F {
    // The order of operands lets NaN through.
    let clamped = s.max(s.splat(LOWEST), x);
    let n = s.nearest(s.mul(clamped, s.splat(LOG2_E)));
    let count = s.floats(n);
    let r = s.mul_add(count, s.splat(-LN_2_HIGH), clamped);
    let r = s.mul_add(count, s.splat(-LN_2_LOW), r);
    let mut p = s.splat(COEFFICIENTS[0]);
    for coefficient in &COEFFICIENTS[1..] {
        p = s.mul_add(p, r, s.splat(*coefficient));
    }
    let power = s.add(s.mul_add(s.mul(r, r), p, r), s.splat(1.0));
    s.zero_where_below(s.scale_by_power(power, n), x, s.splat(LOWEST))
}

/// Largest error of [`exp_of_negative`], in units in the last place; the test below measures it.
pub const ULPS: f64 = 1.5;

#[cfg(test)]
mod tests {
    use approx::assert_abs_diff_eq;

    use super::super::simd::{Arch, Kernel};
    use super::*;

    struct Exp([f32; 8]);

    impl Kernel for Exp {
        type Output = [f32; 8];

        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> [f32; 8] {
            s.array(exp_of_negative(s, s.load(&self.0)))
        }
    }

    fn exp(x: [f32; 8]) -> [f32; 8] {
        Arch::best().run(Exp(x))
    }

    #[test]
    fn arguments_all_over_the_range_are_within_the_stated_error() {
        let mut worst = 0.0f64;
        let bits: Vec<u32> = (0x8000_0000..=(-87.0f32).to_bits()).step_by(251).collect();
        for bits in bits.as_chunks::<8>().0 {
            let x = bits.map(f32::from_bits);
            for (x, y) in x.into_iter().zip(exp(x)) {
                let exact = f64::from(x).exp();
                let unit = f64::from(f32::from_bits(y.to_bits() & 0x7f80_0000)) * f64::from(f32::EPSILON);
                worst = worst.max((f64::from(y) - exact).abs() / unit);
            }
        }
        assert!(worst < ULPS, "{worst}");
        assert!(worst > 0.5, "nothing was measured: {worst}");
    }

    #[test]
    fn the_ends_are_what_they_should_be() {
        let inf = f32::NEG_INFINITY;
        let y = exp([0.0, -0.0, -87.1, -1e30, inf, f32::NAN, -87.0, -1e-30]);
        assert_eq!(y[..5], [1.0, 1.0, 0.0, 0.0, 0.0]);
        assert!(y[5].is_nan() && y[6] > 0.0);
        assert_abs_diff_eq!(y[7], 1.0, epsilon = f32::EPSILON);
    }
}
