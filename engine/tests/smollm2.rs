//! SmolLM2-135M against what llama.cpp recorded for it.
//!
//! `ASSAY_MODEL` names the model file, which `golden/fetch_model.sh` fetches; without it the trials are ignored, with the reason. The records
//! are in `golden/smollm2`: `f32_kvf32` has f32 activations and an f32 cache on the same weights, so that the reference backend with an
//! f32 cache has to agree with it up to llama.cpp's own rounding.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod second_reader;

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use backend_cpu::fast::Fast;
use backend_cpu::reference::Reference;
use backend_hip::{HipBackend, Options};
use engine::config::ModelConfig;
use engine::generate::{GenerateOptions, generate};
use engine::gguf::Gguf;
use engine::guard_rail;
use engine::kv_cache::KvConfig;
use engine::model::{Batch, Model, Step};
use engine::sampler::{Sampler, SamplerConfig};
use engine::taps::NoTaps;
use engine::tokenizer::{EncodeOptions, Tokenizer};
use kernels::{Backend, DType};

/// How far logits may be from llama.cpp's.
const TOLERANCE: f32 = 5e-5;

/// Rows of a pass: the reference keeps what its bounds need for each logit of each row.
const CHUNK: usize = 16;

fn main() -> ExitCode {
    test_needs::run(test_needs::trials![test_needs::model();
        reference_follows_llama_cpp_on_exact_activations,
        fast_backend_follows_llama_cpp_on_exact_activations,
        software_device_follows_llama_cpp,
        fast_backend_generates_the_recorded_text,
        eight_bit_activations_stay_close_to_exact_ones,
        eight_bit_activations_cost_less_than_half_a_percent_of_perplexity,
        a_real_model_passes_the_guard_rail,
        a_second_reader_agrees_on_a_real_model,
    ])
}

struct Record {
    prompt_ids: Vec<u32>,
    gen_ids: Vec<u32>,
    /// After the prompt.
    logits: Vec<f32>,
    /// The most likely ids at each step with their logits, best first.
    best: Vec<Vec<(u32, f32)>>,
}

fn record(folder: &Path, prompt: usize) -> Record {
    let file = folder.join(format!("f32_kvf32.p{prompt}.json"));
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let ids = |key: &str| -> Vec<u32> { serde_json::from_value(json[key].clone()).unwrap() };
    let bytes = fs::read(folder.join(format!("f32_kvf32.p{prompt}.logits.f32"))).unwrap();
    let (words, _) = bytes.as_chunks::<4>();
    let logits = words.iter().map(|w| f32::from_le_bytes(*w)).collect();
    // On record for the first prompt alone.
    let best = json
        .get("top10_logits_per_step")
        .map_or_else(Vec::new, |v| serde_json::from_value(v.clone()).unwrap());
    Record { prompt_ids: ids("prompt_ids"), gen_ids: ids("gen_ids"), logits, best }
}

/// The folder of the records.
fn records() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/smollm2")
}

fn setup(model: &Path) -> (Gguf, ModelConfig, PathBuf) {
    let gguf = Gguf::open(model).unwrap();
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    guard_rail::enforce(&config, &gguf, true).unwrap();
    (gguf, config, records())
}

fn argmax(logits: &[f32]) -> u32 {
    let mut greedy = Sampler::new(SamplerConfig::default()).unwrap();
    greedy.sample(logits, &[]).unwrap()
}

/// Runs prompt and recorded continuation through the model and compares what it would have said at each step. Because chunked and
/// single-token passes give the same bits (`tests/forward.rs`), this is the greedy generation.
fn follows_the_record<B: Backend>(model: &mut Model<B>, folder: &Path) {
    for prompt in 0..4 {
        let Record { prompt_ids, gen_ids, logits: want, .. } = record(folder, prompt);
        let ids = [&prompt_ids[..], &gen_ids].concat();
        let config = KvConfig { dtype: DType::F32, seqs: 1, slots: ids.len() };
        let mut cache = model.cache(config).unwrap();
        let begin = Instant::now();
        let mut steps = Vec::new();
        let mut worst = f32::NAN;
        for (at, chunk) in ids.chunks(CHUNK).enumerate() {
            let first = u32::try_from(at * CHUNK).unwrap();
            let batch = Batch::of(chunk, 0, first).with_all_logits();
            let logits = model.forward(&mut cache, &batch, Step::PREFILL, &mut NoTaps).unwrap();
            for (row, position) in logits.rows().zip(at * CHUNK..) {
                if position + 1 == prompt_ids.len() {
                    assert_eq!(row.len(), want.len());
                    worst = row.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                }
                steps.push(argmax(row));
            }
        }
        let seconds = begin.elapsed().as_secs_f64();
        eprintln!(
            "p{prompt}: {} + {} tokens, largest difference {worst:.2e}, {seconds:.1} s",
            prompt_ids.len(),
            gen_ids.len()
        );
        assert!(worst <= TOLERANCE, "p{prompt}: {worst:e}");
        // The last recorded token has no successor on record.
        assert_eq!(steps[prompt_ids.len() - 1..ids.len() - 1], gen_ids, "p{prompt}");
    }
}

