//! Every call of HIP fails in turn while a model is loaded and runs: an error that names it, or the right result.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod tiny;

use backend_hip::{HipBackend, Options};
use engine::config::ModelConfig;
use engine::kv_cache::KvConfig;
use engine::model::{Batch, Model, Step};
use engine::taps::NoTaps;
use kernels::DType;
use softhip::control::Options as SoftOptions;

/// The logits of a run in which one call fails.
fn logits(failing_call: Option<u64>) -> Result<Vec<f32>, (String, bool)> {
    let backend =
        HipBackend::software(SoftOptions::default(), Options { failing_call, ..Options::default() }).unwrap();
    let gguf = tiny::gguf("llama");
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    let model = Model::load(backend, &gguf, config);
    let mut model = model.map_err(|e| (e.to_string(), e.is_device()))?;
    let cache = model.cache(KvConfig { dtype: DType::F16, seqs: 1, slots: 8 });
    let mut cache = cache.map_err(|e| (e.to_string(), e.is_device()))?;
    let batch = Batch::of(&[1, 2, 3], 0, 0);
    let logits = model.forward(&mut cache, &batch, Step::PREFILL, &mut NoTaps);
    Ok(logits.map_err(|e| (e.to_string(), e.is_device()))?.values().to_vec())
}

#[test]
fn a_failing_call_is_named_or_changes_nothing() {
    let right = logits(None).unwrap();
    let (mut named, mut harmless) = (0_u64, 0_u64);
    for call in 0.. {
        match logits(Some(call)) {
            Ok(logits) => {
                assert_eq!(logits, right, "call {call} fails in silence");
                harmless += 1;
            }
            Err((error, is_device)) => {
                assert!(is_device && error.contains("hip") && error.contains("999"), "call {call}: {error}");
                named += 1;
                harmless = 0;
            }
        }
        // Calls beyond the last one of a run change nothing, and so do those that give memory back at its end.
        if harmless > 100 {
            break;
        }
    }
    assert!(named > 50, "{named} calls were named");
}
