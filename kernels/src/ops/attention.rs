//! Scaled dot-product attention of query rows over the cache.
//!
//! # Formula
//!
//! Row `r` at position `p = positions[r]` of sequence `seqs[r]` sees the slots `j` from
//! `max(0, p − window + 1)` to `p`, both included, of that sequence. Query head `h` reads the cached head
//! `g = h / (heads/kv_heads)`. With `kⱼ`, `vⱼ` the key and value in slot `j`, head `g`:
//!
//! * score `sⱼ = scale·Σ_d q[r, h, d]·kⱼ[d]`
//! * capped `zⱼ = c·tanh(sⱼ/c)` with `softcap = c`, otherwise `zⱼ = sⱼ`
//! * weight `pⱼ = exp(zⱼ − max_i zᵢ)`
//! * `out[r, h, d] = Σⱼ pⱼ·vⱼ[d] / Σⱼ pⱼ`
//!
//! Decoding, prefill and chunked prefill are the same op: the positions alone say what a row sees. A row's
//! own token must be in the cache before ([`kv_write`](super::kv_write)).
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `q` | float | `[rows, heads, head_dim]` | |
//! | `k_cache`, `v_cache` | f32, f16, bf16 or `q8_0` | `[seqs, slots, kv_heads, head_dim]` | of one shape, each of its own type and strides; decoded exactly; may be transposed |
//! | `seqs` | u32 | `[rows]` | each below the sequences of the cache |
//! | `positions` | u32 | `[rows]` | each below the slots of the cache |
//! | `out` | float | `[rows, heads, head_dim]` | |
//! | `scale` | f32 | | finite |
//! | `window` | count or none | | at least 1 |
//! | `softcap` | f32 or none | | finite, positive |
//!
//! # Errors
//!
//! `out` not shaped as `q`; `v_cache` not as `k_cache`; another `head_dim` in the cache; `heads` no multiple
//! of `kv_heads`; a sequence or position past the end of the cache; `scale` not finite; `window` 0; `softcap`
//! NaN, infinite, zero or negative.
//!
//! # Bound
//!
//! Errors are added up to first order, with the remainder by the two facts of [`softmax`](super::softmax).
//! `D = head_dim`, `n` is the number of slots seen, `f` the error of a function, `wⱼ = pⱼ/Σp` the exact
//! weights.
//!
//! **The score.** Let `σⱼ = |scale|·Σ|q·kⱼ|`. A term of the dot product passes through its own product,
//! `d(D)` additions, a product with the scale of a quantised block where that is factored out, one with
//! `scale` and one with `log₂e` or `1/c`: the score is off by at most `A·σⱼ` with `A = γ(d(D) + 4)`, and `f`
//! more with a cap, for the quotient. (`activations` is about [`matmul`](super::matmul): a query is not
//! rounded to 8 bits here.)
//!
//! **The cap.** `c·tanh(s/c)` never amplifies an error and adds `f + γ(1)` relative to `|zⱼ|`. Where the cap
//! has bent a score over, it damps: for `σⱼ ≤ 8|sⱼ|` an error of `A·σⱼ ≤ |sⱼ|/2` meets a slope of at most
//! `1/cosh²(|sⱼ|/2c) ≤ 4·exp(−|sⱼ|/c)`, so `σⱼ` may be multiplied by that.
//!
//! **The exponent.** Let `aⱼ = zⱼ − max z` and `rⱼ = |zⱼ| + |aⱼ|`. Subtraction, the error of `log₂e`, and the
//! rounding of a part's logarithm (below) are relative to `rⱼ`: `B·rⱼ`, `B = γ(4)`, and `f + γ(1)` more with
//! a cap. As in softmax, the arguments of successive rescalings add up to `aⱼ`.
//!
//! **The sums.** `Σ pⱼ` and `Σ pⱼ·vⱼ` may be online: each of the `d(n)` steps is a rescaling by
//! `exp(m_old − m_new)` and an addition, together `γ(d(n))·(2 + f/u)`. A cache that is split among workers
//! adds no more steps than `d(n)` counts, as each joining of parts is an addition with its rescaling. Besides
//! come the weight's own `exp`, its product with `v`, the division (before or after the sum) and, where parts
//! are divided by their sums and joined by logarithms, one more division, two products, and the error of
//! `ln Σ ≤ ln n`. All of that is common to all keys:
//!
//! `C = γ(d(n))·(2 + f/u) + 3f + γ(4) + (γ(2) + f)·ln n`
//!
//! **Together.** A term of either sum is off by the relative `Λⱼ = A·σⱼ + B·rⱼ + C` to first order. Nothing
//! is assumed to cancel between numerator and denominator, which may come from different passes:
//!
//! `|error| ≤ (Σ wⱼ·Λⱼ·|vⱼ| + |y|·Σ wⱼ·Λⱼ + lost) / (1 − 2·max Λ) + store(y)`
//!
//! where `1 − 2·max Λ` holds the remainder `1 − Λ` of the terms and `1 − Λ/(1 − Λ)` of the denominator. The
//! element carries the weighted means of `|v|`, `σ·|v|`, `r·|v|`, `σ` and `r`.
//!
//! **Underflow.** A product of the dot product, a scaled query, a scaled sum that is subnormal loses η: the
//! score loses at most `η·(Σ|kⱼ| + (1 + |scale|)·(D + 4))`, which joins `C`. An `exp` may flush to 0 below
//! the smallest normal `η₀`: `lost = (2η₀ + e^−150)·(Σ|vⱼ| + |y|·n) + 8n·η`, in which the last term is of
//! products with `v`, and `e^−150` of far keys:
//!
//! **Far keys.** A key with `aⱼ < −200`, `σⱼ ≤ 8|aⱼ|` and `|zⱼ| ≤ 8|aⱼ|` has
//! `A·σⱼ + B·rⱼ ≤ (8A + 9B)·|aⱼ| ≤ |aⱼ|/4`, so its weight as computed is below `e^−150`. It is left out of
//! the means and of `max Λ`. The bound is infinite for an accumulator so coarse that `8A + 9B > 1/4`.
//!
//! **Bias.** Systematic ([`bias`](crate::bias)): two divisions, with their results `y` or `1/Σp`; `f·ln n` of a logarithm; of every key
//! but the highest the functions and constants in its weight, `(1 + rankⱼ + |aⱼ|)·max(f, γ(2))` as in [`softmax`](super::softmax), in
//! numerator and denominator; a cap's functions; underflow. Shared by a row's head: the roundings of scores, arguments and of the
//! denominator. Its own: those of the products with `v` and of their sum, and the storing.
//!
//! # Edge cases
//!
//! * A slot that a row does not see is not read on its behalf: whatever it holds, NaN and infinities
//!   included, is nowhere in the row's result. A weight of 0 times a NaN is not a mask.
//! * A NaN in `q` makes its row and head NaN; one in a seen `k` those rows and heads that see it; one in a
//!   seen `v` that column of them, however small the weight.
//! * A score of +∞ makes its row and head NaN (`∞ − ∞`). A score of −∞ has weight 0 while another key's score
//!   is finite, and NaN results where all are −∞. With a cap, infinite scores are `±c`.
//! * An infinity in a seen `v` makes its column infinite, NaN where both signs meet. Unspecified where the
//!   weight underflows in the accumulator (`0·∞`).
//! * Position 0, or `window = 1`: one key, the result is its value.
//! * A window larger than `p + 1` sees everything from slot 0.
//! * Sums of `|q·k|`, scaled or not, or of `p·|v|`, beyond a quarter of the accumulator's range are
//!   unspecified; the bound is infinite there.
//! * Strides say how a cache lies: token-major (a slot holds all heads), head-major (a head holds all slots), or transposed, in f32,
//!   f16 and bf16 alone: the slots of one element of a head side by side.
//! * Laws: the layout of the caches makes no difference to the bits; the result of a row does not depend on the other rows (chunked = whole, prefill = decode one by
//!   one); it lies between the smallest and the largest value seen; `kv_heads < heads` equals each cached
//!   head repeated `heads/kv_heads` times.
//!
//! # References
//!
//! Vaswani et al., *Attention Is All You Need* (2017); Ainslie et al., *GQA* (2023); Dao et al., *Fast and
//! Memory-Efficient Exact Attention* (2022), for the online sums; Gemma 2's report (2024) for the cap. ggml's
//! `GGML_OP_FLASH_ATTN_EXT` with a causal mask and no slope is the same formula.

