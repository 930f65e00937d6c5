//! Rotary position embedding.
//!
//! # Formula
//!
//! The first `n_rot` elements of each head form `n_rot/2` pairs `(x₀, x₁)`; pair `i` of a row at position `p`
//! turns by `θ`:
//!
//! * `y₀ = m·(x₀·cos θ − x₁·sin θ)`
//! * `y₁ = m·(x₀·sin θ + x₁·cos θ)`
//!
//! The other elements are copied. [`Pairing`] says which elements form pair `i`. The angle is
//! `θ = θ₀·stretch` with `θ₀ = p·base^(−2i/n_rot) / factors[i]` (without `factors`: 1), and
//!
//! | scaling | stretch | `m` |
//! |---|---|---|
//! | none | 1 | 1 |
//! | linear | `1/factor` | 1 |
//! | YaRN | `(1 − μ)/factor + μ`, `μ = extrapolation·ramp(i)` | `attention·(1 + 0.1·ln factor)`; `attention` alone where `extrapolation` is 0 |
//!
//! YaRN's ramp goes from 1 (the frequency is kept) down to 0 (it is divided):
//! `ramp(i) = 1 − clamp((i − low)/max(0.001, high − low), 0, 1)`, with `[low, high]` = [`correction_range`]:
//! the pairs that turn `beta_fast` and `beta_slow` times over the original context, rounded outwards.
//! Parameters are the f32 values that they are; everything else is exact, in particular the rounding
//! outwards, which backends take from [`correction_range`] so that an f32 logarithm cannot move it.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[rows, heads, head_dim]` | or in place |
//! | `positions` | u32 | `[rows]` | each below `max_positions` |
//! | `factors` | f32 | `[n_rot/2]` | optional; Llama 3's `rope_freqs` |
//! | `out` | float | `[rows, heads, head_dim]` | |
//! | `pairing` | | | |
//! | `n_rot` | count | | even, from 2 to `head_dim` |
//! | `base` | f32 | | finite, positive; above 1 with YaRN |
//! | `scaling` | | | its numbers finite and positive, `extrapolation` from 0 to 1 |
//! | `max_positions` | count | | from 1 to 2^20 |
//!
//! # Errors
//!
//! `n_rot` odd, 0 or beyond `head_dim`; a position not below `max_positions`; `factors` not of `n_rot/2`
//! elements; parameters outside the ranges above; `out` not shaped as `x`.
//!
//! # Bound
//!
//! **The angle** is formed in the declared format `angle`, with unit roundoff `u_θ` and functions good to
//! `f_θ`. Implementations form it in one of two ways:
//!
//! * *power*: `base^(−2i/n_rot)` or its reciprocal, times `p`. The exponent, a logarithm of `base` and their
//!   product have relative errors of `3u_θ + f_θ`, which the power multiplies by `L = |2i/n_rot·ln base|`;
//!   the power and a reciprocal add `f_θ` each, two products `u_θ` each. Relative:
//!   `L·(3u_θ + f_θ) + 2·(u_θ + f_θ)`.
//! * *iterated product*: `θᵢ₊₁ = θᵢ·base^(−2/n_rot)`. The constant has the error `L/i·(3u_θ + f_θ) + f_θ` and
//!   enters `i` times, with a product each: `L·(3u_θ + f_θ) + i·(u_θ + f_θ)`. It grows with `i`.
//!
//! `L·(3u_θ + f_θ) + k·(u_θ + f_θ)` with `k = i + 1` covers both. Pair 0 has `L = 0`, `k = 0`: its frequency
//! is 1 in either way, and positions are exact in f32 and f64, the formats meant here. A frequency factor (a
//! quotient or a product with a reciprocal) adds 1 to `k`, linear scaling 1, YaRN 6 for its ten roundings,
//! two of them functions. On the slope of the ramp `1 − μ` and `μ` have absolute errors, so that the error
//! there scales with `θ₀·|1 − 1/factor|` beside `θ`. Call the magnitude `T`: it is `θ`, and on the slope
//! `θ + θ₀·|1 − 1/factor|`. With `φ` the relative error above, its remainder as in
//! [`softmax`](super::softmax):
//!
//! `Δ = T·φ/(1 − φ) + underflow + T·(8 + L)·2^−53`
//!
//! where `underflow` is the smallest number of the format, per step, carried to the angle by the position,
//! the reciprocal of the frequency factor and the stretch, and the last term is the oracle's own error, in
//! f64; a million radians make it count.
//!
//! **The rotation.** Turning by `θ + δ` instead of `θ` turns the exact result by `δ`: `y₀` becomes
//! `y₀·cos δ − y₁·sin δ`. So an error of the angle costs `|y₁|·min(Δ, 1) + |y₀|·min(Δ²/2, 2)`, without any
//! assumption about its size: `y₁` is the *partner* of `y₀`, and the reverse.
//!
//! **The products.** Let `P = m·(|x₀·cos θ| + |x₁·sin θ|)` and `R = m·(|x₀| + |x₁|)`. Sine and cosine of the
//! angle as formed have the relative error `f`, each product and the sum one rounding:
//! `(f + γ(3))·(P + min(Δ, 1)·R)`. YaRN's magnitude adds its logarithm, the constant 0.1, two products, a
//! sum, and the product with it: `f + γ(5)`, times `κ = (1 + 0.1·|ln factor|)/|1 + 0.1·ln factor|`, which is
//! 1 unless `factor < 1`.
//!
//! `|error| ≤ |partner|·min(Δ, 1) + |y|·min(Δ²/2, 2) + (f + γ(3) + κ·(f + γ(5)))·(P + min(Δ, 1)·R) + η·(3 + 3R) + store(y)`
//!
//! With `angle = F64` the first two terms are below a rounding of the result up to the largest positions.
//! With `angle = F32` the bound grows with the position, as the error does: at 2^20 it says nothing about any
//! but the slow pairs.
//!
//! *Bias.* Systematic ([`bias`](crate::bias)): the angle, sine and cosine, the magnitude, underflow. Its own: the products and the sum,
//! `√3·u·(P + min(Δ, 1)·R)`, and the storing.
//!
//! Copied elements have bound 0, and `store(y)` where `out` is shorter than f32.
//!
//! # Edge cases
//!
//! * Position 0 returns finite pairs unchanged, up to the factor `m`.
//! * Elements beyond `n_rot` are copied without the factor `m`, bit for bit (any NaN for any NaN) where `out` has the type of `x`.
//! * A NaN stays in its pair. An infinity makes its pair infinite or NaN: at an angle of 0 its partner is NaN
//!   (`∞·0`).
//! * A factor of ±∞ stops its pair (`θ = 0`); a factor of 0 or NaN makes its pair NaN. A negative factor
//!   turns backwards.
//! * `factor < 1` is permitted and stretches the other way. `beta_fast ≤ beta_slow` is permitted; the ramp is
//!   then a step or nearly so.
//! * `base = 1` turns all pairs alike. `base < 1` is permitted; angles beyond the range of the format in
//!   which they are formed are unspecified, and the bound is infinite there.
//! * Laws, for `m = 1`: turning by position `a`, then by `b`, is turning by `a + b` (without rounding of the
//!   sum: below `max_positions`); the length of each pair is preserved; the product of a query at `a` and a
//!   key at `b` depends on `a − b` alone. Each holds within the bounds of the results involved.
//!
//! # References
//!
//! Su et al., *Enhanced Transformer with Rotary Position Embedding* (2021); Peng et al., *YaRN* (2023); Chen
//! et al., *Extending Context Window of Large Language Models via Positional Interpolation* (2023), for the
//! linear scaling. ggml's `GGML_OP_ROPE` in its modes `NORMAL` and `NEOX` is the same formula with
//! `freq_scale = 1/factor`; it forms angles in f32 by the iterated product.

