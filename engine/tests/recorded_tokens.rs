//! The tokenization recorded from llama.cpp, id for id.
//!
//! * The vocabularies of GPT-2 and Llama with their records stand in llama.cpp's repository (`models/ggml-vocab-*.gguf`, `.inp`, `.out`);
//!   `ASSAY_VOCAB` names a folder that has them.
//! * `golden/smollm2` has prompts and texts of SmolLM2, whose file `ASSAY_MODEL` names; `golden/fetch_model.sh` fetches it.
//!
//! A trial without its files is ignored, with the reason. `ASSAY_REQUIRE_VOCAB=1` and `ASSAY_REQUIRE_MODEL=1` make that a failure.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use engine::gguf::Gguf;
use engine::tokenizer::{EncodeOptions, Tokenizer};
use test_needs::Need;

fn main() -> ExitCode {
    let vocabularies = vocabularies();
    let mut trials = test_needs::trials![test_needs::model(); smollm2_prompts_match_llama_cpp];
    trials.push(
        vocabularies.trial("gpt2_vocabulary_matches_llama_cpp", |folder| check_vocab(&folder, "gpt-2")),
    );
    let sentence_piece = |folder: PathBuf| check_vocab(&folder, "llama-spm");
    trials.push(vocabularies.trial("sentence_piece_vocabulary_matches_llama_cpp", sentence_piece));
    test_needs::run(trials)
}

/// The folder of llama.cpp's vocabularies.
fn vocabularies() -> Need<PathBuf> {
    let folder = std::env::var_os("ASSAY_VOCAB").map(PathBuf::from);
    let found =
        folder.ok_or_else(|| "ASSAY_VOCAB is not set: the folder of llama.cpp's ggml-vocab-*.gguf".into());
    Need::new(found, "ASSAY_REQUIRE_VOCAB")
}

fn check_vocab(folder: &Path, name: &str) {
    let file = folder.join(format!("ggml-vocab-{name}.gguf"));
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

/// Prompts recorded with SmolLM2, whose file `ASSAY_MODEL` names.
fn smollm2_prompts_match_llama_cpp(model: &Path) {
    let gguf = Gguf::open(model).unwrap();
    let tokenizer = Tokenizer::from_metadata(gguf.metadata()).unwrap();
    let options = EncodeOptions { add_special: true, parse_special: true };
    for run in ["q4_1", "f32_kvf32"] {
        for p in 0..4 {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/smollm2");
            let file = folder.join(format!("{run}.p{p}.json"));
            let record: serde_json::Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
            let ids = |key: &str| -> Vec<u32> { serde_json::from_value(record[key].clone()).unwrap() };
            let prompt = record["prompt"].as_str().unwrap();
            assert_eq!(tokenizer.encode(prompt, options).unwrap(), ids("prompt_ids"), "{prompt:?}");
            assert_eq!(tokenizer.decode(&ids("prompt_ids"), true).unwrap(), prompt);
            assert_eq!(tokenizer.decode(&ids("gen_ids"), true).unwrap(), record["text"].as_str().unwrap());
        }
    }
}
