//! Softmax of rows.
//!
//! # Formula
//!
//! `out[r, i] = exp(t[r, i] − m[r]) / Σ_j exp(t[r, j] − m[r])` with `t = scale·x` and `m[r] = max_j t[r, j]`.
//!
//! The subtraction changes nothing in exact arithmetic. It keeps `exp` from overflowing, and is part of the
//! op.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[rows, n]` | or in place |
//! | `out` | float | `[rows, n]` | |
//! | `scale` | f32 | | finite; zero and negative are permitted |
//!
//! # Errors
//!
//! `scale` NaN or infinite; `out` not shaped as `x`.
//!
//! # Bound
//!
//! Two facts are used throughout, here and in [`attention`](super::attention). If `|xᵢ| ≤ eᵢ` and
//! `Λ = Σ eᵢ < 1`, then a product of factors `(1 + xᵢ)` and `1/(1 + xᵢ)` is `1 + η` with `|η| ≤ Λ/(1 − Λ)`;
//! and so is one that also contains factors `exp(xᵢ)`, for `exp(e) ≤ 1/(1 − e)`. So errors are added up to
//! first order and the remainder is a division by `1 − Λ`.
//!
//! **The argument.** Let `aⱼ = tⱼ − m`. It is formed from `tⱼ`, which costs the product with `scale` and,
//! where `exp` is computed as a power of two, one with `log₂e`: `2u·|tⱼ|`. The constant's own error and the
//! subtraction are relative to the difference: `2u·|aⱼ|`. Subtracting before scaling, or fusing the two,
//! costs less. The error of `m` is the same for all terms and cancels in the quotient. Together
//! `2u·(|tⱼ| + |aⱼ|)` and higher orders: at most `εⱼ = γ(3)·(|tⱼ| + |aⱼ|)`.
//!
//! **The sum.** `S = Σ exp(aⱼ)`, at least 1. `exp(0)` is 1 in any implementation, so that neither the largest term nor a rescaling
//! by it has an error. Each other term has the relative error `εⱼ + f`. An online sum, which
//! learns the maximum on the way, multiplies what it has by `exp(m_old − m_new)` at each addition: one
//! addition, one product and one `exp` per step, `d(n)` steps: `γ(d(n))·(2 + f/u)`. The arguments of the
//! successive rescalings have one sign and add up to `aⱼ`, so `εⱼ` covers their subtractions. With the
//! weights `yⱼ` the relative error of the sum is at most
//!
//! `σ = ε̄/(1 − ε_max) + f + γ(d(n))·(2 + f/u)`, `ε̄ = Σ yⱼ·εⱼ`.
//!
//! **The quotient.** The numerator is `exp`, perhaps relative to a block's maximum and then rescaled once,
//! times the reciprocal of the sum: three functions and three products, `ν = εᵢ + 3f + γ(3)`. Therefore
//!
//! `|error| ≤ (y·(ν + σ) + lost)/(1 − ν − σ) + store(y)`
//!
//! and infinite where `ν + σ` or `ε_max` reaches 1, which takes logits in the millions.
//!
//! **Underflow.** An `exp` whose result is subnormal may give 0: vector units flush there, so `function_ulps`
//! is not asked to hold. With `η₀` the smallest normal number this loses `η₀` of the numerator, and of each
//! term of the sum: `lost = 2η₀·(1 + y·n·d(n))`, in which the factor 2 holds what the roundings of subnormal
//! products add.
//!
//! **Far logits.** A logit with `aⱼ < −200` and `|tⱼ| ≤ 3·|aⱼ|`, as masks with `−10⁹` make them, has
//! `εⱼ ≤ |aⱼ|/4` in every format, so its weight as computed is below `e^−150`. Its own bound is that number,
//! and it is left out of `ε̄` and `ε_max`; its addition to a sum of at least 1 changes nothing.
//!
//! **Bias.** Systematic ([`bias`](crate::bias)): the division, with its result `y` or `1/S`; of an element that is not the row's largest
//! two functions, and the constants in its argument, `γ(2)·|aᵢ|`; and of the sum the same for each of its other terms. Such a term
//! is rescaled by something else than 1 at most once per larger logit, in any order of summation, which makes
//! `Σ yⱼ·(1 + rankⱼ + |aⱼ|)·max(f, γ(2))`. Shared by the row: the roundings of the arguments in the sum and of its additions and
//! products. Its own: those of its argument, three products, how far the error of its `exp` is from the mean one, and the storing.
//!
//! # Edge cases
//!
//! * A logit of −∞ gives exactly 0. A row of nothing but −∞ gives NaN.
//! * A logit of +∞ makes its row NaN; so does a NaN. Other rows are not concerned.
//! * `scale = 0` gives `1/n` everywhere, and NaN in a row with an infinity (`0·∞`). A negative `scale`
//!   exchanges the parts of +∞ and −∞.
//! * `n = 1` gives 1.
//! * `|scale·x|` or `|x − max x|` beyond the accumulator's range is unspecified; the bound is infinite there
//!   unless the logit is far.
//! * Law: adding one number to all logits of a row changes nothing, up to the error of the addition.
//!
//! # References
//!
//! Milakov and Gimelshein, *Online normalizer calculation for softmax* (2018), for the online sum. ggml's
//! `GGML_OP_SOFT_MAX` without mask and slope is the same formula.