fn reference_follows_llama_cpp_on_exact_activations(model: &Path) {
    let (gguf, config, folder) = setup(model);
    let mut model = Model::load(Reference::default(), &gguf, config).unwrap();
    follows_the_record(&mut model, &folder);
}

fn fast_backend_follows_llama_cpp_on_exact_activations(model: &Path) {
    let (gguf, config, folder) = setup(model);
    let mut model = Model::load(Fast::exact(0), &gguf, config).unwrap();
    follows_the_record(&mut model, &folder);
}

/// The rail has nothing to say about a sound model file.
fn a_real_model_passes_the_guard_rail(model: &Path) {
    let gguf = Gguf::open(model).unwrap();
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    assert_eq!(guard_rail::check(&config, &gguf), []);
}

fn a_second_reader_agrees_on_a_real_model(model: &Path) {
    second_reader::assert_agrees(&fs::read(model).unwrap(), &Gguf::open(model).unwrap());
}

/// Tokens after the first prompt for which the software device is asked.
const DECODED: usize = 3;

/// HIP kernels on the software device: a prompt at once, then tokens one at a time, each the recorded one.
fn software_device_follows_llama_cpp(model: &Path) {
    let (gguf, config, folder) = setup(model);
    let backend = HipBackend::software(softhip::control::Options::default(), Options::default()).unwrap();
    let mut told = Vec::new();
    let mut model = Model::load_watched(backend, &gguf, config, &mut |loaded| told.push(loaded)).unwrap();
    assert!(told.is_sorted_by(|one, next| one.bytes < next.bytes), "{told:?}");
    assert!(told.last().is_some_and(|end| end.bytes == end.all), "{told:?}");
    let Record { prompt_ids, gen_ids, logits: want, best } = record(&folder, 0);
    let slots = prompt_ids.len() + DECODED;
    let mut cache = model.cache(KvConfig { dtype: DType::F32, seqs: 1, slots }).unwrap();
    let mut batch = Batch::of(&prompt_ids, 0, 0);
    for step in 0..=DECODED {
        let begin = Instant::now();
        let phase = if step == 0 { Step::PREFILL } else { Step::decode(step) };
        let logits = model.forward(&mut cache, &batch, phase, &mut NoTaps).unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        let logits = logits.last();
        // Of every logit after the prompt, then of the ten best on record.
        let worst = if step == 0 {
            logits.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        } else {
            best[step].iter().map(|&(id, b)| (logits[id as usize] - b).abs()).fold(0.0, f32::max)
        };
        eprintln!("step {step}: largest difference {worst:.2e}, {seconds:.1} s");
        assert!(worst <= TOLERANCE, "step {step}: {worst:e}");
        let margin = best[step][0].1 - best[step][1].1;
        assert!(margin > 2.0 * TOLERANCE, "step {step} is as good as a tie: {margin:e}");
        assert_eq!(argmax(logits), gen_ids[step], "step {step}");
        batch = Batch::of(&gen_ids[step..=step], 0, u32::try_from(prompt_ids.len() + step).unwrap());
    }
}

/// The first recorded prompt, token by token, through the whole decode loop.
fn fast_backend_generates_the_recorded_text(model: &Path) {
    let (gguf, config, folder) = setup(model);
    let mut model = Model::load(Fast::exact(0), &gguf, config).unwrap();
    let Record { prompt_ids, gen_ids, .. } = record(&folder, 0);
    let config = KvConfig { dtype: DType::F32, seqs: 1, slots: prompt_ids.len() + gen_ids.len() };
    let mut cache = model.cache(config).unwrap();
    let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
    let options = GenerateOptions { max_tokens: gen_ids.len(), chunk: 512, stop: &|_| false };
    let on_token = |_| ControlFlow::Continue(());
    let done = generate(&mut model, &mut cache, &prompt_ids, &mut sampler, options, &mut NoTaps, on_token);
    let done = done.unwrap();
    eprintln!("prefill {:.1} tokens/s, decode {:.1} tokens/s", done.prefill_rate(), done.decode_rate());
    assert_eq!(done.tokens, gen_ids);
}

/// How far logits of 8-bit activations may be from those of exact ones: mean of squared differences over that of squares, and
/// Kullback-Leibler divergence of the next token's distribution in nats. Measured: NMSE 3.7e-5 to 4.3e-3, KL 6.5e-4 to 2.7e-2. A bit
/// less would make the errors four times as large.
const EIGHT_BIT_NMSE: f64 = 8e-3;
const EIGHT_BIT_KL: f64 = 0.05;