use serde::{Deserialize, Serialize};

use super::{Checker, operands};
use crate::{Buffer, Check, DType, Float, Indices, Judged, Numerics, OpError, Source, Spread, View, ViewMut};

/// Positions reach up to here: 2^20.
pub const MAX_POSITIONS: usize = 1 << 20;

/// Which two elements of a head rotate together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// `(2i, 2i + 1)`: the original paper's, and GGUF's for `llama`.
    Interleaved,
    /// `(i, i + n_rot/2)`: GPT-NeoX's, and GGUF's for `qwen2`.
    Neox,
}

/// How the angles are stretched for contexts longer than those of training.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scaling {
    /// Not at all.
    None,
    /// Every angle is divided by `factor`.
    Linear {
        /// At least 1 in practice; positive.
        factor: f32,
    },
    /// Low frequencies are divided by `factor`, high ones kept, with a ramp between.
    Yarn {
        /// Ratio of the wanted context to that of training.
        factor: f32,
        /// Context of training.
        original_context: u32,
        /// Rotations over the original context above which a frequency is kept.
        beta_fast: f32,
        /// Rotations over the original context below which a frequency is divided.
        beta_slow: f32,
        /// Weight of the ramp, 1 for plain YaRN.
        extrapolation: f32,
        /// Factor on the magnitude, besides YaRN's own `1 + 0.1·ln(factor)`.
        attention: f32,
    },
}

