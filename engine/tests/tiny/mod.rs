//! The models of `golden/tiny` and what they should answer.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs;
use std::path::PathBuf;

use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::kv_cache::{KvCache, KvConfig};
use engine::model::{Batch, Model, Step};
use engine::taps::NoTaps;
use engine::{guard_rail, tokenizer::Tokenizer};
use kernels::{Backend, DType};
use safetensors::SafeTensors;

pub const NAMES: [&str; 4] = ["llama", "mixed", "qwen2", "qwen3"];

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../golden/tiny").join(format!("{name}.gguf"))
}

pub fn gguf(name: &str) -> Gguf {
    Gguf::open(path(name)).unwrap()
}

pub fn model<B: Backend>(name: &str, backend: B) -> Model<B> {
    let gguf = gguf(name);
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    guard_rail::enforce(&config, &gguf, true).unwrap();
    Model::load(backend, &gguf, config).unwrap()
}

pub fn tokenizer(name: &str) -> Tokenizer {
    Tokenizer::from_metadata(gguf(name).metadata()).unwrap()
}

pub fn cache<B: Backend>(model: &Model<B>, dtype: DType, seqs: usize, slots: usize) -> KvCache<B::Buffer> {
    model.cache(KvConfig { dtype, seqs, slots }).unwrap()
}

/// Logits after each of `ids`, in one pass from the start.
pub fn all_logits<B: Backend>(model: &mut Model<B>, dtype: DType, ids: &[u32]) -> Vec<f32> {
    let mut cache = cache(model, dtype, 1, ids.len());
    let batch = Batch::of(ids, 0, 0).with_all_logits();
    model.forward(&mut cache, &batch, Step::PREFILL, &mut NoTaps).unwrap().values().to_vec()
}

/// What numpy computed.
pub struct Expected {
    pub ids: Vec<u32>,
    /// After each of `ids`, `[ids, vocab]`.
    pub logits: Vec<f64>,
    pub vocab: usize,
    pub greedy: Vec<u32>,
}

pub fn expected(name: &str) -> Expected {
    let bytes = fs::read(path(name).with_extension("safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let ids = |name: &str| -> Vec<u32> {
        let (words, _) = file.tensor(name).unwrap().data().as_chunks::<4>();
        words.iter().map(|w| u32::from_le_bytes(*w)).collect()
    };
    let logits = file.tensor("logits").unwrap();
    let (words, _) = logits.data().as_chunks::<8>();
    Expected {
        ids: ids("ids"),
        logits: words.iter().map(|w| f64::from_le_bytes(*w)).collect(),
        vocab: logits.shape()[1],
        greedy: ids("greedy"),
    }
}

/// Largest difference relative to the largest logit.
pub fn deviation(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    let largest = want.iter().fold(0.0_f64, |m, w| m.max(w.abs()));
    let differences = got.iter().zip(want).map(|(&g, w)| (f64::from(g) - w).abs());
    // A NaN must not disappear in a maximum.
    differences.fold(0.0, |m, d| if d <= m { m } else { d }) / largest
}
