//! How a backend declares that it computes, and the rounding-error terms that follow.
//!
//! Notation of the op pages: `u` is the unit roundoff of a format (half the distance from 1 to the next
//! number), and `γ(n) = n·u / (1 − n·u)` bounds the relative error that `n` successive roundings leave:
//! `Π(1 + δᵢ) = 1 + θ` with `|δᵢ| ≤ u` implies `|θ| ≤ γ(n)` (Higham, *Accuracy and Stability of Numerical
//! Algorithms*, 2nd ed., lemma 3.1). A sum of `n` products in which no term passes through more than `d` additions
//! therefore differs from the exact one by at most `γ(d + 1)·Σ|aᵢ·bᵢ|`, in *any* order of summation with
//! that depth.

use serde::{Deserialize, Serialize};

/// A floating-point format in which something is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the variants are the names of the formats")]
pub enum Float {
    F64,
    F32,
    F16,
    BF16,
}

impl Float {
    /// Largest relative error of one rounding to nearest.
    pub const fn unit_roundoff(self) -> f64 {
        match self {
            Float::F64 => f64::EPSILON / 2.0,
            Float::F32 => 1.0 / 16_777_216.0,
            Float::F16 => 1.0 / 2048.0,
            Float::BF16 => 1.0 / 256.0,
        }
    }

    /// Whether this format has fewer significant bits than `other`.
    pub const fn is_shorter_than(self, other: Float) -> bool {
        self.unit_roundoff() > other.unit_roundoff()
    }

    /// Smallest positive number, which is also twice the largest error of a rounding that underflows.
    pub const fn smallest(self) -> f64 {
        match self {
            Float::F64 => f64::from_bits(1),
            Float::F32 => 1.401_298_464_324_817e-45,
            Float::F16 => 5.960_464_477_539_063e-8,
            Float::BF16 => 9.183_549_615_799_121e-41,
        }
    }

    /// Distance of neighbouring numbers around `x`.
    pub fn ulp(self, x: f64) -> f64 {
        let smallest = self.smallest();
        if !x.is_finite() || x == 0.0 {
            return smallest;
        }
        // 2^exponent ≤ |x| < 2^(exponent+1), read off the bits so that it is exact.
        let power = f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000);
        (power * 2.0 * self.unit_roundoff()).max(smallest)
    }

    /// Largest finite number.
    pub const fn largest(self) -> f64 {
        match self {
            Float::F64 => f64::MAX,
            Float::F32 => 3.402_823_466_385_288_6e38,
            Float::F16 => 65504.0,
            Float::BF16 => 3.389_531_389_251_535_5e38,
        }
    }
}

/// Longest chain of additions that a term of a sum passes through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Depth {
    /// Any order: up to one addition per term.
    Any,
    /// `lanes` interleaved partial sums, then a tree over the lanes.
    Lanes(usize),
}

impl Depth {
    /// Additions that a term of a sum of `n` can pass through. The zero of a lane without terms adds nothing and rounds nothing: there are
    /// never more than `n`.
    pub fn of(self, n: usize) -> usize {
        match self {
            Depth::Any => n,
            Depth::Lanes(lanes) => {
                let lanes = lanes.max(1);
                n.min(n.div_ceil(lanes) + lanes.next_power_of_two().trailing_zeros() as usize)
            }
        }
    }
}

/// What happens to the activations before a matrix product.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Activations {
    /// They enter as they are.
    Exact,
    /// Each is rounded to nearest in a shorter format, subnormals kept: the operands of a matrix core.
    Rounded(Float),
    /// Each block of `block` values of a row, counted from its first, is rounded to integers in −127..=127 times a scale of
    /// `max|x| / 127`. The scale and the quotients are computed in f32.
    Int8 {
        /// Values that share a scale.
        block: usize,
        /// Format in which the scale is kept.
        scale: Float,
    },
}

/// What happens to the weights before a matrix product.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Weights {
    /// Each is decoded to the f32 that its format's page states. The same holds for sums of integers in which a block's offset
    /// takes part, exactly, before the scale is multiplied by.
    Decoded,
    /// Each is decoded and then rounded to nearest in a shorter format, subnormals kept: the operands of a matrix core.
    Rounded(Float),
    /// They are not decoded one by one: codes, scales and offsets of a block are multiplied and summed apart, as in
    /// `d·Σcode·x + m·Σx`. Needs an accumulator of f32 or wider, in which every product of a scale with codes is exact.
    Factored,
}

/// Whether a bound covers the worst case or estimates the usual one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Growth {
    /// `n` roundings add up: `γ(n)`. Never exceeded by a correct implementation.
    Worst,
    /// `n` independent roundings behave like a random walk: `√n·u`. For the error of a whole tensor.
    Typical,
}

/// How a backend computes an op.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Numerics {
    /// Format of sums and of intermediate results.
    pub accumulator: Float,
    /// Depth of sums.
    pub depth: Depth,
    /// Treatment of the activations of a matrix product.
    pub activations: Activations,
    /// Treatment of the weights of a matrix product.
    pub weights: Weights,
    /// Format in which the angle of RoPE is formed before its sine and cosine are taken.
    pub angle: Float,
    /// Largest error of an elementary function (`exp`, `tanh`, `erf`, `sin`, `cos`, `1/√x`, division), in units of
    /// the accumulator's last place of its result.
    pub function_ulps: f64,
    /// Worst case or estimate.
    pub growth: Growth,
}

