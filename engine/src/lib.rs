//! The inference engine: a GGUF model in, tokens out, on any backend.

pub mod gguf;
pub mod tokenizer;
