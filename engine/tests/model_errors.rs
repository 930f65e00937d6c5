//! What the model and its cache refuse, with the numbers.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod tiny;

use backend_cpu::reference::Reference;
use engine::config::ModelConfig;
use engine::generate::{GenerateOptions, generate, prefill};
use engine::kv_cache::{CacheError, KvConfig};
use engine::model::{Batch, Model, ModelError, Row, Step};
use engine::sampler::{Sampler, SamplerConfig};
use engine::taps::NoTaps;
use kernels::DType;
use std::ops::ControlFlow;

type Change = fn(&mut ModelConfig);

/// The tiny llama with other numbers than its file has, as without the guard rail.
fn changed(change: impl FnOnce(&mut ModelConfig)) -> Result<Model<Reference>, ModelError> {
    let gguf = tiny::gguf("llama");
    let mut config = ModelConfig::from_gguf(&gguf).unwrap();
    change(&mut config);
    Model::load(Reference::default(), &gguf, config)
}

fn forward(model: &mut Model<Reference>, ids: &[u32]) -> Result<Vec<f32>, ModelError> {
    let mut cache = model.cache(KvConfig { dtype: DType::F32, seqs: 1, slots: 16 })?;
    let logits = model.forward(&mut cache, &Batch::of(ids, 0, 0), Step::PREFILL, &mut NoTaps)?;
    Ok(logits.values().to_vec())
}

fn error_of(change: impl FnOnce(&mut ModelConfig)) -> String {
    match changed(change) {
        Ok(mut model) => forward(&mut model, &[1, 2, 3]).unwrap_err().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn without_the_guard_rail_the_ops_refuse_wrong_numbers() {
    assert_eq!(error_of(|c| c.n_layer = 3), "tensor 'blk.2.attn_norm.weight' is missing");
    let cases: [(Change, &str, &str); 5] = [
        (|c| c.n_ff = 128, "step 0 (prefill), layer 0, gate: matmul: out: shape", "96"),
        (|c| c.n_embd = 32, "step 0 (prefill), embed_out: embed: out: shape", "64"),
        (|c| c.n_head = 8, "step 0 (prefill), layer 0, q: matmul: out: shape", "128"),
        (|c| c.n_kv_head = 1, "step 0 (prefill), layer 0, k: matmul: out: shape", "64"),
        (|c| c.head_dim = 16, "step 0 (prefill), layer 0, q: matmul: out: shape", "128"),
    ];
    for (change, site, number) in cases {
        let error = error_of(change);
        assert!(error.starts_with(site) && error.contains(number), "{error}");
    }
}

/// Memory is asked for by these numbers, so they are bounded by the file whatever the guard rail says.
#[test]
fn widths_beyond_every_tensor_are_refused_before_memory_is_asked_for() {
    let cases: [(Change, &str); 6] = [
        (|c| c.n_ff = usize::MAX, "the key 'feed_forward_length' is 18446744073709551615"),
        (|c| c.n_ff = 300, "the key 'feed_forward_length' is 300"),
        (|c| c.n_embd = 1 << 30, "the key 'embedding_length' is 1073741824"),
        (|c| c.n_head = 1 << 30, "the width of all heads is 34359738368"),
        (|c| c.head_dim = usize::MAX, "the width of all heads is 18446744073709551615"),
        (|c| c.vocab_size = 400, "the size of the vocabulary is 400"),
    ];
    for (change, numbers) in cases {
        let error = changed(change).map(drop).unwrap_err();
        assert!(!error.is_device(), "{error}");
        let want = format!("{numbers}, the largest extent of a tensor of the file is 299");
        assert_eq!(error.to_string(), want);
    }
}

#[test]
fn a_token_outside_the_vocabulary_is_refused() {
    let mut model = tiny::model("llama", Reference::default());
    let error = forward(&mut model, &[1, 299]).unwrap_err().to_string();
    assert!(
        error.starts_with("step 0 (prefill), embed_out: embed: ids: index") && error.contains("299"),
        "{error}"
    );
}

#[test]
fn context_overflow_names_the_numbers_and_changes_nothing() {
    let mut model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F32, 2, 8);
    prefill(&mut model, &mut cache, 1, &[1, 2, 3, 4, 5, 6], 4, &mut NoTaps).unwrap();
    let error = prefill(&mut model, &mut cache, 1, &[7, 8, 9], 2, &mut NoTaps).unwrap_err();
    let want = "context overflow: sequence 1 has 6 tokens, 3 more make 9, the context holds 8";
    assert_eq!(error.to_string(), want);
    let batch = Batch::of(&[7, 8, 9], 1, 6);
    let error = model.forward(&mut cache, &batch, Step::PREFILL, &mut NoTaps).unwrap_err();
    assert_eq!(error.to_string(), want);
    assert!(!error.is_device());
    assert_eq!((cache.len(0), cache.len(1)), (0, 6));
    prefill(&mut model, &mut cache, 1, &[7, 8], 2, &mut NoTaps).unwrap();
    assert_eq!(cache.len(1), 8);
}

#[test]
fn rows_that_do_not_continue_their_sequence_are_refused() {
    let mut model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F32, 2, 8);
    let row = |seq, position| Row { token: 1, seq, position, logits: true };
    let mut error = |rows: &[Row]| {
        let batch = Batch::new(rows.to_vec());
        model.forward(&mut cache, &batch, Step::PREFILL, &mut NoTaps).unwrap_err().to_string()
    };
    assert_eq!(error(&[]), "a batch without rows");
    assert_eq!(error(&[row(0, 0), row(2, 0)]), "row 1 is of sequence 2, the cache has 2");
    assert_eq!(error(&[row(0, 1)]), "row 0 is at position 1 of sequence 0, which continues at 0");
    assert_eq!(
        error(&[row(1, 0), row(0, 0), row(1, 0)]),
        "row 2 is at position 0 of sequence 1, which continues at 1"
    );
    assert!(cache.is_empty());
}

