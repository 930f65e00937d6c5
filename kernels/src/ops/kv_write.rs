//! Stores keys and values of new tokens in the cache.
//!
//! # Formula
//!
//! `k_cache[seqs[r], positions[r], h, ·] = encode(k[r, h, ·])` for every row `r` and head `h`, and the same
//! for `v`.
//!
//! `encode` is that of the cache's type: the number itself as f32; the nearest f16 or bf16, ties to even; or blocks of
//! [`q8_0`](crate::quant::q8_0) along the head. The op is bitwise.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `k`, `v` | float | `[rows, kv_heads, head_dim]` | |
//! | `seqs` | u32 | `[rows]` | each below the sequences of the cache |
//! | `positions` | u32 | `[rows]` | each below the slots of the cache |
//! | `k_cache`, `v_cache` | f32, f16, bf16 or `q8_0` | `[seqs, slots, kv_heads, head_dim]` | of one shape, each of its own type and strides; may be transposed |
//!
//! The slot of a token is its position in its sequence. A `q8_0` cache needs a `head_dim` that is a multiple
//! of 32; a block never spans two heads. Strides say whether slots enclose heads or heads slots; a cache in f32, f16 or bf16 may also
//! have the slots of one element of a head side by side.
//!
//! # Errors
//!
//! `v` not shaped as `k`, or `v_cache` not as `k_cache`; heads or `head_dim` of the cache other than those of
//! `k`; a sequence or a position past the end of the cache; two rows with the same slot of the same sequence,
//! whose order would decide.
//!
//! # Bound
//!
//! None: each byte of the cache is either that of `encode` or what it was before.
//!
//! # Edge cases
//!
//! * Slots that no row names keep their bytes. So does padding between slots, heads, sequences and elements
//!   of a strided cache.
//! * Law: the layout of a cache makes no difference to what it holds.
//! * f16: magnitudes from 65520 on become infinite; subnormals are kept; a NaN stays a NaN.
//! * `q8_0`: a head of zeros has scale 0 and codes 0. NaN and infinities are encoded as the format's page
//!   says, and stay in their block.
//! * Rows may come in any order and belong to any mixture of sequences.
//!
//! # References
//!
//! llama.cpp stores its cache by `ggml_set_rows`, with the same conversions.

use std::collections::HashMap;

use super::{Checker, operands};
use crate::{Buffer, Check, DType, Indices, OpError, View, ViewMut};

/// `k_cache[seqs[r], positions[r]] = encode(k[r])`, and the same for `v`.
#[derive(Debug)]
pub struct KvWrite<'a, B> {
    /// New keys, float `[rows, kv_heads, head_dim]`.
    pub k: View<'a, B>,
    /// New values, float `[rows, kv_heads, head_dim]`.
    pub v: View<'a, B>,
    /// Sequence of each row, `u32[rows]`.
    pub seqs: Indices<'a, B>,
    /// Slot of each row in its sequence, `u32[rows]`.
    pub positions: Indices<'a, B>,
    /// Keys so far, f32, f16, bf16 or `q8_0` `[seqs, slots, kv_heads, head_dim]`.
    pub k_cache: ViewMut<'a, B>,
    /// Values so far, of the shape of `k_cache`.
    pub v_cache: ViewMut<'a, B>,
}

operands! {
    KvWrite: Bitwise, updates { k, v, seqs, positions, k_cache, v_cache } {}
    floats { k, v }; transposable { k_cache, v_cache }
    rows: Summed { k 0, v 0, seqs 0, positions 0 }
    seqs: Summed { k_cache 0, v_cache 0 }
    slots: Summed { k_cache 1, v_cache 1 }
    heads: Independent { k 1, v 1, k_cache 2, v_cache 2 }
    dim: Independent { k 2, v 2, k_cache 3, v_cache 3 }
}

impl<B: Buffer> KvWrite<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("k", &self.k, &DType::FLOATS, 3)?;
        checker.input("v", &self.v, &DType::FLOATS, 3)?;
        checker.same_shape("v", &self.v.layout, "k", &self.k.layout)?;
        checker.output("k_cache", &self.k_cache, &DType::CACHE, 4)?;
        checker.output("v_cache", &self.v_cache, &DType::CACHE, 4)?;
        let (k, cache) = (&self.k.layout, &self.k_cache.layout);
        checker.same_shape("v_cache", &self.v_cache.layout, "k_cache", cache)?;
        checker.dim("k_cache", cache, 2, k.dim(1), "heads of k")?;
        checker.dim("k_cache", cache, 3, k.dim(2), "head_dim of k")?;
        checker.indices("seqs", &self.seqs, k.dim(0), cache.dim(0), "sequences of k_cache")?;
        checker.indices("positions", &self.positions, k.dim(0), cache.dim(1), "slots of k_cache")?;
        let mut writers = HashMap::new();
        for (row, slot) in self.seqs.values().iter().zip(self.positions.values()).enumerate() {
            if let Some(first) = writers.insert(slot, row) {
                let got = format!("rows {first} and {row} both at sequence {}, position {}", slot.0, slot.1);
                return Err(checker.error("positions", Check::Duplicate, "one row per slot", got));
            }
        }
        Ok(())
    }
}