use super::softmax::{FAR_WEIGHT, online_sum};
use super::{Checker, operands};
use crate::{Buffer, Check, DType, Float, Indices, Judged, Numerics, OpError, Spread, View, ViewMut};

/// Softmax-weighted mean of cached values, causal, per query head.
#[derive(Debug)]
pub struct Attention<'a, B> {
    /// Queries, float `[rows, heads, head_dim]`.
    pub q: View<'a, B>,
    /// Cached keys, f32, f16, bf16 or `q8_0` `[seqs, slots, kv_heads, head_dim]`.
    pub k_cache: View<'a, B>,
    /// Cached values, of the shape of `k_cache`.
    pub v_cache: View<'a, B>,
    /// Sequence of each row, `u32[rows]`.
    pub seqs: Indices<'a, B>,
    /// Position of each row, `u32[rows]`; the row sees the slots up to and including it.
    pub positions: Indices<'a, B>,
    /// Result, float `[rows, heads, head_dim]`.
    pub out: ViewMut<'a, B>,
    /// Factor on the scores.
    pub scale: f32,
    /// Slots that a row sees, counted back from its own; all where absent.
    pub window: Option<usize>,
    /// `c` of `c·tanh(score / c)`, applied to the scaled scores.
    pub softcap: Option<f32>,
}

