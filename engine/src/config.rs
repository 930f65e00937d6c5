//! The numbers that describe a model, from the file's metadata.
//!
//! Each value is checked by itself here (positive, even, in range). The guard rail checks that they agree with the
//! tensors.

use std::fmt;

use kernels::ops::rope::{Pairing, Scaling};

use crate::gguf::{Gguf, GgufError, Metadata, Value};

/// Families of models whose layers the engine can run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Architecture {
    /// Llama 2 and 3, Mistral, TinyLlama, SmolLM2.
    Llama,
    /// Qwen 2 and 2.5: biases on q, k and v.
    Qwen2,
    /// Qwen 3: norms on q and k.
    Qwen3,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Llama, Self::Qwen2, Self::Qwen3];

    /// Name in `general.architecture`, and prefix of the keys.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
        }
    }

    /// Which elements of a head rotate together, given how GGUF orders the rows of q and k.
    pub fn pairing(self) -> Pairing {
        match self {
            Self::Llama => Pairing::Interleaved,
            Self::Qwen2 | Self::Qwen3 => Pairing::Neox,
        }
    }
}

/// Rotary position embedding of a model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RopeConfig {
    /// Which elements rotate together.
    pub pairing: Pairing,
    /// Leading elements of each head that rotate; even, at most the head's length.
    pub dims: usize,
    /// Base of the geometric series of frequencies.
    pub base: f32,
    /// Stretching of the angles.
    pub scaling: Scaling,
    /// The file has `rope_freqs.weight`, a divisor for each frequency.
    pub has_factors: bool,
}

/// The numbers that describe a model.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelConfig {
    /// Architecture.
    pub architecture: Architecture,
    /// Name for people, if the file has one.
    pub name: Option<String>,
    /// Layers.
    pub n_layer: usize,
    /// Width of the residual stream.
    pub n_embd: usize,
    /// Width inside the feed-forward part.
    pub n_ff: usize,
    /// Query heads.
    pub n_head: usize,
    /// Key and value heads; divides `n_head`.
    pub n_kv_head: usize,
    /// Elements of a head.
    pub head_dim: usize,
    /// Tokens.
    pub vocab_size: usize,
    /// Positions the model was trained for.
    pub context_length: usize,
    /// Added under the root in each RMSNorm.
    pub rms_eps: f32,
    /// Rotary position embedding.
    pub rope: RopeConfig,
    /// The file's `attention.sliding_window`; see [`ModelConfig::window`].
    pub sliding_window: Option<usize>,
    /// The file has no `output.weight`; the embedding table is used for the logits too.
    pub tied_embeddings: bool,
}

/// Metadata of a model that the engine cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A key is missing or of the wrong type.
    #[error(transparent)]
    Metadata(#[from] GgufError),
    /// An architecture that the engine does not know.
    #[error("key 'general.architecture': '{found}' is not supported, want one of llama, qwen2, qwen3")]
    Architecture {
        /// The value in the file.
        found: String,
    },
    /// A number that is impossible.
    #[error("key '{key}': {found} {problem}")]
    Value {
        /// The key.
        key: String,
        /// The number in the file.
        found: String,
        /// What is wrong with it, with the other number.
        problem: String,
    },
    /// Something the engine does not implement.
    #[error("key '{key}': '{found}' is not supported, want {want}")]
    Unsupported {
        /// The key.
        key: String,
        /// The value in the file.
        found: String,
        /// The accepted values.
        want: &'static str,
    },
}

