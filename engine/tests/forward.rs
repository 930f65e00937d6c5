//! The forward pass end to end, on each backend, against numpy in f64 (`golden/tiny`), and the laws of batching.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod tiny;

use backend_cpu::fast::Fast;
use backend_cpu::reference::Reference;
use backend_hip::HipBackend;
use engine::generate::{Finish, GenerateOptions, generate, prefill};
use engine::model::{Batch, Model, Row, Step};
use engine::sampler::{Sampler, SamplerConfig};
use engine::taps::NoTaps;
use kernels::{Backend, DType};
use softhip::sched::Policy;
use std::ops::ControlFlow;

/// HIP kernels on the software device.
fn software_device(policy: Policy) -> HipBackend {
    let device = softhip::control::Options { policy, ..Default::default() };
    HipBackend::software(device, backend_hip::Options::default()).unwrap()
}

/// Declares a module of tests for each backend.
macro_rules! on_backends {
    ($($name:ident: $backend:expr, $tolerance:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn logits_match_numpy_for_each_architecture() {
                super::logits_match_numpy(&$backend, $tolerance);
            }

            #[test]
            fn greedy_tokens_match_numpy() {
                super::greedy_tokens_match_numpy(&$backend);
            }

            #[test]
            fn eight_sequences_in_one_batch_are_eight_single_runs() {
                super::eight_sequences(&mut tiny::model("llama", $backend));
            }

            #[test]
            fn chunked_prefill_is_whole_prefill() {
                super::chunked_is_whole(&$backend);
            }

            #[test]
            fn a_rewound_sequence_is_a_fresh_one() {
                super::rewound_is_fresh(&mut tiny::model("qwen3", $backend));
            }

            #[test]
            fn short_caches_answer_almost_as_exact_ones() {
                super::cache_types(&$backend);
            }
        })+
    };
}

// Tolerances, relative to the largest logit. Each of the two layers rounds its tensors to f32 some ten times, and random
// weights do not amplify: 1e-6 leaves a factor of three to what is seen on the reference. The others round
// within their sums too.
on_backends! {
    reference: Reference::default(), 1e-6;
    fast: Fast::exact(0), 4e-6;
    soft: software_device(Policy::Eager), 4e-6;
}

/// Under these schedules work starts as late as it may, or in a drawn order: an upload that the ops do not wait for comes too late.
#[test]
fn uploads_are_waited_for_under_every_schedule() {
    for policy in [Policy::Deferred, Policy::Random(1)] {
        logits_match_numpy(&software_device(policy), 4e-6);
    }
}

fn logits_match_numpy<B: Backend + Clone>(backend: &B, tolerance: f64) {
    for name in tiny::NAMES {
        let want = tiny::expected(name);
        let mut model = tiny::model(name, backend.clone());
        let deviation = tiny::deviation(&tiny::all_logits(&mut model, DType::F32, &want.ids), &want.logits);
        eprintln!("{name}: {deviation:.2e}");
        assert!(deviation <= tolerance, "{name}: {deviation:e}");
        // The same check sees a single wrong token.
        let mut ids = want.ids.clone();
        ids[1] ^= 1;
        let other = tiny::deviation(&tiny::all_logits(&mut model, DType::F32, &ids), &want.logits);
        assert!(other.is_nan() || other > 1000.0 * tolerance, "{name}: {other:e} although a token differs");
    }
}

fn greedy_tokens_match_numpy<B: Backend + Clone>(backend: &B) {
    for name in tiny::NAMES {
        let want = tiny::expected(name);
        let mut model = tiny::model(name, backend.clone());
        let mut cache = tiny::cache(&model, DType::F32, 1, want.ids.len() + want.greedy.len());
        let mut sampler = Sampler::new(SamplerConfig::default()).unwrap();
        let options = GenerateOptions { max_tokens: want.greedy.len(), chunk: 7, stop: &|_| false };
        let mut seen = Vec::new();
        let on_token = |token| {
            seen.push(token);
            ControlFlow::Continue(())
        };
        let done = generate(&mut model, &mut cache, &want.ids, &mut sampler, options, &mut NoTaps, on_token);
        let done = done.unwrap();
        assert_eq!(done.tokens, want.greedy, "{name}");
        assert_eq!((seen, done.finish), (want.greedy.clone(), Finish::Length));
        assert_eq!(done.prompt_tokens, want.ids.len());
        assert!(done.first_token >= done.prefill);
    }
}

