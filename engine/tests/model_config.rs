//! The model's description from metadata, and the guard rail between it and the tensors.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod gguf_builder;

use engine::config::{Architecture, ModelConfig};
use engine::gguf::Gguf;
use engine::guard_rail::{self, Mismatch};
use gguf_builder::{Builder, V};
use kernels::DType;
use kernels::ops::rope::{Pairing, Scaling};

/// A sound model: 2 layers, width 64, 4 heads of 16, 2 kv heads, feed-forward 96, 32 tokens.
fn model(arch: &str) -> Builder {
    let key = |suffix: &str| format!("{arch}.{suffix}");
    let mut b = Builder::new()
        .key("general.architecture", arch)
        .key("general.name", "tiny")
        .key(key("block_count"), 2_u32)
        .key(key("context_length"), 128_u32)
        .key(key("embedding_length"), 64_u32)
        .key(key("feed_forward_length"), 96_u32)
        .key(key("attention.head_count"), 4_u32)
        .key(key("attention.head_count_kv"), 2_u32)
        .key(key("attention.layer_norm_rms_epsilon"), 1e-5_f32)
        .key(key("vocab_size"), 32_u32)
        .key("tokenizer.ggml.tokens", V::Strs((0..32).map(|i| format!("t{i}")).collect()))
        .tensor("token_embd.weight", DType::Q8_0, &[64, 32])
        .tensor("output_norm.weight", DType::F32, &[64]);
    for layer in 0..2 {
        let name = |suffix: &str| format!("blk.{layer}.{suffix}");
        b = b
            .tensor(&name("attn_norm.weight"), DType::F32, &[64])
            .tensor(&name("attn_q.weight"), DType::Q4_0, &[64, 64])
            .tensor(&name("attn_k.weight"), DType::Q4_0, &[64, 32])
            .tensor(&name("attn_v.weight"), DType::Q4_0, &[64, 32])
            .tensor(&name("attn_output.weight"), DType::Q4_0, &[64, 64])
            .tensor(&name("ffn_norm.weight"), DType::F32, &[64])
            .tensor(&name("ffn_gate.weight"), DType::F16, &[64, 96])
            .tensor(&name("ffn_up.weight"), DType::F16, &[64, 96])
            .tensor(&name("ffn_down.weight"), DType::Q4_0, &[96, 64]);
        if arch == "qwen2" {
            b = b
                .tensor(&name("attn_q.bias"), DType::F32, &[64])
                .tensor(&name("attn_k.bias"), DType::F32, &[32])
                .tensor(&name("attn_v.bias"), DType::F32, &[32]);
        }
        if arch == "qwen3" {
            b = b.tensor(&name("attn_q_norm.weight"), DType::F32, &[16]).tensor(
                &name("attn_k_norm.weight"),
                DType::F32,
                &[16],
            );
        }
    }
    b
}

fn config(builder: &Builder) -> Result<ModelConfig, String> {
    ModelConfig::from_gguf(&Gguf::from_bytes(builder.build()).unwrap()).map_err(|e| e.to_string())
}

/// Messages of the guard rail.
fn mismatches(builder: &Builder) -> Vec<String> {
    let gguf = Gguf::from_bytes(builder.build()).unwrap();
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    guard_rail::check(&config, &gguf).iter().map(Mismatch::to_string).collect()
}

#[test]
fn sound_models_of_each_architecture_pass() {
    for arch in Architecture::ALL {
        let b = model(arch.name());
        assert_eq!(mismatches(&b), Vec::<String>::new(), "{arch:?}");
        let c = config(&b).unwrap();
        assert_eq!((c.n_layer, c.n_embd, c.n_ff, c.n_head, c.n_kv_head, c.head_dim), (2, 64, 96, 4, 2, 16));
        assert_eq!((c.vocab_size, c.context_length, c.sliding_window), (32, 128, None));
        assert_eq!(c.name.as_deref(), Some("tiny"));
        assert!(c.tied_embeddings && !c.rope.has_factors);
        assert_eq!((c.rope.dims, c.rope.base, c.rope.scaling), (16, 10_000.0, Scaling::None));
    }
    assert_eq!(config(&model("llama")).unwrap().rope.pairing, Pairing::Interleaved);
    assert_eq!(config(&model("qwen2")).unwrap().rope.pairing, Pairing::Neox);
}