impl ModelConfig {
    /// Reads the keys of the file's architecture.
    pub fn from_gguf(gguf: &Gguf) -> Result<Self, ConfigError> {
        let meta = gguf.metadata();
        let found = meta.str("general.architecture")?;
        let architecture = Architecture::ALL.into_iter().find(|a| a.name() == found);
        let architecture =
            architecture.ok_or_else(|| ConfigError::Architecture { found: found.to_owned() })?;
        let keys = Keys { meta, prefix: architecture.name() };
        keys.reject_experts()?;

        let n_embd = keys.count("embedding_length")?;
        let n_head = keys.count("attention.head_count")?;
        let n_kv_head = keys.opt_count("attention.head_count_kv")?.unwrap_or(n_head);
        if !n_head.is_multiple_of(n_kv_head) {
            return Err(keys.problem(
                "attention.head_count_kv",
                &n_kv_head,
                format!("does not divide {n_head} heads"),
            ));
        }
        let head_dim = keys.head_dim(n_embd, n_head)?;
        let context_length = keys.count_u32("context_length")?;
        let rope = RopeConfig {
            pairing: architecture.pairing(),
            dims: keys.rope_dims(head_dim)?,
            base: keys.positive("rope.freq_base")?.unwrap_or(10_000.0),
            scaling: keys.scaling(context_length)?,
            has_factors: gguf.tensor("rope_freqs.weight").is_some(),
        };
        let eps_key = "attention.layer_norm_rms_epsilon";
        let rms_eps =
            keys.positive(eps_key)?.ok_or_else(|| GgufError::MissingKey { key: keys.name(eps_key) })?;
        Ok(Self {
            architecture,
            name: meta.opt_str("general.name")?.map(str::to_owned),
            n_layer: keys.count("block_count")?,
            n_embd,
            n_ff: keys.count("feed_forward_length")?,
            n_head,
            n_kv_head,
            head_dim,
            vocab_size: keys.vocab_size()?,
            context_length: context_length as usize,
            rms_eps,
            rope,
            sliding_window: keys.window()?,
            tied_embeddings: gguf.tensor("output.weight").is_none(),
        })
    }

    /// Positions that a query sees at most, itself included; `None` for all positions up to its own.
    ///
    /// The key counts for `llama` only (Mistral 7B v0.1, where every layer slides). Files of Qwen models may have the key
    /// although the models attend to everything. llama.cpp ignores the key for `llama` too, which makes no difference
    /// until the window is full.
    pub fn window(&self) -> Option<usize> {
        match self.architecture {
            Architecture::Llama => self.sliding_window,
            Architecture::Qwen2 | Architecture::Qwen3 => None,
        }
    }

    /// A key of this model's architecture, e.g. `llama.block_count`.
    pub fn key(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.architecture.name())
    }
}

/// The metadata seen through one architecture's prefix.
struct Keys<'a> {
    meta: &'a Metadata,
    prefix: &'static str,
}

