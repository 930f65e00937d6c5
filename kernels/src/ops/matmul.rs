//! Product of activations with a weight matrix, transposed: every output is a dot product of two rows.
//!
//! # Formula
//!
//! `out[r, c] = Σ_k x[r, k] · decode(weight)[c, k] + bias[c]`
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[m, k]` | activations |
//! | `weight` | any weight format | `[n, k]` | `k` fills whole blocks; may be transposed, which is column-major |
//! | `bias` | float | `[n]` | optional |
//! | `out` | float | `[m, n]` | |
//!
//! # Errors
//!
//! Rows of `weight` not as long as those of `x`; `out` without a row for each row of `x` or without a column for each row of
//! `weight`; `bias` not as long as `weight` has rows; `k` not a multiple of the block length.
//!
//! # Bound
//!
//! Write `w` for the decoded weights, which are exact f32, and `x̂`, `ŵ` for the operands that the sum is made of. Three things
//! separate a computed result from the exact one: the operands, the roundings of products and sum, and underflow.
//!
//! **Operands.** Let `|x̂ − x| ≤ δx` and `|ŵ − w| ≤ δw`. Then
//! `Σ|ŵ·x̂ − w·x| ≤ Σ|w|·δx + Σδw·|x| + Σδw·δx =: E`. With `u` and `η` the unit roundoff and the smallest number of the format in
//! question, and `p` the largest `|x|` of the block around `x`:
//!
//! | declared | `δ` |
//! |---|---|
//! | [`Activations::Exact`] | 0 |
//! | [`Activations::Rounded`] | `u·\|x\| + η/2` |
//! | [`Activations::Int8`] | `p·(1/254 + 8·u32 + u_scale) + 127·η_scale/2 + 2^-118` |
//! | [`Weights::Decoded`] | 0 |
//! | [`Weights::Rounded`] | `u·\|w\| + η/2` |
//! | [`Weights::Factored`] | `u32·\|w\|` |
//!
//! *Int8.* Let `s = p/127` and `t = x/s`, so `|t| ≤ 127`. The quotient is computed in f32 by at most four roundings (`1/127`, its
//! product with `p`, a reciprocal, the product with `x`): `|t̂ − t| ≤ 127·γ(4)`. The code is the nearest integer: `|q − t| ≤ 1/2 +
//! 127·γ(4)`, and `|q| ≤ 127`. The scale kept, `ŝ`, has two roundings of f32 and that of its own format, which may underflow:
//! `|ŝ − s| ≤ s·(γ(3) + u_scale) + η_scale/2`. Then `|q·ŝ − t·s| ≤ s·|q − t| + |q|·|ŝ − s|` is what the table says, up to the last
//! term. That one is for `s < 2^-126`, where a reciprocal of `s` can overflow and codes saturate: `|x̂ − x| ≤ 2·p < 2^-118`.
//! Block sums of activations, where a backend keeps them, are not rounded below the accumulator.
//!
//! *Factored.* The parts of a weight, `a·code` and `b` with `w = fl(a·code + b)`, enter apart, so they miss the rounding that
//! decoding makes. In all sums of this section `|a·code| + |b|` ([`magnitude_row`](crate::quant::magnitude_row)) stands for `|w|`.
//!
//! **Roundings.** Each term is one product that passes through at most `d(k)` additions, and one more where there is a bias.
//! Factored weights add two products (by the scale of a sub-block and by that of the block) and two additions (the offset's part,
//! and block to block). Int8 activations add two: the conversion of an integer sum, and the product with their scale. So with
//!
//! `ν = d(k) + 1 + [bias] + 4·[factored] + 2·[int8]`, `M = Σ|ŵ·x̂| + |bias| ≤ Σ|w·x| + E + |bias|`
//!
//! the roundings leave `γ(ν)·M`, in any order and with any fused multiply-add, for a fused one only leaves out a rounding.
//!
//! **Underflow.** A product that underflows loses at most `η` of the accumulator: `k·η` together. Factored, a product by the
//! block's scale can underflow before that of the sub-block, at most `2^7`, multiplies it: `2^7·k·η`. With Int8 the two scales may be
//! multiplied with one another first, and then by an integer sum whose terms are at most `2^12·127`: `2^19·k·η`. Additions do not
//! underflow.
//!
//! Together, with `store` the final rounding, taken at the far end of the error before it:
//!
//! `|error| ≤ e + store(|y| + e)`, `e = E + γ(ν)·M + underflow`
//!
//! The estimate for the tensor as a whole takes the roundings as independent, but not `E`: every output of a row shares the errors
//! of the row's activations.
//!
//! *Bias.* Systematic ([`bias`](crate::bias)): `E`, as data with few values are rounded alike everywhere; what the sum swallows;
//! underflow. Its own: `√ν·u·M` and the storing.
//!
//! # Edge cases
//!
//! * A NaN in row `r` of `x` makes row `r` of `out` NaN, a NaN in row `c` of `weight` or in `bias[c]` makes column `c` NaN, and
//!   nothing else, however the backend treats its operands: an integer conversion must not lose it.
//! * Infinities follow IEEE arithmetic on the exact formula for a backend with exact activations and decoded weights: `∞·0` and
//!   `∞ − ∞` are NaN, the rest is infinite. The other treatments may turn the elements concerned, and no others, from one into
//!   the other; cases pose infinities only to the former.
//! * Where `M` reaches the accumulator's largest number a partial sum may overflow: the result is unspecified, the bound infinite.
//!   So it is where an operand is beyond the format that it is rounded to, where `p/127` is beyond that of the scale, and where
//!   codes without their scales could overflow: `2^12·k·max|x|`.
//! * `x` is never rounded to the type of the weights unless declared: f16 weights do not make f16 activations.
//! * A result of zero may have either sign.
//! * Rows of all operands may lie apart; padding takes no part.
//! * Law: column-major weights have the bits of the same weights in rows.
//!
//! # References
//!
//! Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., 3.1 and 3.5 (any order), 2.5 (underflow). ggml's
//! `GGML_OP_MUL_MAT`; its `q8_0` and `q8_1` blocks of activations are Int8 with a block of 32 and an f16 scale.