#[test]
fn optional_tensors_and_keys_are_seen() {
    let b = model("llama")
        .key("llama.attention.key_length", 32_u32)
        .key("llama.attention.value_length", 32_u32)
        .key("llama.rope.dimension_count", 8_u32)
        .key("llama.rope.freq_base", 500_000.0_f32)
        .key("llama.attention.sliding_window", 4096_u32)
        .tensor("output.weight", DType::Q8_0, &[64, 32])
        .tensor("rope_freqs.weight", DType::F32, &[4]);
    let c = config(&b).unwrap();
    assert_eq!((c.head_dim, c.rope.dims, c.rope.base, c.sliding_window), (32, 8, 500_000.0, Some(4096)));
    assert!(!c.tied_embeddings && c.rope.has_factors);
}

#[test]
fn vocabulary_size_falls_back_to_the_tokens() {
    assert_eq!(config(&model("llama").set("llama.vocab_size", None)).unwrap().vocab_size, 32);
}

#[test]
fn scalings_are_read() {
    let linear = model("llama").key("llama.rope.scaling.factor", 4.0_f32);
    assert_eq!(config(&linear).unwrap().rope.scaling, Scaling::Linear { factor: 4.0 });
    let old_key = model("llama").key("llama.rope.scale_linear", 2.0_f32);
    assert_eq!(config(&old_key).unwrap().rope.scaling, Scaling::Linear { factor: 2.0 });
    let none = linear.clone().key("llama.rope.scaling.type", "none");
    assert_eq!(config(&none).unwrap().rope.scaling, Scaling::None);
    let yarn = linear
        .key("llama.rope.scaling.type", "yarn")
        .key("llama.rope.scaling.original_context_length", 64_u32)
        .key("llama.rope.scaling.attn_factor", 0.5_f32)
        .key("llama.rope.scaling.yarn_beta_fast", 16.0_f32);
    let want = Scaling::Yarn {
        factor: 4.0,
        original_context: 64,
        beta_fast: 16.0,
        beta_slow: 1.0,
        extrapolation: 1.0,
        attention: 0.5,
    };
    assert_eq!(config(&yarn).unwrap().rope.scaling, want);
}

#[test]
fn impossible_metadata_are_named_with_their_value() {
    let with = |key: &str, value: V| config(&model("llama").set(key, Some(value))).unwrap_err();
    let without = |key: &str| config(&model("llama").set(key, None)).unwrap_err();
    assert_eq!(
        with("general.architecture", "mamba".into()),
        "key 'general.architecture': 'mamba' is not supported, want one of llama, qwen2, qwen3"
    );
    assert_eq!(without("llama.block_count"), "key 'llama.block_count' is missing");
    assert_eq!(without("llama.context_length"), "key 'llama.context_length' is missing");
    let eps = "llama.attention.layer_norm_rms_epsilon";
    assert_eq!(without(eps), "key 'llama.attention.layer_norm_rms_epsilon' is missing");
    assert_eq!(with(eps, V::F32(f32::NAN)), format!("key '{eps}': NaN is not finite and positive"));
    assert_eq!(with("llama.block_count", V::U32(0)), "key 'llama.block_count': 0 is less than 1");
    assert_eq!(
        with("llama.block_count", V::I32(-3)),
        "key 'llama.block_count': -3 is outside 0 to 4294967295"
    );
    assert_eq!(
        with("llama.block_count", "two".into()),
        "key 'llama.block_count': found string, want an integer"
    );
    assert_eq!(
        with("llama.attention.head_count_kv", V::U32(3)),
        "key 'llama.attention.head_count_kv': 3 does not divide 4 heads"
    );
    assert_eq!(
        with("llama.attention.head_count", V::U32(6)),
        "key 'llama.attention.head_count': 6 does not divide an embedding length of 64"
    );
    assert_eq!(
        with("llama.attention.value_length", V::U32(8)),
        "key 'llama.attention.value_length': 8 differs from the key length of 16"
    );
    assert_eq!(
        with("llama.rope.dimension_count", V::U32(18)),
        "key 'llama.rope.dimension_count': 18 is not an even number of at most 16, the length of a head"
    );
    assert_eq!(
        with("llama.rope.scaling.type", "longrope".into()),
        "key 'llama.rope.scaling.type': 'longrope' is not supported, want none, linear or yarn"
    );
    assert_eq!(with("llama.rope.scaling.type", "yarn".into()), "key 'llama.rope.scaling.factor' is missing");
    assert_eq!(
        with("llama.expert_count", V::U32(8)),
        "key 'llama.expert_count': '8' is not supported, want a model without experts"
    );
}

