//! Sizes of real models, for benches and cost reports.
//!
//! To run a model, [`crate::config`] reads its sizes from the file.

/// Sizes of a model, named as in [`crate::config::ModelConfig`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelSizes {
    /// Name of the model.
    pub name: &'static str,
    /// Layers.
    pub n_layer: usize,
    /// Width of the residual stream.
    pub n_embd: usize,
    /// Width inside the feed-forward part.
    pub n_ff: usize,
    /// Query heads.
    pub n_head: usize,
    /// Key and value heads.
    pub n_kv_head: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Tokens.
    pub vocab_size: usize,
}

/// SmolLM2-135M: small enough to run anywhere.
pub const SMOLLM2_135M: ModelSizes = ModelSizes {
    name: "SmolLM2-135M",
    n_layer: 30,
    n_embd: 576,
    n_ff: 1536,
    n_head: 9,
    n_kv_head: 3,
    head_dim: 64,
    vocab_size: 49_152,
};

/// Llama 3 8B: widths that are typical of GPU work.
pub const LLAMA_3_8B: ModelSizes = ModelSizes {
    name: "Llama 3 8B",
    n_layer: 32,
    n_embd: 4096,
    n_ff: 14_336,
    n_head: 32,
    n_kv_head: 8,
    head_dim: 128,
    vocab_size: 128_256,
};
