//! The corpus of broken files: one for each kind of defect, with what its error has to name.

use kernels::DType;

use super::bases::{llama_base, qwen_base};
use super::{Builder, V, string};

/// A file that must be refused.
pub struct Broken {
    /// What is wrong with it; also its file name.
    pub defect: &'static str,
    pub bytes: Vec<u8>,
    /// A part of the error.
    pub error: &'static str,
}

fn broken(defect: &'static str, file: &Builder, error: &'static str) -> Broken {
    Broken { defect, bytes: file.build(), error }
}

fn array(element: u32, len: u64) -> V {
    V::Raw(9, [&element.to_le_bytes()[..], &len.to_le_bytes()].concat())
}

/// All of them.
pub fn corpus() -> Vec<Broken> {
    let mut all = header();
    all.extend(metadata());
    all.extend(directory());
    all.extend(model());
    all.extend(vocabulary());
    all
}

fn header() -> Vec<Broken> {
    let with = |change: fn(&mut Builder)| {
        let mut file = llama_base();
        change(&mut file);
        file
    };
    let whole = llama_base().build();
    let truncated = |defect, len: usize, error| Broken { defect, bytes: whole[..len].to_vec(), error };
    vec![
        truncated("empty", 0, "not a GGUF file"),
        truncated("truncated-version", 6, "version: needs 4 bytes"),
        truncated("truncated-key", 40, "key 0 of"),
        truncated("truncated-data", whole.len() - 4096, "but the file has"),
        broken("magic", &with(|b| b.magic = *b"GGML"), "not a GGUF file"),
        broken("version-1", &with(|b| b.version = 1), "GGUF version 1 is not supported"),
        broken("big-endian", &with(|b| b.version = 3_u32.swap_bytes()), "big-endian"),
        broken("tensor-count", &with(|b| b.tensor_count = Some(u64::MAX)), "tensors, the limit is"),
        broken("key-count", &with(|b| b.key_count = Some(1 << 40)), "keys, the limit is"),
    ]
}

fn metadata() -> Vec<Broken> {
    let with = |defect, value: V, error| broken(defect, &llama_base().key("x", value), error);
    vec![
        broken("key-twice", &llama_base().key("llama.block_count", 1_u32), "occurs twice"),
        with("value-type", V::Raw(13, vec![]), "value type 13"),
        with("truth-value", V::Raw(7, vec![2]), "truth value 2"),
        with("not-utf8", V::Raw(8, string(b"\xFF")), "not UTF-8"),
        with("nested-array", array(9, 7), "nested arrays"),
        with("endless-array", array(4, 1 << 40), "elements of array 'x'"),
        with("endless-string", V::Raw(8, u64::MAX.to_le_bytes().to_vec()), "value of key 'x'"),
        broken("alignment", &llama_base().set("general.alignment", Some(V::U32(24))), "power of two"),
    ]
}

fn directory() -> Vec<Broken> {
    let with = |defect, change: fn(&mut super::T), error| {
        broken(defect, &llama_base().change("blk.0.attn_q.weight", change), error)
    };
    vec![
        with("tensor-twice", |t| t.name = b"output_norm.weight".to_vec(), "occurs twice"),
        with("rank-0", |t| t.rank = 0, "0 dimensions"),
        with("dimension-0", |t| t.dims[1] = 0, "dimension 1 is 0"),
        with("element-type", |t| t.kind = 99, "element type 99"),
        with("part-of-a-block", |t| t.kind = 12, "q4_k block"),
        with("size-overflow", |t| t.dims = vec![1 << 32, 1 << 32], "overflows"),
        with("offset-unaligned", |t| t.offset = Some(8), "not a multiple of the alignment"),
        with("offset-outside", |t| t.offset = Some(1 << 40), "but the file has"),
        with("overlap", |t| t.offset = Some(0), "inside tensor"),
    ]
}

fn model() -> Vec<Broken> {
    let set = |defect, key: &str, value: V, error| broken(defect, &llama_base().set(key, Some(value)), error);
    let u32 = V::U32;
    vec![
        set("architecture", "general.architecture", "mamba".into(), "'mamba' is not supported"),
        set("no-layers", "llama.block_count", u32(0), "'llama.block_count'"),
        set("layers-without-end", "llama.block_count", u32(4_000_000_000), "blk.3999999999"),
        set("feed-forward-length", "llama.feed_forward_length", u32(64), "blk.0.ffn_gate.weight"),
        set("head-count", "llama.attention.head_count", u32(3), "does not divide"),
        set("kv-head-count", "llama.attention.head_count_kv", u32(4), "blk.0.attn_k.weight"),
        set("embedding-length", "llama.embedding_length", u32(4_000_000_000), "token_embd.weight"),
        set("vocabulary-size", "llama.vocab_size", u32(30), "token_embd.weight"),
        set("experts", "llama.expert_count", u32(8), "llama.expert_count"),
        set("rope-scaling", "llama.rope.scaling.type", "longrope".into(), "longrope"),
        broken("context-missing", &llama_base().set("llama.context_length", None), "'llama.context_length'"),
        broken("tensor-missing", &llama_base().without("blk.0.ffn_up.weight"), "'blk.0.ffn_up.weight'"),
        broken(
            "tensor-extra",
            &llama_base().tensor("blk.0.moe.weight", DType::F32, &[8]),
            "blk.0.moe.weight",
        ),
        broken("bias-missing", &qwen_base().without("blk.0.attn_q.bias"), "'blk.0.attn_q.bias'"),
        broken(
            "norm-type",
            &llama_base().without("output_norm.weight").tensor("output_norm.weight", DType::F16, &[32]),
            "is f16, want f32",
        ),
    ]
}

fn vocabulary() -> Vec<Broken> {
    let llama =
        |defect, key: &str, value: Option<V>, error| broken(defect, &llama_base().set(key, value), error);
    vec![
        llama("tokenizer-model", "tokenizer.ggml.model", Some("bert".into()), "'bert'"),
        llama("tokenizer-missing", "tokenizer.ggml.model", None, "'tokenizer.ggml.model'"),
        llama("scores-short", "tokenizer.ggml.scores", Some(V::F32s(vec![0.0])), "tokenizer.ggml.scores"),
        broken("pre-tokenizer", &qwen_base().set("tokenizer.ggml.pre", Some("tekken".into())), "tekken"),
        broken("eos-outside", &qwen_base().set("tokenizer.ggml.eos_token_id", Some(V::U32(99))), "99"),
    ]
}
