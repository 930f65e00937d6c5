//! Models, as `assay inspect` reads them.

use std::path::Path;

use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::guard_rail;
use engine::tokenizer::Tokenizer;

use crate::gguf_builder::bases::llama_base;
use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "model",
    sound: || vec![llama_base().build(), llama_base().key("spare", "x").build()],
    words: &[
        "GGUF",
        "general.architecture",
        "llama",
        "qwen2",
        "general.alignment",
        "tokenizer.ggml.tokens",
        "blk.0.attn_q.weight",
        "split.count",
        "split.no",
    ],
    read,
    command: Some(Command { args: |path| super::with_file(&["inspect"], path), ends: &[0] }),
};

fn read(path: &Path) -> Result<(), String> {
    let gguf = Gguf::open(path).map_err(|e| e.to_string())?;
    let config = ModelConfig::from_gguf(&gguf).map_err(|e| e.to_string())?;
    // What a run reads besides; `inspect` does not.
    let _ = Tokenizer::from_metadata(gguf.metadata()).map_err(|e| assert!(!e.to_string().is_empty()));
    match guard_rail::check(&config, &gguf)[..] {
        [] => Ok(()),
        [ref first, ..] => Err(first.to_string()),
    }
}
