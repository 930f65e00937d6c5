//! The tokenization recorded from llama.cpp, id for id.
//!
//! The vocabularies and records live outside this repository. With `ASSAY_SHARED` set to the folder that
//! has `reference/vocab`, every recorded text is encoded, compared and decoded back; without it the
//! trial says so and checks nothing.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs;
use std::path::PathBuf;

use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, Tokenizer};

fn shared(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("ASSAY_SHARED").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED {test}: ASSAY_SHARED is not set");
    }
    folder
}

fn check_vocab(name: &str) {
    let Some(shared) = shared(name) else { return };
    let file = shared.join("reference/vocab").join(format!("ggml-vocab-{name}.gguf"));
    let gguf = Gguf::open(&file).unwrap();
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).unwrap();
    let texts = fs::read_to_string(file.with_extension("gguf.inp")).unwrap();
    let records = fs::read_to_string(file.with_extension("gguf.out")).unwrap();
    let texts: Vec<&str> = texts.split("\n__ggml_vocab_test__\n").collect();
    let records: Vec<&str> = records.lines().collect();
    let texts = texts.strip_suffix(&[""]).unwrap_or(&texts);
    assert_eq!(texts.len(), records.len());
    assert!(texts.len() > 40);

    let options = EncodeOptions { add_special: false, parse_special: false };
    for (text, record) in texts.iter().zip(records) {
        let want: Vec<u32> = record.split_whitespace().map(|id| id.parse().unwrap()).collect();
        let ids = tokenizer.encode(text, options).unwrap();
        assert_eq!(ids, want, "{name}: {text:?}");
        assert_eq!(tokenizer.decode(&ids, false).unwrap(), *text, "{name}: {text:?}");
        let mut stream = tokenizer.stream(false);
        let mut streamed: String = ids.iter().map(|&id| stream.push(id).unwrap()).collect();
        streamed += &stream.finish();
        assert_eq!(streamed.trim_start_matches(' '), text.trim_start_matches(' '), "{name}: {text:?}");
    }
    eprintln!("{name}: {} texts match", texts.len());
}

#[test]
fn gpt2_vocabulary_matches_llama_cpp() {
    check_vocab("gpt-2");
}

#[test]
fn sentence_piece_vocabulary_matches_llama_cpp() {
    check_vocab("llama-spm");
}

/// Prompts recorded with SmolLM2, whose file `ASSAY_MODEL` names.
#[test]
fn smollm2_prompts_match_llama_cpp() {
    let Some(shared) = shared("smollm2 prompts") else { return };
    let Some(model) = std::env::var_os("ASSAY_MODEL") else {
        eprintln!("SKIPPED smollm2 prompts: ASSAY_MODEL is not set");
        return;
    };
    let gguf = Gguf::open(model).unwrap();
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).unwrap();
    let options = EncodeOptions { add_special: true, parse_special: true };
    for run in ["q4_1", "f32_kvf32"] {
        for p in 0..4 {
            let file = shared.join("reference/smollm2").join(format!("{run}.p{p}.json"));
            let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            let ids = |key: &str| -> Vec<u32> { serde_json::from_value(record[key].clone()).unwrap() };
            let prompt = record["prompt"].as_str().unwrap();
            assert_eq!(tokenizer.encode(prompt, options).unwrap(), ids("prompt_ids"), "{prompt:?}");
            assert_eq!(tokenizer.decode(&ids("prompt_ids"), true).unwrap(), prompt);
            assert_eq!(tokenizer.decode(&ids("gen_ids"), true).unwrap(), record["text"].as_str().unwrap());
        }
    }
}