operands! {
    Attention: Bounded { q, k_cache, v_cache, seqs, positions, out } { scale, window, softcap }
    floats { q, out }; transposable { k_cache, v_cache }
    rows: Independent { q 0, seqs 0, positions 0, out 0 }
    heads: Grouped { q 1, out 1, k_cache 2, v_cache 2 }
    seqs: Summed { k_cache 0, v_cache 0 }
    slots: Summed { k_cache 1, v_cache 1 }
    dim: Summed { q 2, out 2, k_cache 3, v_cache 3 }
}

impl<B: Buffer> Attention<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("q", &self.q, &DType::FLOATS, 3)?;
        checker.input("k_cache", &self.k_cache, &DType::CACHE, 4)?;
        checker.input("v_cache", &self.v_cache, &DType::CACHE, 4)?;
        checker.output("out", &self.out, &DType::FLOATS, 3)?;
        let (q, cache) = (&self.q.layout, &self.k_cache.layout);
        checker.same_shape("out", &self.out.layout, "q", q)?;
        checker.same_shape("v_cache", &self.v_cache.layout, "k_cache", cache)?;
        checker.dim("k_cache", cache, 3, q.dim(2), "head_dim of q")?;
        if !q.dim(1).is_multiple_of(cache.dim(2)) {
            let want = format!("a divisor of {} (heads of q) in dimension 2", q.dim(1));
            return Err(checker.error("k_cache", Check::Shape, want, cache.dim(2)));
        }
        checker.indices("seqs", &self.seqs, q.dim(0), cache.dim(0), "sequences of k_cache")?;
        checker.indices("positions", &self.positions, q.dim(0), cache.dim(1), "slots of k_cache")?;
        checker.param("scale", self.scale.is_finite(), "finite", self.scale)?;
        checker.param("window", self.window != Some(0), "at least 1", 0)?;
        let softcap = self.softcap.unwrap_or(1.0);
        checker.param("softcap", softcap.is_finite() && softcap > 0.0, "finite and positive", softcap)
    }
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
    /// Slots that its row sees.
    pub keys: usize,
    /// Length of a head.
    pub dim: usize,
    /// Whether scores are capped.
    pub capped: bool,
    /// `Σ w·|v|`.
    pub values: f64,
    /// Means of `σ`, what the error of a score scales with.
    pub dots: Means,
    /// Means of `r`, what the error of an exponent scales with.
    pub arguments: Means,
    /// Means of 1, the number of keys with higher scores and the distance from the highest; of a highest one, 0.
    pub unsteady: Means,
    /// The largest weight, the reciprocal of their sum.
    pub largest: f64,
    /// `Σ |v|`, without weights.
    pub reach: f64,
    /// `max Σ|k| + (1 + |scale|)·(D + 4)`, the underflows that a score can suffer.
    pub underflows: f64,
    /// Largest magnitude that may arise on the way: of a sum of `|q·k|`, scaled or not, of a scaled query, of `Σ p·|v|`.
    pub peak: f64,
}