use super::{Checker, operands};
use crate::{Activations, Buffer, DType, Float, Judged, Numerics, OpError, Spread, View, ViewMut, Weights};

/// `out[r, c] = Σ_k x[r, k] · decode(weight)[c, k] + bias[c]`.
#[derive(Debug)]
pub struct Matmul<'a, B> {
    /// Activations, float `[m, k]`.
    pub x: View<'a, B>,
    /// Weights, any weight format, `[n, k]`.
    pub weight: View<'a, B>,
    /// Added to each row, float `[n]`.
    pub bias: Option<View<'a, B>>,
    /// Result, float `[m, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Matmul: Bounded { x, weight, bias, out } {}
    floats { x, bias, out }; transposable { weight }
    m: Independent { x 0, out 0 }
    n: Independent { weight 0, bias 0, out 1 }
    k: Summed { x 1, weight 1 }
}

impl<B: Buffer> Matmul<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &DType::FLOATS, 2)?;
        checker.input("weight", &self.weight, &DType::WEIGHTS, 2)?;
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        checker.dim("weight", &self.weight.layout, 1, self.x.layout.dim(1), "columns of x")?;
        checker.dim("out", &self.out.layout, 0, self.x.layout.dim(0), "rows of x")?;
        checker.dim("out", &self.out.layout, 1, self.weight.layout.dim(0), "rows of weight")?;
        if let Some(bias) = &self.bias {
            checker.input("bias", bias, &DType::FLOATS, 1)?;
            checker.dim("bias", &bias.layout, 0, self.weight.layout.dim(0), "rows of weight")?;
        }
        Ok(())
    }
}

/// Blocks of activations for which an [`Element`] keeps its terms. A declared block of another size is judged by the next
/// larger one of which it is a divisor, or by the whole row: never too tightly.
pub const BLOCKS: [usize; 2] = [32, 256];

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
    /// Length of the dot product.
    pub k: usize,
    /// The bias in it, 0 where there is none.
    pub bias: f64,
    /// The row of activations.
    pub x: Extent,
    /// Its terms with decoded weights.
    pub decoded: Terms,
    /// Its terms with weights whose parts count apart.
    pub factored: Terms,
}

/// Magnitudes of a row.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Their sum.
    pub sum: f64,
    /// The largest.
    pub peak: f64,
}

/// What the errors of a dot product scale with, given the magnitudes `|w|` of the weights.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// `Σ|w·x|`.
    pub products: f64,
    /// The row of weights.
    pub weight: Extent,
    /// `Σ|w|·p` with `p` the largest `|x|` of the block, for each of [`BLOCKS`].
    pub peaks: [f64; 2],
}

/// Largest error of an operand: `relative·|v| + peak·p + absolute`, where `p` is the largest magnitude of its block.
#[derive(Clone, Copy, Default)]
struct OperandError {
    relative: f64,
    peak: f64,
    absolute: f64,
}

impl OperandError {
    fn of_rounding(float: Float) -> Self {
        OperandError { relative: float.unit_roundoff(), absolute: float.smallest() / 2.0, ..Self::default() }
    }

    fn of_activations(activations: Activations) -> Self {
        match activations {
            Activations::Exact => Self::default(),
            Activations::Rounded(float) => Self::of_rounding(float),
            Activations::Int8 { scale, .. } => OperandError {
                peak: 1.0 / 254.0 + 8.0 * Float::F32.unit_roundoff() + scale.unit_roundoff(),
                absolute: 127.0 / 2.0 * scale.smallest() + TINY_SCALE,
                ..Self::default()
            },
        }
    }

