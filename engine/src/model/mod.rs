//! A model that runs: weights on a backend, and the forward pass over a batch of tokens.
//!
//! [`forward`](Model::forward) takes rows of any sequences at any positions, writes their keys and values to the
//! [cache](crate::kv_cache::KvCache), and returns the logits of the rows that ask for them. Prefill, chunked
//! prefill, decoding and batches of several sequences are the same call with other rows.
//!
//! * `layer` is the model: one line per op, in the order in which a layer runs. The architectures differ in which
//!   weights there are (biases for `qwen2`, norms on q and k for `qwen3`) and in the numbers of [`ModelConfig`].
//! * `pass` turns such a line into an op of the contract, validates it, launches it, and passes its result to the
//!   [taps](crate::taps).
//! * `weights` finds the tensors by name and puts them on the backend, `scratch` holds the activations.

mod buffer_pool;
mod error;
mod indices;
mod layer;
mod logits;
mod pass;
mod scratch;
mod weights;

use kernels::Backend;

use crate::config::ModelConfig;
use crate::gguf::{Gguf, Tensor};
use crate::kv_cache::{CacheError, KvCache, KvConfig};
use crate::taps::{Phase, TapSink};

pub use crate::batch::{Batch, Row};
pub use error::ModelError;
pub use logits::Logits;

use buffer_pool::BufferPool;
use indices::Indices;
use pass::Pass;
use scratch::Scratch;
use weights::Weights;

/// A model on a backend.
#[derive(Debug)]
pub struct Model<B: Backend> {
    backend: B,
    /// Ops and copies to the host.
    stream: B::Stream,
    /// Copies to the device. `stream` waits for them by an event.
    uploads: B::Stream,
    config: ModelConfig,
    weights: Weights<B::Buffer>,
    /// Activations, for as many rows as the largest batch so far.
    scratch: Option<Scratch<B::Buffer>>,
    /// Host memory for logits.
    host: BufferPool,
}

/// Which forward pass of a generation this is; for taps and logs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// 0 for the whole prefill, then 1, 2, … for each decoded token.
    pub number: usize,
    /// Prefill or decode.
    pub phase: Phase,
}

impl Step {
    /// The prompt, or a part of it.
    pub const PREFILL: Step = Step { number: 0, phase: Phase::Prefill };

    /// The pass that runs the `number`-th generated token, from 1.
    pub const fn decode(number: usize) -> Self {
        Step { number, phase: Phase::Decode }
    }
}

/// Progress of loading the weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// Bytes of the tensors handed to the backend so far. The backend may still be copying the last few.
    pub bytes: usize,
    /// Bytes of all tensors of the file.
    pub all: usize,
}

impl<B: Backend> Model<B> {
    /// Puts the weights of `gguf` on `backend`, without a copy where it can read them in place.
    ///
    /// The [guard rail](crate::guard_rail) checks before this that the tensors match `config`. If it was overridden, a missing
    /// tensor is an error here, as is a width beyond every tensor, and a wrong shape is an error of the first op that uses it.
    pub fn load(backend: B, gguf: &Gguf, config: ModelConfig) -> Result<Self, ModelError> {
        Self::load_watched(backend, gguf, config, &mut |_| ())
    }

    /// As [`Model::load`]; calls `watch` with the progress after each tensor.
    pub fn load_watched(
        backend: B,
        gguf: &Gguf,
        config: ModelConfig,
        watch: &mut dyn FnMut(Loaded),
    ) -> Result<Self, ModelError> {
        check_extents(gguf, &config)?;
        let device = |source| ModelError::Load { what: "weights".into(), source };
        let stream = backend.stream().map_err(device)?;
        let uploads = backend.stream().map_err(device)?;
        let weights = Weights::load(&backend, &uploads, gguf, &config, watch)?;
        backend.synchronize(&uploads).map_err(device)?;
        Ok(Model { backend, stream, uploads, config, weights, scratch: None, host: BufferPool::default() })
    }

    /// The numbers that describe the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The backend that it runs on.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// An empty cache for this model.
    pub fn cache(&self, config: KvConfig) -> Result<KvCache<B::Buffer>, CacheError> {
        KvCache::new(&self.backend, &self.config, config)
    }

    /// Keys and values of one sequence in one layer, each f32 `[length, kv_heads, head_dim]`.
    pub fn dump_cache(
        &self,
        cache: &KvCache<B::Buffer>,
        layer: usize,
        seq: usize,
    ) -> Result<[Vec<f32>; 2], CacheError> {
        cache.dump(&self.backend, &self.stream, layer, seq)
    }

    /// Runs `batch` and returns the logits of the rows that ask for them, in their order.
    ///
    /// On an error the cache keeps the length it had; what was written beyond it is never read.
    pub fn forward(
        &mut self,
        cache: &mut KvCache<B::Buffer>,
        batch: &Batch,
        step: Step,
        taps: &mut dyn TapSink,
    ) -> Result<Logits, ModelError> {
        let lengths = cache.lengths_after(batch.rows())?;
        let outputs = batch.output_rows();
        let scratch =
            Self::scratch(&mut self.scratch, &self.backend, &self.config, batch.rows().len(), outputs.len())?;
        let indices = Indices::upload(&self.backend, &self.uploads, &self.stream, batch)?;
        let mut pass =
            Pass::new(&self.backend, &self.stream, &self.config, cache.slots(), indices, step, taps);
        layer::embed(&mut pass, &self.weights, scratch)?;
        for (l, weights) in self.weights.layers.iter().enumerate() {
            layer::layer(&mut pass, l, weights, self.weights.rope_factors.as_ref(), scratch, cache)?;
        }
        let values = layer::logits(&mut pass, &self.weights, scratch, &outputs, &self.host)?;
        cache.set_lengths(lengths);
        Ok(Logits::new(values, self.config.vocab_size))
    }

    /// Buffers for `rows` rows, of which `outputs` have logits. Allocates only if those in `slot` are too small.
    fn scratch<'s>(
        slot: &'s mut Option<Scratch<B::Buffer>>,
        backend: &B,
        config: &ModelConfig,
        rows: usize,
        outputs: usize,
    ) -> Result<&'s mut Scratch<B::Buffer>, ModelError> {
        let (mut want_rows, mut want_outputs) = (rows, outputs);
        if let Some(scratch) = slot.take() {
            if scratch.holds(rows, outputs) {
                return Ok(slot.insert(scratch));
            }
            (want_rows, want_outputs) = (rows.max(scratch.rows()), outputs.max(scratch.outputs()));
        }
        Ok(slot.insert(Scratch::new(backend, config, want_rows, want_outputs)?))
    }
}

/// Refuses widths that no tensor of the file has room for: activations and cache are as wide as the metadata say, and their memory
/// is bounded by the file.
fn check_extents(gguf: &Gguf, c: &ModelConfig) -> Result<(), ModelError> {
    let largest = gguf.tensors().iter().flat_map(Tensor::shape).max().copied().unwrap_or(0);
    let widths = [
        ("the key 'embedding_length'", c.n_embd),
        ("the key 'feed_forward_length'", c.n_ff),
        ("the width of all heads", c.n_head.saturating_mul(c.head_dim)),
        ("the width of all heads of keys", c.n_kv_head.saturating_mul(c.head_dim)),
        ("the size of the vocabulary", c.vocab_size),
    ];
    match widths.into_iter().find(|&(_, found)| found > largest) {
        Some((what, found)) => Err(ModelError::NoSuchExtent { what, found, largest }),
        None => Ok(()),
    }
}