/// Rotates pairs of elements of each head by an angle proportional to the row's position.
#[derive(Debug)]
pub struct Rope<'a, B> {
    /// Heads to rotate, float `[rows, heads, head_dim]`.
    pub x: Source<'a, B>,
    /// Position of each row, `u32[rows]`, each below `max_positions`.
    pub positions: Indices<'a, B>,
    /// Divisor of each frequency, f32 `[n_rot / 2]`; Llama 3's `rope_freqs`.
    pub factors: Option<View<'a, B>>,
    /// Rotated heads, float `[rows, heads, head_dim]`.
    pub out: ViewMut<'a, B>,
    /// Which elements pair up.
    pub pairing: Pairing,
    /// Leading elements of a head that rotate; the rest is copied.
    pub n_rot: usize,
    /// Base of the geometric series of frequencies.
    pub base: f32,
    /// Stretching of the angles.
    pub scaling: Scaling,
    /// Positions that the caller's cache can hold.
    pub max_positions: usize,
}

operands! {
    Rope: Bounded { x, positions, factors, out } { pairing, n_rot, base, scaling, max_positions }
    floats { x, out }
    rows: Independent { x 0, positions 0, out 0 }
    heads: Independent { x 1, out 1 }
}

impl<B: Buffer> Rope<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 3)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &DType::FLOATS, 3)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        let head_dim = x.layout.dim(2);
        if self.n_rot == 0 || !self.n_rot.is_multiple_of(2) || self.n_rot > head_dim {
            let want = format!("even, from 2 to {head_dim} (head_dim)");
            return Err(checker.error("n_rot", Check::Parameter, want, self.n_rot));
        }
        let limit = MAX_POSITIONS;
        let in_range = (1..=limit).contains(&self.max_positions);
        checker.param("max_positions", in_range, &format!("from 1 to {limit}"), self.max_positions)?;
        checker.indices(
            "positions",
            &self.positions,
            x.layout.dim(0),
            self.max_positions,
            "max_positions",
        )?;
        if let Some(factors) = &self.factors {
            checker.input("factors", factors, &[DType::F32], 1)?;
            checker.dim("factors", &factors.layout, 0, self.n_rot / 2, "half of n_rot")?;
        }
        checker.param("base", self.base.is_finite() && self.base > 0.0, "finite and positive", self.base)?;
        self.check_scaling(checker)
    }

    fn check_scaling(&self, checker: &Checker) -> Result<(), OpError> {
        let positive = |name, value: f32| {
            checker.param(name, value.is_finite() && value > 0.0, "finite and positive", value)
        };
        match self.scaling {
            Scaling::None => Ok(()),
            Scaling::Linear { factor } => positive("scaling.factor", factor),
            Scaling::Yarn { factor, original_context, beta_fast, beta_slow, extrapolation, attention } => {
                checker.param("base", self.base > 1.0, "above 1 with YaRN", self.base)?;
                positive("scaling.factor", factor)?;
                let holds = original_context > 0;
                checker.param("scaling.original_context", holds, "at least 1", original_context)?;
                positive("scaling.beta_fast", beta_fast)?;
                positive("scaling.beta_slow", beta_slow)?;
                let holds = (0.0..=1.0).contains(&extrapolation);
                checker.param("scaling.extrapolation", holds, "from 0 to 1", extrapolation)?;
                positive("scaling.attention", attention)
            }
        }
    }
}

/// First and last pair of YaRN's ramp: those that turn `beta_fast` and `beta_slow` times over `original_context` positions, rounded
/// outwards and kept in `0..n_rot`.
///
/// Pair `i` turns `original_context·base^(−2i/n_rot) / 2π` times, so `β` turns belong to
/// `i = n_rot·ln(original_context/(2π·β)) / (2·ln base)`.
pub fn correction_range(
    n_rot: usize,
    base: f32,
    original_context: u32,
    beta_fast: f32,
    beta_slow: f32,
) -> [f64; 2] {
    let pair = |turns: f32| {
        let positions_per_radian = f64::from(original_context) / (std::f64::consts::TAU * f64::from(turns));
        n_rot as f64 * positions_per_radian.ln() / (2.0 * f64::from(base).ln())
    };
    [pair(beta_fast).floor().max(0.0), pair(beta_slow).ceil().min(n_rot as f64 - 1.0)]
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
    /// How it came about; `None` where it is a copy.
    pub turn: Option<Turn>,
}

