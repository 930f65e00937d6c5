//! A model's run under observation: the likeliest tokens after a prompt.

use std::ops::ControlFlow;

use engine::config::ModelConfig;
use engine::generate::{GenerateError, GenerateOptions, generate};
use engine::gguf::Gguf;
use engine::kv_cache::KvConfig;
use engine::model::{Model, ModelError};
use engine::sampler::{Sampler, SamplerConfig};
use engine::taps::NoTaps;
use kernels::decor::{AnyWatch, Watched};
use kernels::{Backend, DType};

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The model.
    pub gguf: &'a Gguf,
    /// What it is made of.
    pub config: &'a ModelConfig,
    /// The prompt.
    pub prompt: &'a [u32],
    /// Tokens to generate.
    pub tokens: usize,
    /// Rows of the prompt that run together.
    pub chunk: usize,
    /// Type of the cache.
    pub kv: DType,
}

impl Run<'_> {
    /// Runs on `backend` under observation by `watch`, to the end or to the first error.
    pub fn go<B: Backend>(&self, backend: B, watch: AnyWatch<'_, B>) -> Result<(), GenerateError> {
        let mut model = Model::load(Watched::new(backend, watch), self.gguf, self.config.clone())?;
        let slots = self.prompt.len() + self.tokens.saturating_sub(1);
        let cache = model.cache(KvConfig { dtype: self.kv, seqs: 1, slots });
        let mut cache = cache.map_err(ModelError::from)?;
        let greedy = Sampler::new(SamplerConfig::default());
        let mut greedy = greedy.map_err(|source| GenerateError::Sampler { step: 0, source })?;
        let options = GenerateOptions { max_tokens: self.tokens, chunk: self.chunk, stop: &|_| false };
        let go_on = |_| ControlFlow::Continue(());
        generate(&mut model, &mut cache, self.prompt, &mut greedy, options, &mut NoTaps, go_on).map(drop)
    }
}
