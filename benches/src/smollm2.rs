//! Sizes of SmolLM2-135M.

/// Width of the residual stream.
pub const EMBD: usize = 576;

/// Width of the feed-forward layer.
pub const FF: usize = 1536;

/// Heads of the queries.
pub const HEADS: usize = 9;

/// Heads of the cache.
pub const KV_HEADS: usize = 3;

/// Width of a head.
pub const HEAD_DIM: usize = 64;

/// Tokens that exist.
pub const VOCAB: usize = 49152;

/// Slots of the caches that benches make, all of them filled.
pub const CONTEXT: usize = 512;

/// Rows of the activations: one token at a time, and a piece of a prompt.
pub const ROWS: [usize; 2] = [1, 64];

/// The last `rows` positions of a full cache.
pub fn last_positions(rows: usize) -> Vec<u32> {
    (0..).take(CONTEXT).skip(CONTEXT - rows).collect()
}