#[test]
fn each_wrong_key_is_named_with_both_numbers() {
    let with = |key: &str, value: u32| mismatches(&model("llama").set(key, Some(V::U32(value))));

    let found = with("llama.feed_forward_length", 128);
    assert_eq!(found.len(), 6);
    assert_eq!(
        found[0],
        "tensor 'blk.0.ffn_gate.weight': dimension 0 is 96, want 128 ('llama.feed_forward_length' = 128)"
    );
    let found = with("llama.attention.head_count_kv", 4);
    assert_eq!(
        found[0],
        "tensor 'blk.0.attn_k.weight': dimension 0 is 32, want 64 ('llama.attention.head_count_kv' = 4 heads of 16)"
    );
    let found = mismatches(
        &model("llama")
            .set("llama.attention.head_count", Some(V::U32(8)))
            .set("llama.attention.key_length", Some(V::U32(16))),
    );
    assert_eq!(
        found[0],
        "tensor 'blk.0.attn_q.weight': dimension 0 is 64, want 128 ('llama.attention.head_count' = 8 heads of 16)"
    );
    let found = with("llama.vocab_size", 33);
    assert_eq!(
        found,
        [
            "'tokenizer.ggml.tokens' has 32 entries but 'llama.vocab_size' is 33",
            "tensor 'token_embd.weight': dimension 0 is 32, want 33 ('llama.vocab_size' = 33)",
        ]
    );
    let found = with("llama.embedding_length", 128);
    assert_eq!(
        found[0],
        "tensor 'token_embd.weight': dimension 1 is 64, want 128 ('llama.embedding_length' = 128)"
    );
    let found = with("llama.block_count", 4_000_000_000);
    assert_eq!(found, ["tensors 'blk.2.* to blk.3999999999.*' are missing"]);
    let found = with("llama.block_count", 1);
    assert_eq!(found.len(), 9);
    assert_eq!(found[0], "tensor 'blk.1.attn_norm.weight' [64] is not part of a llama model");
}

#[test]
fn missing_extra_and_mistyped_tensors_are_named() {
    let base = model("llama");
    assert_eq!(
        mismatches(&base.clone().without("blk.1.ffn_up.weight")),
        ["tensor 'blk.1.ffn_up.weight' [96, 64] is missing"]
    );
    assert_eq!(
        mismatches(&base.clone().tensor("blk.0.ffn_gate_exps.weight", DType::F32, &[4, 3, 2])),
        ["tensor 'blk.0.ffn_gate_exps.weight' [2, 3, 4] is not part of a llama model"]
    );
    assert_eq!(
        mismatches(&base.clone().without("output_norm.weight").tensor(
            "output_norm.weight",
            DType::F16,
            &[64]
        )),
        ["tensor 'output_norm.weight' is f16, want f32"]
    );
    assert_eq!(
        mismatches(&base.clone().without("blk.0.attn_norm.weight").tensor(
            "blk.0.attn_norm.weight",
            DType::F32,
            &[64, 1]
        )),
        ["tensor 'blk.0.attn_norm.weight' has 2 dimensions, want 1"]
    );
    assert_eq!(
        mismatches(&base.tensor("rope_freqs.weight", DType::F32, &[16])),
        ["tensor 'rope_freqs.weight': dimension 0 is 16, want 8 (half of 16 rotary dimensions)"]
    );
    assert_eq!(
        mismatches(&model("qwen2").without("blk.0.attn_k.bias")),
        ["tensor 'blk.0.attn_k.bias' [32] is missing"]
    );
    assert_eq!(
        mismatches(&model("qwen3").without("blk.1.attn_q_norm.weight")),
        ["tensor 'blk.1.attn_q_norm.weight' [16] is missing"]
    );
}

#[test]
fn the_rail_refuses_unless_it_is_taken_away() {
    let gguf =
        Gguf::from_bytes(model("llama").set("llama.feed_forward_length", Some(V::U32(1))).build()).unwrap();
    let config = ModelConfig::from_gguf(&gguf).unwrap();
    let error = guard_rail::enforce(&config, &gguf, true).unwrap_err();
    assert_eq!(error.mismatches.len(), 6);
    assert!(
        error.to_string().starts_with("metadata and tensors disagree in 6 places:\n  tensor 'blk.0.ffn_gate")
    );
    assert_eq!(guard_rail::enforce(&config, &gguf, false).unwrap(), error.mismatches);
}