fn eight_bit_activations_stay_close_to_exact_ones(model: &Path) {
    let (gguf, config, folder) = setup(model);
    let mut model = Model::load(Fast::default(), &gguf, config).unwrap();
    for prompt in 0..4 {
        let Record { prompt_ids, logits: want, .. } = record(&folder, prompt);
        let config = KvConfig { dtype: DType::F32, seqs: 1, slots: prompt_ids.len() };
        let mut cache = model.cache(config).unwrap();
        let batch = Batch::of(&prompt_ids, 0, 0);
        let logits = model.forward(&mut cache, &batch, Step::PREFILL, &mut NoTaps).unwrap();
        let (nmse, divergence) = (nmse(logits.last(), &want), divergence(logits.last(), &want));
        eprintln!("p{prompt}: NMSE {nmse:.2e}, KL {divergence:.2e}");
        assert!(nmse < EIGHT_BIT_NMSE && divergence < EIGHT_BIT_KL, "p{prompt}: {nmse:e}, {divergence:e}");
        assert!(nmse > 0.0, "activations were not rounded");
    }
}

fn nmse(got: &[f32], want: &[f32]) -> f64 {
    assert_eq!(got.len(), want.len());
    let difference: f64 = got.iter().zip(want).map(|(g, w)| f64::from(g - w).powi(2)).sum();
    difference / want.iter().map(|w| f64::from(*w).powi(2)).sum::<f64>()
}

/// `Σ p·ln(p/q)` with `p` of the wanted logits.
fn divergence(got: &[f32], want: &[f32]) -> f64 {
    let log_probabilities = |logits: &[f32]| {
        let highest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let sum: f64 = logits.iter().map(|&l| (f64::from(l) - highest).exp()).sum();
        logits.iter().map(|&l| f64::from(l) - highest - sum.ln()).collect::<Vec<_>>()
    };
    let (p, q) = (log_probabilities(want), log_probabilities(got));
    p.iter().zip(q).map(|(p, q)| p.exp() * (p - q)).sum()
}

/// Tokens that are read together.
const WINDOW: usize = 512;

/// Rounded activations shift the loss of a single token by a tenth in either direction, so it takes some thousand tokens to tell a cost
/// of half a percent: the text in `golden/perplexity`, then the longer licence.
fn eight_bit_activations_cost_less_than_half_a_percent_of_perplexity(model: &Path) {
    let (gguf, config, _) = setup(model);
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let read = |name| fs::read_to_string(format!("{root}/{name}")).unwrap();
    let text = read("golden/perplexity/text.txt") + &read("LICENSE-APACHE");
    let ids = tokenizer.encode(&text, EncodeOptions { add_special: true, parse_special: true }).unwrap();
    let [exact, rounded] = [Fast::exact(0), Fast::default()].map(|backend| {
        let mut model = Model::load(backend, &gguf, config.clone()).unwrap();
        losses(&mut model, &ids)
    });
    let changes: Vec<_> = rounded.iter().zip(&exact).map(|(rounded, exact)| rounded - exact).collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let cost = mean(&changes).exp_m1();
    let scatter = changes.iter().map(|change| (change - mean(&changes)).powi(2)).sum::<f64>().sqrt();
    eprintln!(
        "{} tokens: perplexity {:.4} exact, {:.4} rounded, {:+.3} % (standard error {:.3} %)",
        exact.len(),
        mean(&exact).exp(),
        mean(&rounded).exp(),
        100.0 * cost,
        100.0 * scatter / changes.len() as f64,
    );
    assert!(cost.abs() < 0.005, "{cost}");
    assert!(scatter > 0.0, "activations were not rounded");
}

/// The loss of each token of `ids` but the first of each window, in nats.
fn losses(model: &mut Model<Fast>, ids: &[u32]) -> Vec<f64> {
    let mut cache = model.cache(KvConfig { dtype: DType::F32, seqs: 1, slots: WINDOW }).unwrap();
    let mut losses = Vec::new();
    for window in ids.chunks(WINDOW) {
        cache.truncate(0, 0).unwrap();
        let batch = Batch::of(window, 0, 0).with_all_logits();
        let logits = model.forward(&mut cache, &batch, Step::PREFILL, &mut NoTaps).unwrap();
        for (row, &next) in logits.rows().zip(&window[1..]) {
            let highest = f64::from(row.iter().copied().fold(f32::NEG_INFINITY, f32::max));
            let sum: f64 = row.iter().map(|&l| (f64::from(l) - highest).exp()).sum();
            losses.push(sum.ln() + highest - f64::from(row[next as usize]));
        }
    }
    losses
}
