//! Layer normalisation of rows: mean 0, variance 1, then a gain and an optional bias.
//!
//! # Formula
//!
//! `out[r, i] = (x[r, i] − μ) · weight[i] / √(v + eps) + bias[i]` with `μ = mean_j x[r, j]` and `v = mean_j (x[r, j] − μ)²`
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[rows, n]` | or in place |
//! | `weight` | float | `[n]` | |
//! | `bias` | float | `[n]` | or none |
//! | `out` | float | `[rows, n]` | |
//! | `eps` | f32 | | finite, positive; added to the variance, inside the root |
//!
//! # Errors
//!
//! `eps` NaN, infinite, zero or negative; `weight` or `bias` not as long as a row; `out` not shaped as `x`.
//!
//! # Bound
//!
//! The bound is that of the formula as it stands: first the mean, then the squares of the differences. A variance taken as `mean x² −
//! μ²` cancels where the mean is large against the deviation, and does not conform there.
//!
//! Let `c = x − μ`, `s = v + eps`, `t = c·weight/√s`, so that `y = t + bias`; hats mark what is computed.
//!
//! 1. *Mean.* A sum of depth `d(n)`, a rounding of the sum and a division: `|μ̂ − μ| ≤ δ = γ(d(n) + 2)·mean|x|`.
//! 2. *Differences.* `ĉ = (c − (μ̂ − μ))·(1 + θ₁)`, `|θ₁| ≤ u`.
//! 3. *Variance.* `Σ c = 0`, so a shift of the mean changes the mean square by its own square alone: `mean (c − (μ̂ − μ))² ≤ v + δ²`. The
//!    squares carry `(1 + θ₁)²` and a rounding each, their sum has depth `d(n)`, then come the division by `n`, the addition of
//!    `eps` and the storing of the sum. All terms are non-negative: `|ŝ − s| ≤ γ(d(n) + 7)·s + (1 + γ(d(n) + 7))·δ²`, relative to `s`
//!    at most `ρ = γ(d(n) + 7) + 2δ²/s`.
//! 4. *Inverse root.* It halves a relative error, `|(1 + θ)^(−1/2) − 1| ≤ |θ|` for `|θ| ≤ 1/2`, and adds its own error `f`.
//! 5. *Products.* Two, in any association: `γ(2)`. With the rounding of the difference: `γ(3)`. The shift of the mean moves the difference
//!    itself by `δ`, which is scaled by `g = |weight|/√s`.
//! 6. *Bias.* The addition rounds once, relative to the sum: `γ(1)·|y|`, and the error of `t̂` before it.
//!
//! With `p = ρ + f + γ(3)`:
//!
//! `|error| ≤ |t|·p + g·δ·(1 + p) + γ(1)·|y| + store(y)`, the third term only where there is a bias.
//!
//! Underflow: squares that underflow change the variance by at most the smallest number η, relative to `s` by `η/s`. A difference or a
//! product that underflows loses at most η, which the factors behind it scale: `η·(|weight| + 1/√s + g)`.
//!
//! *Bias.* Systematic ([`bias`](crate::bias)): the inverse root with its result `1/√s`; all of `g·δ` and
//! half of `ρ`, for the terms of a row with a large mean, and their squares beside one that is far larger, are nearly equal and rounded
//! alike; underflow. Its own: the difference and two products, the bias, the storing.
//!
//! # Edge cases
//!
//! * A constant row gives the bias, up to `g·δ`; `eps > 0` keeps it finite.
//! * A NaN or an infinity anywhere in a row makes that row NaN and no other.
//! * Where `Σ|x|` or `Σ c²` exceeds the largest number of the accumulator the result is unspecified; the bound is infinite.
//! * Where the roundings of the mean exceed half the variance (`ρ > 1/2`: a mean some 10⁶ times the deviation, and a tiny `eps`) the
//!   inverse root is not determined. Unspecified; the bound is infinite.
//! * The means are over the `n` columns, whatever the stride of the rows: padding takes no part.
//!
//! # References
//!
//! Ba, Kiros and Hinton, *Layer Normalization* (2016). ggml's `GGML_OP_NORM` followed by a product and a sum is the same formula.

