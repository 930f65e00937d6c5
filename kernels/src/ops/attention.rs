//! Scaled dot-product attention of query rows over the cache.

use super::{Checker, operands};
use crate::{Buffer, Check, DType, Indices, OpError, View, ViewMut};

/// Softmax-weighted mean of cached values, causal, per query head.
#[derive(Debug)]
pub struct Attention<'a, B> {
    /// Queries, f32 `[rows, heads, head_dim]`.
    pub q: View<'a, B>,
    /// Cached keys, f32, f16 or q8_0 `[seqs, slots, kv_heads, head_dim]`.
    pub k_cache: View<'a, B>,
    /// Cached values, of the shape of `k_cache`.
    pub v_cache: View<'a, B>,
    /// Sequence of each row, `u32[rows]`.
    pub seqs: Indices<'a, B>,
    /// Position of each row, `u32[rows]`; the row sees the slots up to and including it.
    pub positions: Indices<'a, B>,
    /// Result, f32 `[rows, heads, head_dim]`.
    pub out: ViewMut<'a, B>,
    /// Factor on the scores.
    pub scale: f32,
    /// Slots that a row sees, counted back from its own; all where absent.
    pub window: Option<usize>,
    /// `c` of `c·tanh(score / c)`, applied to the scaled scores.
    pub softcap: Option<f32>,
}

operands!(Attention { q, k_cache, v_cache, seqs, positions, out } { scale, window, softcap });

impl<B: Buffer> Attention<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("q", &self.q, &[DType::F32], 3)?;
        checker.input("k_cache", &self.k_cache, &DType::CACHE, 4)?;
        checker.input("v_cache", &self.v_cache, &DType::CACHE, 4)?;
        checker.output("out", &self.out, &[DType::F32], 3)?;
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
}

impl crate::Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, _numerics: &crate::Numerics) -> f64 {
        0.0
    }
}