use super::{Checker, operands};
use crate::{Buffer, DType, Float, Judged, Numerics, OpError, Source, Spread, ViewMut};

/// Distance below the maximum from which on a weight is nothing, provided that the logit's own error is a small part of it.
pub const FAR: f64 = 200.0;

/// What the weight of a far logit does not exceed in any arithmetic: `e^−150`, rounded up.
pub const FAR_WEIGHT: f64 = 7.2e-66;

/// `out[r, i] = exp(scale·x[r, i] − max) / Σ_j exp(scale·x[r, j] − max)`.
#[derive(Debug)]
pub struct Softmax<'a, B> {
    /// Logits, float `[rows, n]`.
    pub x: Source<'a, B>,
    /// Probabilities, float `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// Factor on the logits.
    pub scale: f32,
}

operands! {
    Softmax: Bounded { x, out } { scale }
    floats { x, out }
    rows: Independent { x 0, out 0 }
    columns: Summed { x 1, out 1 }
}

impl<B: Buffer> Softmax<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &DType::FLOATS, 2)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        checker.param("scale", self.scale.is_finite(), "finite", self.scale)
    }
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
    /// Length of its row.
    pub n: usize,
    /// `|t| + |t − m|`, with which the error of `exp`'s argument scales; `None` for a far logit.
    pub argument: Option<f64>,
    /// Mean of the arguments of the row, weighted by the result, without the far ones.
    pub mean_argument: f64,
    /// Largest argument of the row, without the far ones.
    pub max_argument: f64,
    /// Largest result of the row, the reciprocal of the sum.
    pub largest: f64,
    /// Mean over the row, weighted by the result, of 1, the number of larger logits and the distance from the largest; of a largest
    /// one, 0.
    pub unsteady: f64,
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        let Some(argument) = self.argument else { return FAR_WEIGHT };
        let (function, depth) = (numerics.function(), numerics.depth.of(self.n));
        let per_argument = numerics.gamma(3);
        let remainder = 1.0 - per_argument * self.max_argument;
        if remainder <= 0.0 {
            return f64::INFINITY;
        }
        let sum = per_argument * self.mean_argument / remainder + function + online_sum(numerics, self.n);
        let numerator = per_argument * argument + 3.0 * function + numerics.gamma(3);
        let relative = numerator + sum;
        if relative >= 1.0 {
            return f64::INFINITY;
        }
        let lost = 2.0 * numerics.smallest_normal() * (1.0 + self.y * self.n as f64 * depth as f64);
        (self.y * relative + lost) / (1.0 - relative) + numerics.store(out, self.y)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let Some(argument) = self.argument else { return Spread::default() };
        let (y, function) = (self.y, numerics.function());
        let depth = numerics.depth.of(self.n);
        let quotient = numerics.function_at(self.largest).max(numerics.function_at(y));
        // The largest logit has the argument 0, for which `exp` is exact.
        let distance = (self.largest / y).ln();
        let (exponential, deviation) = if distance > 0.0 {
            (2.0 * function + numerics.gamma(2) * distance, function)
        } else {
            (0.0, 0.0)
        };
        let sum = function.max(numerics.gamma(2)) * self.unsteady + numerics.drift(depth);
        let lost = 2.0 * numerics.smallest_normal() * (1.0 + y * self.n as f64 * depth as f64);
        Spread {
            systematic: y * (quotient + exponential + sum) + lost,
            shared: y * (numerics.walk(3) * self.mean_argument + numerics.walk(2 * depth)),
            own: y * (numerics.walk(3) * argument + deviation + numerics.walk(3)) + numerics.store(out, y),
        }
    }
}

/// `γ(d(n))·(2 + f/u)`: relative error of a sum of `n` terms that is rescaled by an `exp` before each addition.
pub(super) fn online_sum(numerics: &Numerics, n: usize) -> f64 {
    numerics.gamma(numerics.depth.of(n)) * (2.0 + numerics.function() / numerics.unit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_weight_exceeds_what_a_far_logit_can_have() {
        for format in [Float::F64, Float::F32, Float::F16, Float::BF16] {
            let numerics = Numerics { accumulator: format, ..Numerics::F32 };
            let argument_error = numerics.gamma(3) * (3.0 * FAR + FAR);
            assert!((argument_error - FAR).exp() <= FAR_WEIGHT, "{format:?}");
        }
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "both are the same power of two")]
    fn smallest_normal_is_that_of_the_formats() {
        assert_eq!(Numerics::F32.smallest_normal(), f64::from(f32::MIN_POSITIVE));
        assert_eq!(Numerics::F64.smallest_normal(), f64::MIN_POSITIVE);
    }

    #[test]
    fn logits_in_the_millions_have_no_bound_in_f32_but_in_f64() {
        let element = Element {
            y: 0.5,
            n: 2,
            argument: Some(1e7),
            mean_argument: 1e7,
            max_argument: 1e7,
            largest: 0.5,
            unsteady: 0.0,
        };
        assert!(element.bound(&Numerics::F32, Float::F32).is_infinite());
        assert!(element.bound(&Numerics::F64, Float::F32) < 1e-6);
    }
}