    fn of_weights(weights: Weights) -> Self {
        match weights {
            Weights::Decoded => Self::default(),
            Weights::Rounded(float) => Self::of_rounding(float),
            Weights::Factored => OperandError { relative: Float::F32.unit_roundoff(), ..Self::default() },
        }
    }
}

/// `2^-118`: the error of an activation whose block is so small that the reciprocal of its scale can overflow.
const TINY_SCALE: f64 = 3.009_265_538_105_056e-36;

/// Largest product of a code and its sub-block's scale in any format, `2^12`: 32·127 of `IQ4_XS`, 128·32 of `Q6_K`.
const LARGEST_CODE: f64 = 4096.0;

impl Terms {
    /// `Σ|w|·p` for blocks of `block` activations, the largest of all being `x_peak`.
    fn peaks_of(&self, block: usize, x_peak: f64) -> f64 {
        let kept = BLOCKS.into_iter().zip(self.peaks).find(|(kept, _)| kept.is_multiple_of(block));
        kept.map_or(self.weight.sum * x_peak, |(_, peaks)| peaks)
    }
}

impl Element {
    /// `E` of the page.
    fn operand_error(&self, numerics: &Numerics, terms: &Terms) -> f64 {
        let block = if let Activations::Int8 { block, .. } = numerics.activations { block } else { 1 };
        let dx = OperandError::of_activations(numerics.activations);
        let dw = OperandError::of_weights(numerics.weights);
        let peaks = terms.peaks_of(block, self.x.peak);
        let w_dx = dx.relative * terms.products + dx.peak * peaks + dx.absolute * terms.weight.sum;
        let dx_sum = dx.relative * self.x.sum + self.k as f64 * (dx.peak * self.x.peak + dx.absolute);
        (1.0 + dw.relative) * w_dx + dw.relative * terms.products + dw.absolute * (self.x.sum + dx_sum)
    }

    /// What the error of the sum is made of; `None` where it may overflow.
    fn sum(&self, numerics: &Numerics) -> Option<Sum> {
        let factored = numerics.weights == Weights::Factored;
        let int8 = matches!(numerics.activations, Activations::Int8 { .. });
        let terms = if factored { &self.factored } else { &self.decoded };
        let operands = self.operand_error(numerics, terms);
        let magnitude = terms.products + operands + self.bias.abs();
        let codes = if factored || int8 { LARGEST_CODE * self.k as f64 * self.x.peak } else { 0.0 };
        if magnitude.max(codes) >= numerics.accumulator.largest() || self.operand_overflows(numerics, terms) {
            return None;
        }
        let roundings = numerics.depth.of(self.k)
            + 1
            + usize::from(self.bias != 0.0)
            + 4 * usize::from(factored)
            + 2 * usize::from(int8);
        let amplification = match (factored, int8) {
            (_, true) => 127.0 * LARGEST_CODE,
            (true, false) => 128.0,
            (false, false) => 1.0,
        };
        Some(Sum { operands, magnitude, roundings, underflow: amplification * numerics.underflow(self.k) })
    }

    /// True where an operand cannot be represented in the format that it is turned into.
    fn operand_overflows(&self, numerics: &Numerics, terms: &Terms) -> bool {
        let x_limit = match numerics.activations {
            Activations::Exact => f64::INFINITY,
            Activations::Rounded(float) => float.largest(),
            Activations::Int8 { scale, .. } => 127.0 * scale.largest(),
        };
        let w_limit = match numerics.weights {
            Weights::Decoded | Weights::Factored => f64::INFINITY,
            Weights::Rounded(float) => float.largest(),
        };
        self.x.peak > x_limit || terms.weight.peak > w_limit
    }
}

/// What the error of a dot product is made of.
struct Sum {
    /// `E`.
    operands: f64,
    /// `M`.
    magnitude: f64,
    /// `ν`.
    roundings: usize,
    /// Of products that underflow.
    underflow: f64,
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        let Some(sum) = self.sum(numerics) else { return f64::INFINITY };
        let error = sum.operands + numerics.gamma(sum.roundings) * sum.magnitude + sum.underflow;
        error + numerics.store(out, self.y.abs() + error)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let Some(sum) = self.sum(numerics) else {
            return Spread { systematic: f64::INFINITY, ..Spread::default() };
        };
        let error = sum.operands + numerics.gamma(sum.roundings) * sum.magnitude + sum.underflow;
        Spread {
            systematic: sum.operands + numerics.drift(sum.roundings) * sum.magnitude + sum.underflow,
            shared: 0.0,
            own: numerics.walk(sum.roundings) * sum.magnitude + numerics.store(out, self.y.abs() + error),
        }
    }
}