#[test]
fn sequences_are_cut_only_where_they_have_been() {
    let model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F32, 2, 8);
    assert_eq!(
        cache.truncate(1, 3).unwrap_err().to_string(),
        "sequence 1 has 0 tokens and cannot be cut to 3"
    );
    assert!(matches!(cache.truncate(2, 0), Err(CacheError::Sequence { seq: 2, seqs: 2, .. })));
    assert!(matches!(model.dump_cache(&cache, 2, 0), Err(CacheError::Layer { layer: 2, layers: 2 })));
}

#[test]
fn impossible_caches_are_refused() {
    let model = tiny::model("llama", Reference::default());
    let error = |dtype, seqs, slots| model.cache(KvConfig { dtype, seqs, slots }).unwrap_err().to_string();
    assert_eq!(error(DType::Q4_0, 1, 8), "a cache of q4_0 is not possible, want f32, f16, bf16 or q8_0");
    for (seqs, slots) in [(0, 8), (1, 0), (1, (1 << 20) + 1), (usize::MAX, 8)] {
        let want = format!("a cache of {seqs} sequences of {slots} positions is not possible");
        assert!(error(DType::F16, seqs, slots).starts_with(&want));
    }
    let narrow = changed(|c| c.head_dim = 16).unwrap();
    let error = narrow.cache(KvConfig { dtype: DType::Q8_0, seqs: 1, slots: 8 }).unwrap_err().to_string();
    assert_eq!(error, "a q8_0 cache needs heads of a multiple of 32 elements, this model's have 16");
}

#[test]
fn generation_stops_at_a_stop_token_or_when_told_to() {
    let want = tiny::expected("llama");
    let mut model = tiny::model("llama", Reference::default());
    let mut run = |stop: &dyn Fn(u32) -> bool, limit: usize| {
        let mut cache = tiny::cache(&model, DType::F32, 1, 64);
        let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
        let options = GenerateOptions { max_tokens: 10, chunk: 64, stop };
        let mut seen = 0;
        let on_token = |_| {
            seen += 1;
            if seen == limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let done = generate(&mut model, &mut cache, &want.ids, &mut sampler, options, &mut NoTaps, on_token);
        let done = done.unwrap();
        (done.tokens, done.finish.name())
    };
    let third = want.greedy[2];
    assert_eq!(run(&|id| id == third, 99), (want.greedy[..3].to_vec(), "stop"));
    assert_eq!(run(&|_| false, 2), (want.greedy[..2].to_vec(), "caller"));
    assert_eq!(run(&|_| false, 99), (want.greedy[..10].to_vec(), "length"));
}

#[test]
fn a_prompt_that_the_cache_holds_already_is_refused() {
    let mut model = tiny::model("llama", Reference::default());
    let mut cache = tiny::cache(&model, DType::F32, 1, 8);
    prefill(&mut model, &mut cache, 0, &[1, 2], 8, &mut NoTaps).unwrap();
    let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
    let options = GenerateOptions { max_tokens: 1, chunk: 8, stop: &|_| false };
    let done = generate(&mut model, &mut cache, &[1, 2], &mut sampler, options, &mut NoTaps, |_| {
        ControlFlow::Break(())
    });
    let want = "the prompt has 2 tokens, of which the cache holds 2: nothing is left to run";
    assert_eq!(done.unwrap_err().to_string(), want);
}