impl Keys<'_> {
    fn name(&self, suffix: &str) -> String {
        format!("{}.{suffix}", self.prefix)
    }

    fn problem(&self, suffix: &str, found: &dyn fmt::Display, problem: impl Into<String>) -> ConfigError {
        ConfigError::Value { key: self.name(suffix), found: found.to_string(), problem: problem.into() }
    }

    /// A count of at least 1.
    fn count(&self, suffix: &str) -> Result<usize, ConfigError> {
        self.count_u32(suffix).map(|n| n as usize)
    }

    fn count_u32(&self, suffix: &str) -> Result<u32, ConfigError> {
        match self.meta.u32(&self.name(suffix))? {
            0 => Err(self.problem(suffix, &0, "is less than 1")),
            n => Ok(n),
        }
    }

    fn opt_count(&self, suffix: &str) -> Result<Option<usize>, ConfigError> {
        Ok(self.opt_count_u32(suffix)?.map(|n| n as usize))
    }

    fn opt_count_u32(&self, suffix: &str) -> Result<Option<u32>, ConfigError> {
        if self.meta.get(&self.name(suffix)).is_some() { self.count_u32(suffix).map(Some) } else { Ok(None) }
    }

    fn positive(&self, suffix: &str) -> Result<Option<f32>, ConfigError> {
        match self.meta.opt_f32(&self.name(suffix))? {
            Some(x) if !(x.is_finite() && x > 0.0) => {
                Err(self.problem(suffix, &x, "is not finite and positive"))
            }
            other => Ok(other),
        }
    }

    fn reject_experts(&self) -> Result<(), ConfigError> {
        match self.meta.opt_u32(&self.name("expert_count"))? {
            None | Some(0) => Ok(()),
            Some(n) => Err(ConfigError::Unsupported {
                key: self.name("expert_count"),
                found: n.to_string(),
                want: "a model without experts",
            }),
        }
    }

    fn head_dim(&self, n_embd: usize, n_head: usize) -> Result<usize, ConfigError> {
        let key_length = self.opt_count("attention.key_length")?;
        if key_length.is_none() && !n_embd.is_multiple_of(n_head) {
            let problem = format!("does not divide an embedding length of {n_embd}");
            return Err(self.problem("attention.head_count", &n_head, problem));
        }
        let head_dim = key_length.unwrap_or(n_embd / n_head);
        match self.opt_count("attention.value_length")? {
            Some(found) if found != head_dim => {
                let problem = format!("differs from the key length of {head_dim}");
                Err(self.problem("attention.value_length", &found, problem))
            }
            _ => Ok(head_dim),
        }
    }

    fn rope_dims(&self, head_dim: usize) -> Result<usize, ConfigError> {
        let dims = self.opt_count("rope.dimension_count")?.unwrap_or(head_dim);
        if dims > head_dim || !dims.is_multiple_of(2) {
            let problem = format!("is not an even number of at most {head_dim}, the length of a head");
            return Err(self.problem("rope.dimension_count", &dims, problem));
        }
        Ok(dims)
    }

    /// The scaling that the file names. Llama 3's frequency factors are a tensor, not a scaling.
    fn scaling(&self, context_length: u32) -> Result<Scaling, ConfigError> {
        let factor = match self.positive("rope.scaling.factor")? {
            Some(factor) => Some(factor),
            None => self.positive("rope.scale_linear")?,
        };
        let key = self.name("rope.scaling.type");
        match self.meta.opt_str(&key)?.unwrap_or("linear") {
            "none" => Ok(Scaling::None),
            "linear" => match factor {
                None | Some(1.0) => Ok(Scaling::None),
                Some(factor) => Ok(Scaling::Linear { factor }),
            },
            "yarn" => {
                let factor =
                    factor.ok_or_else(|| GgufError::MissingKey { key: self.name("rope.scaling.factor") })?;
                if factor < 1.0 {
                    return Err(self.problem("rope.scaling.factor", &factor, "is less than 1"));
                }
                let original = self.opt_count_u32("rope.scaling.original_context_length")?;
                Ok(Scaling::Yarn {
                    factor,
                    original_context: original.unwrap_or(context_length),
                    beta_fast: self.positive("rope.scaling.yarn_beta_fast")?.unwrap_or(32.0),
                    beta_slow: self.positive("rope.scaling.yarn_beta_slow")?.unwrap_or(1.0),
                    extrapolation: self.positive("rope.scaling.yarn_ext_factor")?.unwrap_or(1.0),
                    attention: self.positive("rope.scaling.attn_factor")?.unwrap_or(1.0),
                })
            }
            other => {
                Err(ConfigError::Unsupported { key, found: other.to_owned(), want: "none, linear or yarn" })
            }
        }
    }

    fn window(&self) -> Result<Option<usize>, ConfigError> {
        let window = self.meta.opt_u32(&self.name("attention.sliding_window"))?;
        Ok(window.filter(|&w| w > 0).map(|w| w as usize))
    }

    fn vocab_size(&self) -> Result<usize, ConfigError> {
        if let Some(n) = self.opt_count("vocab_size")? {
            return Ok(n);
        }
        match self.meta.get("tokenizer.ggml.tokens") {
            Some(Value::Array(tokens)) => Ok(tokens.len),
            _ => Err(GgufError::MissingKey { key: self.name("vocab_size") }.into()),
        }
    }
}