/// Ids of sequence `seq`: each its own length and content.
fn ids_of(seq: u32) -> Vec<u32> {
    (0..5 + seq).map(|i| (i * 37 + seq * 101 + 3) % 299).collect()
}

fn eight_sequences<B: Backend>(model: &mut Model<B>) {
    let singles: Vec<Vec<f32>> =
        (0..8).map(|seq| tiny::all_logits(model, DType::F16, &ids_of(seq))).collect();

    // All sequences advance by one token in each pass, in an order that changes, until they end.
    let mut cache = tiny::cache(model, DType::F16, 8, 16);
    let mut together = vec![Vec::new(); 8];
    for position in 0..12_u32 {
        let mut rows: Vec<Row> = (0..8)
            .filter_map(|seq| {
                let token = *ids_of(seq).get(position as usize)?;
                Some(Row { token, seq, position, logits: true })
            })
            .collect();
        let shift = position as usize % rows.len();
        rows.rotate_left(shift);
        let logits =
            model.forward(&mut cache, &Batch::new(rows.clone()), Step::PREFILL, &mut NoTaps).unwrap();
        for (row, logits) in rows.iter().zip(logits.rows()) {
            together[row.seq as usize].extend_from_slice(logits);
        }
    }
    assert_eq!(together, singles);

    // And all tokens of all sequences in one pass.
    let mut cache = tiny::cache(model, DType::F16, 8, 16);
    let rows = (0..8).flat_map(|seq| Batch::of(&ids_of(seq), seq, 0).with_all_logits().rows().to_vec());
    let logits = model.forward(&mut cache, &Batch::new(rows.collect()), Step::PREFILL, &mut NoTaps).unwrap();
    assert_eq!(logits.values(), singles.concat());
}

fn chunked_is_whole<B: Backend + Clone>(backend: &B) {
    for name in tiny::NAMES {
        let ids = tiny::expected(name).ids;
        let mut model = tiny::model(name, backend.clone());
        let mut run = |chunk| {
            let mut cache = tiny::cache(&model, DType::F16, 1, ids.len());
            let logits = prefill(&mut model, &mut cache, 0, &ids, chunk, &mut NoTaps).unwrap();
            let dumps: Vec<_> = (0..2).map(|layer| model.dump_cache(&cache, layer, 0).unwrap()).collect();
            (logits, dumps)
        };
        let whole = run(ids.len());
        for chunk in [1, 2, 5, 23] {
            assert_eq!(run(chunk), whole, "{name} in chunks of {chunk}");
        }
    }
}

fn rewound_is_fresh<B: Backend>(model: &mut Model<B>) {
    let ids = tiny::expected("qwen3").ids;
    let (first, detour) = (&ids[..9], [5, 4, 3, 2, 1]);
    let mut cache = tiny::cache(model, DType::F32, 1, 32);
    prefill(model, &mut cache, 0, first, 4, &mut NoTaps).unwrap();
    prefill(model, &mut cache, 0, &detour, 4, &mut NoTaps).unwrap();
    cache.truncate(0, first.len()).unwrap();
    let rewound = prefill(model, &mut cache, 0, &ids[9..], 32, &mut NoTaps).unwrap();

    let mut fresh_cache = tiny::cache(model, DType::F32, 1, 32);
    let fresh = prefill(model, &mut fresh_cache, 0, &ids, 32, &mut NoTaps).unwrap();
    assert_eq!(rewound, fresh);
    assert_eq!(model.dump_cache(&cache, 1, 0).unwrap(), model.dump_cache(&fresh_cache, 1, 0).unwrap());
}

fn cache_types<B: Backend + Clone>(backend: &B) {
    for name in tiny::NAMES {
        let want = tiny::expected(name);
        let mut model = tiny::model(name, backend.clone());
        let [f32, f16, q8] = [DType::F32, DType::F16, DType::Q8_0]
            .map(|dtype| tiny::deviation(&tiny::all_logits(&mut model, dtype, &want.ids), &want.logits));
        eprintln!("{name}: f32 {f32:.1e}, f16 {f16:.1e}, q8_0 {q8:.1e}");
        // Half a unit in the last place is 2^-12 for f16 and 2^-8 of a block's largest element for q8_0.
        assert!(f32 < f16 && f16 < 2e-3 && f16 < q8 && q8 < 5e-2, "{name}: {f32:e} {f16:e} {q8:e}");
    }
}