impl Numerics {
    /// Arithmetic in f64: the reference.
    pub const F64: Numerics = Numerics {
        accumulator: Float::F64,
        depth: Depth::Any,
        activations: Activations::Exact,
        weights: Weights::Decoded,
        angle: Float::F64,
        function_ulps: 1.0,
        growth: Growth::Worst,
    };

    /// Arithmetic in f32 in any order, elementary functions within 2 ulp, RoPE's angles formed in f64.
    pub const F32: Numerics = Numerics { accumulator: Float::F32, function_ulps: 2.0, ..Numerics::F64 };

    /// The same arithmetic, with roundings that behave as independent.
    #[must_use]
    pub const fn typical(mut self) -> Self {
        self.growth = Growth::Typical;
        self
    }

    /// Unit roundoff of the accumulator.
    pub const fn unit(&self) -> f64 {
        self.accumulator.unit_roundoff()
    }

    /// Relative error that `n` roundings leave.
    pub fn gamma(&self, n: usize) -> f64 {
        let (n, u) = (n as f64, self.unit());
        match self.growth {
            Growth::Worst if n * u < 1.0 => n * u / (1.0 - n * u),
            Growth::Worst => f64::INFINITY,
            Growth::Typical => n.sqrt() * u,
        }
    }

    /// Relative error of a sum of `n` products, against the sum of their magnitudes.
    pub fn gamma_dot(&self, n: usize) -> f64 {
        self.gamma(self.depth.of(n) + 1)
    }

    /// Relative error of an elementary function: `function_ulps` units in the last place, each at most `2u`.
    pub fn function(&self) -> f64 {
        2.0 * self.function_ulps * self.unit()
    }

    /// The same where the exact result is known to be `y`: a unit in its last place is between `u` and `2u` of it.
    pub fn function_at(&self, y: f64) -> f64 {
        let of_result = self.function_ulps * self.accumulator.ulp(y) / y.abs();
        if of_result.is_finite() { of_result.min(self.function()) } else { self.function() }
    }

    /// `η₀`: smallest number of the accumulator with full precision.
    pub fn smallest_normal(&self) -> f64 {
        self.accumulator.smallest() / (2.0 * self.unit())
    }

    /// Scale of the relative error that `n` independent roundings leave: see [`bias`](crate::bias).
    pub fn walk(&self, n: usize) -> f64 {
        (n as f64).sqrt() * self.unit()
    }

    /// What the roundings of a sum of depth `n` may have in common, against the sum of the magnitudes of its terms: see
    /// [`bias`](crate::bias).
    pub fn drift(&self, n: usize) -> f64 {
        let first_order = Numerics { growth: Growth::Worst, ..*self }.gamma(n);
        match (self.accumulator, self.depth) {
            // One after the other, additions of nearly equal terms round alike.
            (_, Depth::Any) | (Float::F16 | Float::BF16, _) => first_order,
            (Float::F64 | Float::F32, _) => first_order * first_order,
        }
    }

    /// Absolute error that `n` roundings which underflow can leave.
    pub fn underflow(&self, n: usize) -> f64 {
        n as f64 * self.accumulator.smallest()
    }

    /// Error of the final rounding of `y` to `out`. On its way to a shorter format `y` may be rounded to f32 first: the second rounding
    /// then is of a `y` that the first has moved.
    pub fn store(&self, out: Float, y: f64) -> f64 {
        let rounding = |float: Float, y: f64| y * float.unit_roundoff() + float.smallest();
        let first = if out.is_shorter_than(Float::F32) { rounding(Float::F32, y.abs()) } else { 0.0 };
        first + rounding(out, y.abs() + first)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::float_cmp, reason = "the constants are exact")]

    use super::*;

    #[test]
    fn gamma_exceeds_the_product_of_its_roundings() {
        let u = Float::F32.unit_roundoff();
        for n in [1usize, 2, 17, 1000, 100_000] {
            let product = (1.0 + u).powi(i32::try_from(n).unwrap()) - 1.0;
            assert!(Numerics::F32.gamma(n) >= product, "n = {n}");
            assert!(Numerics::F32.typical().gamma(n) <= Numerics::F32.gamma(n));
        }
        assert!(Numerics::F32.gamma(1 << 24).is_infinite());
    }

    #[test]
    fn lanes_shorten_the_chain() {
        assert_eq!(Depth::Any.of(1000), 1000);
        assert_eq!(Depth::Lanes(64).of(1000), 16 + 6);
        assert_eq!(Depth::Lanes(1).of(7), 7);
        assert_eq!(Depth::Lanes(64).of(3), 3);
    }

    #[test]
    fn constants_are_those_of_the_formats() {
        assert_eq!(Float::F32.unit_roundoff(), f64::from(f32::EPSILON) / 2.0);
        assert_eq!(Float::F32.smallest(), f64::from(f32::from_bits(1)));
        assert_eq!(Float::F16.smallest(), f64::from(half::f16::from_bits(1)));
        assert_eq!(Float::BF16.smallest(), f64::from(half::bf16::from_bits(1)));
        assert_eq!(Float::F32.largest(), f64::from(f32::MAX));
        assert_eq!(Float::F16.largest(), f64::from(half::f16::MAX));
        assert_eq!(Float::BF16.largest(), f64::from(half::bf16::MAX));
    }
}
