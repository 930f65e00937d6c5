//! The guard rail: compares metadata with tensors before anything runs.
//!
//! A file whose metadata and tensors disagree would fail with a shape error deep inside a layer, or,
//! in an engine that trusts its metadata, read past the end of a weight. The guard rail looks up every tensor that
//! follows from the metadata and collects all disagreements. Each names the tensor, the key and both numbers.
//!
//! It can be disabled (`--no-guard-rail`); the ops still refuse what is out of bounds.

use std::collections::HashSet;
use std::fmt;

use kernels::DType;

use crate::config::{Architecture, ModelConfig};
use crate::gguf::{Gguf, Tensor, Value};

/// One disagreement between metadata and tensors.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Mismatch {
    /// A tensor that the architecture needs is not there.
    Missing {
        /// The tensor.
        tensor: String,
        /// The shape it should have, row-major; empty if the name stands for whole layers.
        shape: Vec<usize>,
    },
    /// A tensor that the architecture does not have.
    Extra {
        /// The tensor.
        tensor: String,
        /// Its shape, row-major.
        shape: Vec<usize>,
        /// The architecture.
        architecture: &'static str,
    },
    /// Another number of dimensions.
    Rank {
        /// The tensor.
        tensor: String,
        /// Its dimensions.
        found: usize,
        /// The dimensions it should have.
        want: usize,
    },
    /// A dimension of another extent.
    Dimension {
        /// The tensor.
        tensor: String,
        /// Which dimension, row-major.
        axis: usize,
        /// Its extent.
        found: usize,
        /// The extent that follows from the metadata.
        want: usize,
        /// Where that comes from, e.g. `'llama.feed_forward_length' = 1536`.
        source: String,
    },
    /// A type that the tensor cannot have.
    Type {
        /// The tensor.
        tensor: String,
        /// Its type.
        found: DType,
        /// The type it should have.
        want: DType,
    },
    /// The vocabulary has another size than the metadata say.
    Vocabulary {
        /// Entries of `tokenizer.ggml.tokens`.
        tokens: usize,
        /// The key that says otherwise.
        key: String,
        /// Its value.
        size: usize,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { tensor, shape } if shape.is_empty() => {
                write!(f, "tensors '{tensor}' are missing")
            }
            Self::Missing { tensor, shape } => write!(f, "tensor '{tensor}' {shape:?} is missing"),
            Self::Extra { tensor, shape, architecture } => {
                write!(f, "tensor '{tensor}' {shape:?} is not part of a {architecture} model")
            }
            Self::Rank { tensor, found, want } => {
                write!(f, "tensor '{tensor}' has {found} dimensions, want {want}")
            }
            Self::Dimension { tensor, axis, found, want, source } => {
                write!(f, "tensor '{tensor}': dimension {axis} is {found}, want {want} ({source})")
            }
            Self::Type { tensor, found, want } => write!(f, "tensor '{tensor}' is {found}, want {want}"),
            Self::Vocabulary { tokens, key, size } => {
                write!(f, "'tokenizer.ggml.tokens' has {tokens} entries but '{key}' is {size}")
            }
        }
    }
}

/// A file whose metadata and tensors disagree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardRailError {
    /// All disagreements, in the order in which a layer runs.
    pub mismatches: Vec<Mismatch>,
}

/// Disagreements in the message at most; a wrong key of a deep model affects hundreds of tensors.
const SHOWN: usize = 12;

impl fmt::Display for GuardRailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "metadata and tensors disagree in {} places:", self.mismatches.len())?;
        for mismatch in self.mismatches.iter().take(SHOWN) {
            write!(f, "\n  {mismatch}")?;
        }
        match self.mismatches.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl std::error::Error for GuardRailError {}

/// Refuses a file with disagreements if `enabled`; otherwise returns them, for a warning.
pub fn enforce(config: &ModelConfig, gguf: &Gguf, enabled: bool) -> Result<Vec<Mismatch>, GuardRailError> {
    let mismatches = check(config, gguf);
    if enabled && !mismatches.is_empty() { Err(GuardRailError { mismatches }) } else { Ok(mismatches) }
}

/// All disagreements between `config` and the tensors of `gguf`.
pub fn check(config: &ModelConfig, gguf: &Gguf) -> Vec<Mismatch> {
    let mut checker = Checker { config, gguf, known: HashSet::new(), mismatches: Vec::new() };
    checker.vocabulary();
    checker.model();
    checker.extra();
    checker.mismatches
}

/// An extent and where it comes from.
#[derive(Clone)]
struct Extent {
    size: usize,
    source: String,
}

struct Checker<'a> {
    config: &'a ModelConfig,
    gguf: &'a Gguf,
    /// Names the architecture knows.
    known: HashSet<String>,
    mismatches: Vec<Mismatch>,
}

