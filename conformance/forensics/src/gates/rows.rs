//! The logits after each token of a text, made in one of several ways that should not matter.

use conformance::registry::Job;
use engine::config::ModelConfig;
use engine::generate::GenerateError;
use engine::gguf::Gguf;
use engine::kv_cache::KvConfig;
use engine::model::{Batch, Model, ModelError, Row, Step};
use engine::taps::NoTaps;
use kernels::decor::{AnyWatch, Watched};
use kernels::{Backend, DType};
use serde::{Deserialize, Serialize};

use super::folder::Entry;

/// How the rows of a text go through the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// All at once.
    Whole,
    /// A few at a time.
    Chunked,
    /// One at a time, as when decoding.
    Decode,
    /// All at once, together with other sequences.
    Batched,
}

impl Way {
    /// All of them.
    pub const ALL: [Way; 4] = [Way::Whole, Way::Chunked, Way::Decode, Way::Batched];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Way::Whole => "whole",
            Way::Chunked => "chunked",
            Way::Decode => "decode",
            Way::Batched => "batched",
        }
    }

    /// Whether it goes another way than [`Way::Whole`] through a text of so many tokens, `chunk` at a time where it is chunked.
    pub const fn differs(self, tokens: usize, chunk: usize) -> bool {
        match self {
            Way::Whole => false,
            Way::Chunked => tokens > chunk,
            Way::Decode => tokens > 1,
            Way::Batched => tokens > 0,
        }
    }
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The model.
    pub gguf: &'a Gguf,
    /// What it is made of.
    pub config: &'a ModelConfig,
    /// The text.
    pub tokens: &'a [u32],
    /// Type of the cache.
    pub kv: DType,
    /// How.
    pub way: Way,
    /// Rows that run together in [`Way::Chunked`].
    pub chunk: usize,
}

impl Job for Rows<'_> {
    type Answer = Result<(String, Vec<Entry>), GenerateError>;

    fn run<B: Backend + 'static>(self, backend: B) -> Self::Answer {
        let device = backend.identity().device;
        let watch: AnyWatch<'_, B> = Box::new(());
        self.entries(Watched::new(backend, watch)).map(|entries| (device, entries))
    }
}

impl Rows<'_> {
    fn entries<B: Backend>(&self, backend: B) -> Result<Vec<Entry>, GenerateError> {
        let mut model = Model::load(backend, self.gguf, self.config.clone())?;
        let seqs = if self.way == Way::Batched { 3 } else { 1 };
        let config = KvConfig { dtype: self.kv, seqs, slots: self.tokens.len() };
        let mut cache = model.cache(config).map_err(ModelError::from)?;
        let mut entries = Vec::new();
        let size = match self.way {
            Way::Whole | Way::Batched => self.tokens.len().max(1),
            Way::Chunked => self.chunk.max(1),
            Way::Decode => 1,
        };
        let mut first = 0;
        for (number, tokens) in self.tokens.chunks(size).enumerate() {
            let step =
                if self.way == Way::Decode && number > 0 { Step::decode(number) } else { Step::PREFILL };
            let batch = if self.way == Way::Batched {
                self.batch()
            } else {
                Batch::of(tokens, 0, first).with_all_logits()
            };
            let logits = model.forward(&mut cache, &batch, step, &mut NoTaps)?;
            for (row, &token_id) in logits.rows().zip(tokens) {
                entries.push(Entry { token_idx: entries.len() as u64, token_id, logits: row.to_vec() });
            }
            first += u32::try_from(tokens.len()).unwrap_or(u32::MAX);
        }
        Ok(entries)
    }

    /// The text as sequence 1; before it and behind it the same backwards, and a part of it.
    fn batch(&self) -> Batch {
        let row = |seq, logits| move |(position, &token): (u32, &u32)| Row { token, seq, position, logits };
        let backwards: Vec<u32> = self.tokens.iter().rev().copied().collect();
        let mut rows: Vec<Row> = (0..).zip(&backwards).map(row(0, false)).collect();
        rows.extend((0..).zip(self.tokens).map(row(1, true)));
        rows.extend((0..).zip(&self.tokens[..self.tokens.len().div_ceil(2)]).map(row(2, false)));
        Batch::new(rows)
    }
}
