//! Sizes of the benches: those of SmolLM2-135M.

use engine::model_sizes::SMOLLM2_135M;

/// Width of the residual stream.
pub const EMBD: usize = SMOLLM2_135M.n_embd;

/// Width inside the feed-forward part.
pub const FF: usize = SMOLLM2_135M.n_ff;

/// Query heads.
pub const HEADS: usize = SMOLLM2_135M.n_head;

/// Key and value heads.
pub const KV_HEADS: usize = SMOLLM2_135M.n_kv_head;

/// Elements of a head.
pub const HEAD_DIM: usize = SMOLLM2_135M.head_dim;

/// Tokens of the vocabulary.
pub const VOCAB: usize = SMOLLM2_135M.vocab_size;

/// Slots of a cache, all of them filled.
pub const CONTEXT: usize = 512;

/// Rows of the activations: one token at a time, and a piece of a prompt.
pub const ROWS: [usize; 2] = [1, 64];

/// The last `rows` positions of a full cache.
pub fn last_positions(rows: usize) -> Vec<u32> {
    (0..).take(CONTEXT).skip(CONTEXT - rows).collect()
}