/// A magnitude of keys, averaged over those that are not far.
#[derive(Clone, Copy, Default, Debug)]
pub struct Means {
    /// `Σ w·magnitude`.
    pub plain: f64,
    /// `Σ w·magnitude·|v|`.
    pub with_values: f64,
    /// `max magnitude`.
    pub max: f64,
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        let function = numerics.function();
        let (cap_dot, cap_argument) =
            if self.capped { (function, function + numerics.gamma(1)) } else { (0.0, 0.0) };
        let dot = numerics.gamma(numerics.depth.of(self.dim) + 4) + cap_dot;
        let argument = numerics.gamma(4) + cap_argument;
        let common = online_sum(numerics, self.keys)
            + 3.0 * function
            + numerics.gamma(4)
            + (numerics.gamma(2) + function) * (self.keys as f64).ln()
            + numerics.underflow(1) * self.underflows;
        let remainder = 1.0 - 2.0 * (common + dot * self.dots.max + argument * self.arguments.max);
        let coarse = 8.0 * dot + 9.0 * argument > 0.25;
        if coarse || remainder <= 0.0 || self.peak >= numerics.accumulator.largest() / 4.0 {
            return f64::INFINITY;
        }
        let y = self.y.abs();
        let weighed = |means: &Means| means.with_values + y * means.plain;
        let keys = self.keys as f64;
        let lost = (2.0 * numerics.smallest_normal() + FAR_WEIGHT) * (self.reach + y * keys)
            + numerics.underflow(8 * self.keys);
        let error = common * (self.values + y)
            + dot * weighed(&self.dots)
            + argument * weighed(&self.arguments)
            + lost;
        error / remainder + numerics.store(out, self.y)
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        let (y, function) = (self.y.abs(), numerics.function());
        let weighed = |means: &Means| means.with_values + y * means.plain;
        let depth = numerics.depth.of(self.keys);
        let cap = if self.capped { function } else { 0.0 };
        let dot = numerics.depth.of(self.dim) + 4;
        let joined = function * (self.keys as f64).ln();
        let quotients = 2.0 * numerics.function_at(self.largest).max(numerics.function_at(self.y));
        let keys = self.keys as f64;
        let lost = (2.0 * numerics.smallest_normal() + FAR_WEIGHT) * (self.reach + y * keys)
            + numerics.underflow(8 * self.keys)
            + numerics.underflow(1) * self.underflows * (self.values + y);
        Spread {
            systematic: y * (quotients + joined)
                + function.max(numerics.gamma(2)) * weighed(&self.unsteady)
                + (cap + numerics.drift(dot)) * weighed(&self.dots)
                + cap * weighed(&self.arguments)
                + numerics.drift(depth) * (self.values + y)
                + lost,
            shared: numerics.walk(dot) * weighed(&self.dots)
                + numerics.walk(5) * weighed(&self.arguments)
                + numerics.walk(2 * depth + 4) * y * (1.0 + keys.ln()),
            own: numerics.walk(2 * depth + 4) * self.values + numerics.store(out, self.y),
        }
    }
}
