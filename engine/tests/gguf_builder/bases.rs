//! Sound files that tests damage.

use kernels::DType;

use super::{Builder, V, strs};

/// Two keys and two tensors; the smallest file that has everything.
pub fn small() -> Builder {
    Builder::new()
        .key("general.architecture", "llama")
        .key("list", strs(&["one", "two"]))
        .tensor("a", DType::F32, &[8, 2])
        .tensor("b", DType::Q8_0, &[32])
}

/// A SentencePiece-style llama model of one layer.
pub fn llama_base() -> Builder {
    let mut tokens: Vec<String> = ["<unk>", "<s>", "</s>"].map(String::from).to_vec();
    tokens.extend((0..=20_u8).map(|b| format!("<0x{b:02X}>")));
    tokens.extend(["▁", "a", "b", "▁a", "ab"].map(String::from));
    let count = tokens.len();
    let mut types = vec![1; count];
    types[..3].copy_from_slice(&[2, 3, 3]);
    types[3..24].fill(6);
    let scores = (0_u8..).map(|i| -f32::from(i)).take(count).collect();
    model("llama", u32::try_from(count).unwrap())
        .key("tokenizer.ggml.model", "llama")
        .key("tokenizer.ggml.tokens", V::Strs(tokens))
        .key("tokenizer.ggml.scores", V::F32s(scores))
        .key("tokenizer.ggml.token_type", V::I32s(types))
}

/// A byte-level BPE qwen2 model of one layer, with a chat template.
pub fn qwen_base() -> Builder {
    model("qwen2", 8)
        .tensor("blk.0.attn_q.bias", DType::F32, &[32])
        .tensor("blk.0.attn_k.bias", DType::F32, &[16])
        .tensor("blk.0.attn_v.bias", DType::F32, &[16])
        .key("tokenizer.ggml.model", "gpt2")
        .key("tokenizer.ggml.pre", "qwen2")
        .key("tokenizer.ggml.tokens", strs(&["a", "b", "Ġ", "ab", "Ġab", "<|im_end|>", "<|im_start|>", "x"]))
        .key("tokenizer.ggml.token_type", V::I32s(vec![1, 1, 1, 1, 1, 3, 3, 4]))
        .key("tokenizer.ggml.merges", strs(&["a b", "Ġ ab"]))
        .key("tokenizer.ggml.eos_token_id", 5_u32)
        .key("tokenizer.chat_template", "{% for m in messages %}{{ m['content'] }}{% endfor %}")
        .key("flags", V::Bools(vec![0, 1, 1]))
}

/// The metadata and weights of one layer, without a vocabulary.
pub fn model(arch: &str, vocab: u32) -> Builder {
    let key = |suffix: &str| format!("{arch}.{suffix}");
    Builder::new()
        .key("general.architecture", arch)
        .key("general.alignment", 32_u32)
        .key(key("block_count"), 1_u32)
        .key(key("context_length"), 64_u32)
        .key(key("embedding_length"), 32_u32)
        .key(key("feed_forward_length"), 32_u32)
        .key(key("attention.head_count"), 4_u32)
        .key(key("attention.head_count_kv"), 2_u32)
        .key(key("attention.layer_norm_rms_epsilon"), 1e-5_f32)
        .key(key("vocab_size"), vocab)
        .tensor("token_embd.weight", DType::Q4_0, &[32, vocab.into()])
        .tensor("output_norm.weight", DType::F32, &[32])
        .tensor("blk.0.attn_norm.weight", DType::F32, &[32])
        .tensor("blk.0.attn_q.weight", DType::Q4_0, &[32, 32])
        .tensor("blk.0.attn_k.weight", DType::Q4_0, &[32, 16])
        .tensor("blk.0.attn_v.weight", DType::Q4_0, &[32, 16])
        .tensor("blk.0.attn_output.weight", DType::Q4_0, &[32, 32])
        .tensor("blk.0.ffn_norm.weight", DType::F32, &[32])
        .tensor("blk.0.ffn_gate.weight", DType::Q4_0, &[32, 32])
        .tensor("blk.0.ffn_up.weight", DType::Q4_0, &[32, 32])
        .tensor("blk.0.ffn_down.weight", DType::Q4_0, &[32, 32])
}
