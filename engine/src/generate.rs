//! From a prompt to generated tokens: chunked prefill, then one token after another.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use kernels::Backend;

use crate::kv_cache::KvCache;
use crate::model::{Batch, Logits, Model, ModelError, Step};
use crate::sampler::{Sampler, SamplerError};
use crate::taps::TapSink;

/// How a text is generated.
#[derive(Clone, Copy)]
pub struct GenerateOptions<'a> {
    /// The most tokens to generate.
    pub max_tokens: usize,
    /// Rows of the prompt that run together; at least 1.
    pub chunk: usize,
    /// Tokens after which the model has finished. The token itself is still reported.
    pub stop: &'a dyn Fn(u32) -> bool,
}

/// Why a generation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finish {
    /// The model emitted a stop token.
    Stop,
    /// The limit of tokens was reached.
    Length,
    /// The caller stopped it.
    Caller,
}

impl Finish {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::Caller => "caller",
        }
    }
}

/// What was generated, and how long it took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generation {
    /// The tokens, a stop token included.
    pub tokens: Vec<u32>,
    /// Why the generation ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the prompt that were not in the cache already.
    pub prefilled_tokens: usize,
    /// Time to run the prompt.
    pub prefill: Duration,
    /// Time from the start to the first token.
    pub first_token: Duration,
    /// Time from the first token to the last.
    pub decode: Duration,
}

impl Generation {
    /// Tokens of the prompt per second.
    pub fn prefill_rate(&self) -> f64 {
        rate(self.prefilled_tokens, self.prefill)
    }

    /// Generated tokens per second, without the first one, whose logits come from the prefill.
    pub fn decode_rate(&self) -> f64 {
        rate(self.tokens.len().saturating_sub(1), self.decode)
    }
}

/// `count` per second; 0 if nothing was counted or no time has passed.
fn rate(count: usize, time: Duration) -> f64 {
    if count == 0 || time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// A generation that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GenerateError {
    /// No token of the prompt is left to run.
    #[error("the prompt has {prompt} tokens, of which the cache holds {held}: nothing is left to run")]
    EmptyPrompt {
        /// Tokens of the prompt.
        prompt: usize,
        /// Tokens of the sequence in the cache.
        held: usize,
    },
    /// No token can be chosen.
    #[error("step {step}: {source}")]
    Sampler {
        /// Step of the generation.
        step: usize,
        /// Why.
        source: SamplerError,
    },
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Appends `tokens` to sequence `seq` of the cache, `chunk` rows at a time, and returns the logits after the last one.
pub fn prefill<B: Backend>(
    model: &mut Model<B>,
    cache: &mut KvCache<B::Buffer>,
    seq: u32,
    tokens: &[u32],
    chunk: usize,
    taps: &mut dyn TapSink,
) -> Result<Logits, GenerateError> {
    cache.check_room(seq as usize, tokens.len()).map_err(ModelError::from)?;
    let mut last = None;
    let mut chunks = tokens.chunks(chunk.max(1)).peekable();
    while let Some(tokens) = chunks.next() {
        let mut batch = Batch::of(tokens, seq, position(cache, seq));
        if chunks.peek().is_some() {
            batch = batch.without_logits();
        }
        last = Some(model.forward(cache, &batch, Step::PREFILL, taps)?);
    }
    last.ok_or(GenerateError::EmptyPrompt { prompt: 0, held: cache.len(seq as usize) })
}

/// Continues `prompt` in sequence 0 and calls `on_token` with each token as it is generated.
///
/// The cache may hold the first tokens of the prompt already, as it does in a conversation; only the rest runs.
pub fn generate<B: Backend>(
    model: &mut Model<B>,
    cache: &mut KvCache<B::Buffer>,
    prompt: &[u32],
    sampler: &mut Sampler,
    options: GenerateOptions<'_>,
    taps: &mut dyn TapSink,
    mut on_token: impl FnMut(u32) -> ControlFlow<()>,
) -> Result<Generation, GenerateError> {
    let begin = Instant::now();
    let held = cache.len(0);
    let rest = prompt.get(held..).filter(|rest| !rest.is_empty());
    let rest = rest.ok_or(GenerateError::EmptyPrompt { prompt: prompt.len(), held })?;
    let mut logits = prefill(model, cache, 0, rest, options.chunk, taps)?;
    let prefill = begin.elapsed();
    let mut history = prompt.to_vec();
    let mut first_token = prefill;
    let mut finish = Finish::Length;
    for step in 1..=options.max_tokens {
        let token = sampler
            .sample(logits.last(), &history)
            .map_err(|source| GenerateError::Sampler { step: step - 1, source })?;
        history.push(token);
        if step == 1 {
            first_token = begin.elapsed();
        }
        let wanted = on_token(token);
        if (options.stop)(token) {
            finish = Finish::Stop;
            break;
        }
        if wanted.is_break() {
            finish = Finish::Caller;
            break;
        }
        if step < options.max_tokens {
            let batch = Batch::of(&[token], 0, position(cache, 0));
            logits = model.forward(cache, &batch, Step::decode(step), taps)?;
        }
    }
    let tokens = history.split_off(prompt.len());
    let decode = begin.elapsed().saturating_sub(first_token);
    Ok(Generation {
        tokens,
        finish,
        prompt_tokens: prompt.len(),
        prefilled_tokens: rest.len(),
        prefill,
        first_token,
        decode,
    })
}

/// The position of the next token of sequence `seq`.
fn position<Buf>(cache: &KvCache<Buf>, seq: u32) -> u32 {
    u32::try_from(cache.len(seq as usize))
        .expect("a sequence has at most MAX_POSITIONS tokens, which fit into u32")
}