use super::{Checker, operands};
use crate::{Buffer, DType, Float, Judged, Numerics, OpError, Source, Spread, View, ViewMut};

/// `out = (x − mean x) · weight / √(var x + eps) + bias`, row by row.
#[derive(Debug)]
pub struct LayerNorm<'a, B> {
    /// Rows to normalise, float `[rows, n]`.
    pub x: Source<'a, B>,
    /// Gain of each column, float `[n]`.
    pub weight: View<'a, B>,
    /// Added to each column, float `[n]`.
    pub bias: Option<View<'a, B>>,
    /// Normalised rows, float `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// Added to the variance, inside the root.
    pub eps: f32,
}

operands! {
    LayerNorm: Bounded { x, weight, bias, out } { eps }
    floats { x, weight, bias, out }
    rows: Independent { x 0, out 0 }
    columns: Summed { x 1, weight 0, bias 0, out 1 }
}

impl<B: Buffer> LayerNorm<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &DType::FLOATS, 2)?;
        checker.input("weight", &self.weight, &DType::FLOATS, 1)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        checker.dim("weight", &self.weight.layout, 0, x.layout.dim(1), "columns of x")?;
        if let Some(bias) = &self.bias {
            checker.input("bias", bias, &DType::FLOATS, 1)?;
            checker.dim("bias", &bias.layout, 0, x.layout.dim(1), "columns of x")?;
        }
        checker.param("eps", self.eps.is_finite() && self.eps > 0.0, "finite and positive", self.eps)
    }
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
    /// Its value before the bias: `t`.
    pub scaled: f64,
    /// Whether a bias is added.
    pub biased: bool,
    /// Length of its row.
    pub n: usize,
    /// Mean of the magnitudes of its row.
    pub mean_magnitude: f64,
    /// Variance of its row plus epsilon: `s`.
    pub s: f64,
    /// Gain of its column.
    pub weight: f64,
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        let n = self.n as f64;
        let largest = numerics.accumulator.largest();
        if self.s * n >= largest || self.mean_magnitude * n >= largest {
            return f64::INFINITY;
        }
        let depth = numerics.depth.of(self.n);
        let eta = numerics.underflow(1);
        let shift = numerics.gamma(depth + 2) * self.mean_magnitude + eta;
        let variance = numerics.gamma(depth + 7) + (2.0 * shift * shift + eta) / self.s;
        if variance > 0.5 {
            return f64::INFINITY;
        }
        let relative = variance + numerics.function() + numerics.gamma(3);
        let inverse = 1.0 / self.s.sqrt();
        let gain = self.weight.abs() * inverse;
        let bias = if self.biased { numerics.gamma(1) * self.y.abs() } else { 0.0 };
        let underflow = eta * (self.weight.abs() + inverse + gain);
        self.scaled.abs() * relative
            + gain * shift * (1.0 + relative)
            + bias
            + underflow
            + numerics.store(out, self.y)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let (scaled, additions) = (self.scaled.abs(), numerics.depth.of(self.n));
        let eta = numerics.underflow(1);
        let inverse = 1.0 / self.s.sqrt();
        let gain = self.weight.abs() * inverse;
        let shift = numerics.gamma(additions + 2) * self.mean_magnitude + eta;
        let variance = numerics.gamma(additions + 7) + (2.0 * shift * shift + eta) / self.s;
        let bias = if self.biased { numerics.walk(1) * self.y.abs() } else { 0.0 };
        Spread {
            systematic: scaled * (numerics.function_at(inverse) + variance / 2.0)
                + gain * shift
                + eta * (self.weight.abs() + inverse + gain),
            shared: 0.0,
            own: scaled * numerics.walk(3) + bias + numerics.store(out, self.y),
        }
    }
}
