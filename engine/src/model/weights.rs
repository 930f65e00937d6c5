//! The weights of a model on a backend, found by their names in the loader.

use std::cell::RefCell;

use kernels::{Backend, HostMemory, Layout, View};

use super::{Loaded, ModelError};
use crate::config::{Architecture, ModelConfig};
use crate::gguf::Gguf;

/// A tensor of the file on the backend, dense and in the file's own format.
#[derive(Debug)]
pub(super) struct Weight<Buf> {
    buffer: Buf,
    layout: Layout,
}

impl<Buf> Weight<Buf> {
    pub(super) fn view(&self) -> View<'_, Buf> {
        View::new(&self.buffer, self.layout)
    }
}

/// A matrix `[out, in]` with an optional bias `[out]`.
#[derive(Debug)]
pub(super) struct Linear<Buf> {
    pub(super) weight: Weight<Buf>,
    pub(super) bias: Option<Weight<Buf>>,
}

/// The weights of a layer, in the order in which it uses them.
#[derive(Debug)]
pub(super) struct LayerWeights<Buf> {
    /// `[n_embd]`.
    pub(super) attn_norm: Weight<Buf>,
    /// `[n_head·head_dim, n_embd]`.
    pub(super) q: Linear<Buf>,
    /// `[n_kv_head·head_dim, n_embd]`.
    pub(super) k: Linear<Buf>,
    /// `[n_kv_head·head_dim, n_embd]`.
    pub(super) v: Linear<Buf>,
    /// `[head_dim]`, of `qwen3`.
    pub(super) q_norm: Option<Weight<Buf>>,
    /// `[head_dim]`, of `qwen3`.
    pub(super) k_norm: Option<Weight<Buf>>,
    /// `[n_embd, n_head·head_dim]`.
    pub(super) attn_output: Linear<Buf>,
    /// `[n_embd]`.
    pub(super) ffn_norm: Weight<Buf>,
    /// `[n_ff, n_embd]`.
    pub(super) gate: Linear<Buf>,
    /// `[n_ff, n_embd]`.
    pub(super) up: Linear<Buf>,
    /// `[n_embd, n_ff]`.
    pub(super) down: Linear<Buf>,
}

/// All weights of a model.
#[derive(Debug)]
pub(super) struct Weights<Buf> {
    /// `[vocab, n_embd]`.
    pub(super) embedding: Weight<Buf>,
    /// `[rope.dims / 2]`: Llama 3's divisor of each frequency.
    pub(super) rope_factors: Option<Weight<Buf>>,
    pub(super) layers: Vec<LayerWeights<Buf>>,
    /// `[n_embd]`.
    pub(super) output_norm: Weight<Buf>,
    /// `[vocab, n_embd]`; without it, the embedding table is used.
    output: Option<Weight<Buf>>,
}

impl<Buf> Weights<Buf> {
    pub(super) fn load<B: Backend<Buffer = Buf>>(
        backend: &B,
        stream: &B::Stream,
        gguf: &Gguf,
        config: &ModelConfig,
        watch: &mut dyn FnMut(Loaded),
    ) -> Result<Self, ModelError> {
        let all = gguf.tensors().iter().map(|tensor| tensor.range().len()).sum();
        let mut bytes = 0;
        let mut on_loaded = |more| {
            bytes += more;
            watch(Loaded { bytes, all });
        };
        let loader = Loader { backend, stream, gguf, on_loaded: RefCell::new(&mut on_loaded) };
        Ok(Weights {
            embedding: loader.weight("token_embd.weight")?,
            rope_factors: loader.optional("rope_freqs.weight")?,
            layers: (0..config.n_layer).map(|l| loader.layer(l, config)).collect::<Result<_, _>>()?,
            output_norm: loader.weight("output_norm.weight")?,
            output: loader.optional("output.weight")?,
        })
    }

    /// The matrix of the logits, `[vocab, n_embd]`.
    pub(super) fn output(&self) -> &Weight<Buf> {
        self.output.as_ref().unwrap_or(&self.embedding)
    }
}

/// Puts tensors of a file on a backend.
struct Loader<'a, B: Backend> {
    backend: &'a B,
    stream: &'a B::Stream,
    gguf: &'a Gguf,
    /// Called with the size of each loaded tensor, in bytes.
    on_loaded: RefCell<&'a mut dyn FnMut(usize)>,
}

impl<B: Backend> Loader<'_, B> {
    fn layer(&self, layer: usize, config: &ModelConfig) -> Result<LayerWeights<B::Buffer>, ModelError> {
        let weight = |suffix: &str| self.weight(&format!("blk.{layer}.{suffix}.weight"));
        let linear = |suffix: &str| {
            let bias = self.optional(&format!("blk.{layer}.{suffix}.bias"))?;
            Ok::<_, ModelError>(Linear { weight: weight(suffix)?, bias })
        };
        let has_head_norms = config.architecture == Architecture::Qwen3;
        let head_norm = |suffix: &str| has_head_norms.then(|| weight(suffix)).transpose();
        Ok(LayerWeights {
            attn_norm: weight("attn_norm")?,
            q: linear("attn_q")?,
            k: linear("attn_k")?,
            v: linear("attn_v")?,
            q_norm: head_norm("attn_q_norm")?,
            k_norm: head_norm("attn_k_norm")?,
            attn_output: linear("attn_output")?,
            ffn_norm: weight("ffn_norm")?,
            gate: linear("ffn_gate")?,
            up: linear("ffn_up")?,
            down: linear("ffn_down")?,
        })
    }

    fn weight(&self, name: &str) -> Result<Weight<B::Buffer>, ModelError> {
        self.optional(name)?.ok_or_else(|| ModelError::Missing { tensor: name.to_owned() })
    }

    fn optional(&self, name: &str) -> Result<Option<Weight<B::Buffer>>, ModelError> {
        let Some(tensor) = self.gguf.tensor(name) else { return Ok(None) };
        let memory = HostMemory::new(tensor.owner().clone(), tensor.range())
            .expect("the reader has checked that the file holds the tensor's range");
        let buffer = self
            .backend
            .load(self.stream, &memory, name)
            .map_err(|source| ModelError::Load { what: format!("tensor '{name}'"), source })?;
        (self.on_loaded.borrow_mut())(tensor.range().len());
        Ok(Some(Weight { buffer, layout: Layout::contiguous(tensor.dtype(), tensor.shape()) }))
    }
}
