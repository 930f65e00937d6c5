//! Root-mean-square normalisation of rows.
//!
//! # Formula
//!
//! `out[r, i] = x[r, i] · weight[i] / √(mean_j x[r, j]² + eps)`
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[rows, n]` | or in place |
//! | `weight` | float | `[n]` | |
//! | `out` | float | `[rows, n]` | |
//! | `eps` | f32 | | finite, not negative; added to the mean, inside the root |
//!
//! # Errors
//!
//! `eps` NaN, infinite or negative; `weight` not as long as a row; `out` not shaped as `x`.
//!
//! # Bound
//!
//! Let `s = mean x² + eps` exactly and `ŝ` as computed. The squares are products, their sum has depth
//! `d(n)`, then come the division by `n` and the addition of `eps`, three roundings at most with the
//! storing of the sum. All terms are non-negative, so the error is relative:
//! `ŝ = s·(1 + θ)`, `|θ| ≤ γ(d(n) + 4)`.
//! The inverse root halves a relative error, `(1 + θ)^(−1/2) = 1 + θ'` with `|θ'| ≤ |θ|` for `|θ| ≤ 1/2`, and adds its
//! own error `f`. Two products follow, in any association: `γ(2)`. To first order in `u` with the
//! higher orders absorbed by the halving that is not claimed:
//!
//! `|error| ≤ |y|·(γ(d(n) + 4) + γ(2) + f) + store(y)`
//!
//! where `y` is the exact output, `f` the declared error of an elementary function, `store` the final rounding.
//! The bound is relative to `|y|`: there is no cancellation in this op.
//!
//! Underflow: squares that underflow change the mean by at most the smallest number η, relative to `s` by
//! `η / s`. A product that underflows before the last one loses at most η, which the last factor scales: `η·(|weight| +
//! 1/√s)` covers both associations. Squares that overflow f32 make the row's result 0 (`1/√∞`) although the exact one is
//! not: see below.
//!
//! *Bias.* Systematic ([`bias`](crate::bias)): the inverse root with its result `1/√s`; half of a rounded `1/n`, of what the sum
//! swallows and of underflow. Shared by the row: half of the roundings of the sum, `½·√(d(n) + 4)·u`, for `(1 + θ)^(−1/2)` is `1 − θ/2` to
//! first order. Its own: two products and the storing.
//!
//! # Edge cases
//!
//! * A row of zeros with `eps > 0` gives zeros; with `eps = 0` it gives NaN (`0·∞`), in that row only.
//! * A NaN anywhere in a row makes that row NaN and no other. An infinity makes its own element NaN and the
//!   other elements of the row 0.
//! * `|x| > 1.8e19` squares beyond f32. The result is then unspecified for a backend whose accumulator is f32; the
//!   bound is infinite there. Cases stay below, apart from those that check containment.
//! * Where the roundings and underflows of the mean exceed half of it (`eps = 0` and `|x|` below some 1e-19), the inverse root
//!   may be infinite. Unspecified; the bound is infinite.
//! * The mean is over the `n` columns, whatever the stride of the rows: padding takes no part.
//!
//! # References
//!
//! Zhang and Sennrich, *Root Mean Square Layer Normalization* (2019). ggml's `GGML_OP_RMS_NORM` followed by a
//! product with the weight is the same formula.

use super::{Checker, operands};
use crate::{Buffer, DType, Float, Judged, Numerics, OpError, Source, Spread, View, ViewMut};

/// `out = x · weight / √(mean x² + eps)`, row by row.
#[derive(Debug)]
pub struct RmsNorm<'a, B> {
    /// Rows to normalise, float `[rows, n]`.
    pub x: Source<'a, B>,
    /// Gain of each column, float `[n]`.
    pub weight: View<'a, B>,
    /// Normalised rows, float `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// Added to the mean square, inside the root.
    pub eps: f32,
}

operands! {
    RmsNorm: Bounded { x, weight, out } { eps }
    floats { x, weight, out }
    rows: Independent { x 0, out 0 }
    columns: Summed { x 1, weight 0, out 1 }
}

impl<B: Buffer> RmsNorm<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &DType::FLOATS, 2)?;
        checker.input("weight", &self.weight, &DType::FLOATS, 1)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        checker.dim("weight", &self.weight.layout, 0, x.layout.dim(1), "columns of x")?;
        checker.param("eps", self.eps.is_finite() && self.eps >= 0.0, "finite and not negative", self.eps)
    }
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
    /// Length of its row.
    pub n: usize,
    /// Mean square of its row plus epsilon.
    pub s: f64,
    /// Gain of its column.
    pub weight: f64,
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        if self.s * self.n as f64 >= numerics.accumulator.largest() {
            return f64::INFINITY;
        }
        let eta = numerics.underflow(1);
        // Zeros are exact: they make the row NaN, in every implementation.
        let lost = if self.s > 0.0 { eta / self.s } else { 0.0 };
        let mean = numerics.gamma(numerics.depth.of(self.n) + 4) + lost;
        if mean > 0.5 {
            return f64::INFINITY;
        }
        let relative = mean + numerics.gamma(2) + numerics.function();
        let underflow = eta * (self.weight.abs() + 1.0 / self.s.sqrt());
        self.y.abs() * relative + underflow + numerics.store(out, self.y)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let y = self.y.abs();
        let additions = numerics.depth.of(self.n) + 4;
        let inverse = 1.0 / self.s.sqrt();
        let lost = if self.s > 0.0 { numerics.underflow(1) / self.s } else { 0.0 };
        let mean = (numerics.gamma(1) + numerics.drift(additions) + lost) / 2.0;
        let underflow = numerics.underflow(1) * (self.weight.abs() + inverse);
        Spread {
            systematic: y * (numerics.function_at(inverse) + mean) + underflow,
            shared: y * numerics.walk(additions) / 2.0,
            own: y * numerics.walk(2) + numerics.store(out, self.y),
        }
    }
}