impl Checker<'_> {
    fn vocabulary(&mut self) {
        let Some(Value::Array(tokens)) = self.gguf.metadata().get("tokenizer.ggml.tokens") else { return };
        let size = self.config.vocab_size;
        if tokens.len != size {
            let key = self.config.key("vocab_size");
            self.mismatches.push(Mismatch::Vocabulary { tokens: tokens.len, key, size });
        }
    }

    /// Every tensor of the architecture, in the order in which the model runs.
    fn model(&mut self) {
        let c = self.config;
        let extent = |key: &str, size: usize| Extent { size, source: format!("'{}' = {size}", c.key(key)) };
        let heads = |key: &str, count: usize| {
            let source = format!("'{}' = {count} heads of {}", c.key(key), c.head_dim);
            Extent { size: count.saturating_mul(c.head_dim), source }
        };
        let embd = extent("embedding_length", c.n_embd);
        let ff = extent("feed_forward_length", c.n_ff);
        let vocab = extent("vocab_size", c.vocab_size);
        let q = heads("attention.head_count", c.n_head);
        let kv = heads("attention.head_count_kv", c.n_kv_head);
        let head = extent("attention.key_length", c.head_dim);
        let half_rot =
            Extent { size: c.rope.dims / 2, source: format!("half of {} rotary dimensions", c.rope.dims) };

        self.matrix("token_embd.weight", [&vocab, &embd]);
        self.optional_vector("rope_freqs.weight", &half_rot);
        let layers = self.layers_in_file().min(c.n_layer);
        for layer in 0..layers {
            let name = |suffix: &str| format!("blk.{layer}.{suffix}");
            self.vector(&name("attn_norm.weight"), &embd);
            self.matrix(&name("attn_q.weight"), [&q, &embd]);
            self.matrix(&name("attn_k.weight"), [&kv, &embd]);
            self.matrix(&name("attn_v.weight"), [&kv, &embd]);
            for (suffix, extent) in [("attn_q.bias", &q), ("attn_k.bias", &kv), ("attn_v.bias", &kv)] {
                match c.architecture {
                    Architecture::Qwen2 => self.vector(&name(suffix), extent),
                    Architecture::Llama | Architecture::Qwen3 => self.optional_vector(&name(suffix), extent),
                }
            }
            if c.architecture == Architecture::Qwen3 {
                self.vector(&name("attn_q_norm.weight"), &head);
                self.vector(&name("attn_k_norm.weight"), &head);
            }
            self.matrix(&name("attn_output.weight"), [&embd, &q]);
            self.vector(&name("ffn_norm.weight"), &embd);
            self.matrix(&name("ffn_gate.weight"), [&ff, &embd]);
            self.matrix(&name("ffn_up.weight"), [&ff, &embd]);
            self.matrix(&name("ffn_down.weight"), [&embd, &ff]);
        }
        if layers < c.n_layer {
            let tensor = format!("blk.{layers}.* to blk.{}.*", c.n_layer - 1);
            self.mismatches.push(Mismatch::Missing { tensor, shape: Vec::new() });
        }
        self.vector("output_norm.weight", &embd);
        if !c.tied_embeddings {
            self.matrix("output.weight", [&vocab, &embd]);
        }
    }

    /// One more than the highest layer that has a tensor. Layers beyond it are reported together: a huge layer count in
    /// the metadata costs nothing.
    fn layers_in_file(&self) -> usize {
        let number = |t: &Tensor| t.name().strip_prefix("blk.")?.split('.').next()?.parse::<usize>().ok();
        self.gguf.tensors().iter().filter_map(number).max().map_or(0, |last| last.saturating_add(1))
    }

    /// A weight of a matmul or an embedding: any type.
    fn matrix(&mut self, name: &str, shape: [&Extent; 2]) {
        self.expect(name, &shape, None);
    }

    /// A norm, bias or list of factors: f32.
    fn vector(&mut self, name: &str, extent: &Extent) {
        self.expect(name, &[extent], Some(DType::F32));
    }

    fn optional_vector(&mut self, name: &str, extent: &Extent) {
        if self.gguf.tensor(name).is_some() {
            self.vector(name, extent);
        }
    }

    fn expect(&mut self, name: &str, shape: &[&Extent], dtype: Option<DType>) {
        self.known.insert(name.to_owned());
        let Some(tensor) = self.gguf.tensor(name) else {
            let shape = shape.iter().map(|e| e.size).collect();
            self.mismatches.push(Mismatch::Missing { tensor: name.to_owned(), shape });
            return;
        };
        let (found, want) = (tensor.shape().len(), shape.len());
        if found != want {
            self.mismatches.push(Mismatch::Rank { tensor: name.to_owned(), found, want });
            return;
        }
        for (axis, (&found, want)) in tensor.shape().iter().zip(shape).enumerate() {
            if found != want.size {
                self.mismatches.push(Mismatch::Dimension {
                    tensor: name.to_owned(),
                    axis,
                    found,
                    want: want.size,
                    source: want.source.clone(),
                });
            }
        }
        match dtype {
            Some(want) if want != tensor.dtype() => {
                self.mismatches.push(Mismatch::Type { tensor: name.to_owned(), found: tensor.dtype(), want });
            }
            _ => {}
        }
    }

    fn extra(&mut self) {
        for tensor in self.gguf.tensors() {
            if !self.known.contains(tensor.name()) {
                self.mismatches.push(Mismatch::Extra {
                    tensor: tensor.name().to_owned(),
                    shape: tensor.shape().to_vec(),
                    architecture: self.config.architecture.name(),
                });
            }
        }
    }
}