/// What the error of a rotated element scales with.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The other element of the rotated pair.
    pub partner: f64,
    /// `P = m·(|x₀·cos θ| + |x₁·sin θ|)`, or with sine and cosine exchanged.
    pub products: f64,
    /// `R = m·(|x₀| + |x₁|)`.
    pub reach: f64,
    /// `κ`: how much of a relative error of YaRN's logarithm the magnitude shows; 0 where there is no magnitude to compute.
    pub magnification: f64,
    /// `T`: magnitude of the angle, with that of the ramp's error.
    pub angle: f64,
    /// `L = |2i/n_rot·ln base|`.
    pub exponent: f64,
    /// `k`: steps of the computation of the angle, a function and a rounding each.
    pub steps: usize,
    /// What the loss of the smallest number on the way is multiplied by.
    pub underflows: f64,
}

impl Turn {
    /// `Δ`: largest error of the angle.
    fn angle_error(&self, numerics: &Numerics) -> f64 {
        let format = Numerics { accumulator: numerics.angle, ..*numerics };
        let per_step = 1.0 + format.function() / format.unit();
        let relative =
            format.gamma(self.steps) * per_step + self.exponent * (format.gamma(3) + format.function());
        if relative >= 1.0 || self.angle >= numerics.angle.largest() {
            return f64::INFINITY;
        }
        let oracle = self.angle * (8.0 + self.exponent) * Float::F64.unit_roundoff();
        self.angle * relative / (1.0 - relative) + format.underflow(1) * self.underflows + oracle
    }
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        let Some(turn) = &self.turn else {
            return if out == Float::F32 { 0.0 } else { numerics.store(out, self.y) };
        };
        let angle = turn.angle_error(numerics);
        if angle.is_infinite() {
            return f64::INFINITY;
        }
        let turned = turn.partner.abs() * angle.min(1.0) + self.y.abs() * (angle * angle / 2.0).min(2.0);
        let magnitude = turn.magnification * (numerics.function() + numerics.gamma(5));
        let relative = numerics.function() + numerics.gamma(3) + magnitude;
        let products = relative * (turn.products + angle.min(1.0) * turn.reach);
        let underflow = numerics.underflow(3) * (1.0 + turn.reach);
        turned + products + underflow + numerics.store(out, self.y)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let Some(turn) = &self.turn else {
            return Spread { own: self.bound(numerics, out), ..Spread::default() };
        };
        let angle = turn.angle_error(numerics);
        if angle.is_infinite() {
            return Spread { systematic: f64::INFINITY, ..Spread::default() };
        }
        let turned = turn.partner.abs() * angle.min(1.0) + self.y.abs() * (angle * angle / 2.0).min(2.0);
        let magnitude = turn.magnification * (numerics.function() + numerics.gamma(5));
        let products = turn.products + angle.min(1.0) * turn.reach;
        Spread {
            systematic: turned
                + (numerics.function() + magnitude) * products
                + numerics.underflow(3) * (1.0 + turn.reach),
            shared: 0.0,
            own: numerics.walk(3) * products + numerics.store(out, self.y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    fn the_ramp_of_llama_2_with_yarn_spans_the_published_pairs() {
        // 128 dimensions, base 10000, 4096 positions: 32 turns at pair 20.9, one at 45.0.
        assert_eq!(correction_range(128, 10_000.0, 4096, 32.0, 1.0), [20.0, 46.0]);
        // More turns than there are positions, and fewer than the slowest pair makes.
        assert_eq!(correction_range(64, 10_000.0, 16, 32.0, 1e-9), [0.0, 63.0]);
    }

    fn bound(angle: Float, position: f64, steps: usize) -> f64 {
        let turn = Turn {
            partner: 1.0,
            products: 1.0,
            reach: 2.0,
            magnification: 0.0,
            angle: position,
            exponent: 0.1,
            steps,
            underflows: position,
        };
        Element { y: 1.0, turn: Some(turn) }.bound(&Numerics { angle, ..Numerics::F32 }, Float::F32)
    }

    #[test]
    fn an_angle_in_f64_costs_less_than_a_rounding_at_the_largest_position() {
        let last = f64::from(1 << 20);
        let rounding = Float::F32.unit_roundoff();
        assert!(bound(Float::F64, last, 2) - bound(Float::F64, 0.0, 2) < rounding);
        assert!(bound(Float::F32, last, 2) > 0.1);
    }

    #[test]
    fn the_error_of_an_iterated_product_grows_with_the_pair() {
        assert!(bound(Float::F32, 1000.0, 30) > 5.0 * bound(Float::F32, 1000.0, 3));
    }

    #[test]
    fn a_copy_has_no_error() {
        assert!(Element { y: 1.5, turn: None }.bound(&Numerics::F32, Float::F32) <= 0.0);
    }
}
