//! The inference engine: a GGUF model in, tokens out, on any backend.
//!
//! From the file to the prompt:
//!
//! * [`gguf`] maps a model file and checks every number in it before it is used.
//! * [`config`] reads the model's numbers from the metadata: layers, heads, widths, positions.
//! * [`guard_rail`] compares them with the tensors and names each disagreement.
//! * [`tokenizer`] turns text into ids and back, from the vocabulary in the file.
//! * [`chat`] turns a conversation into a prompt, by the template in the file.
//!
//! From the prompt to the logits:
//!
//! * [`model`] holds the weights on a backend and runs the layers; every step is an op of the contract.
//! * [`kv_cache`] holds keys and values of several sequences and checks their bounds.
//! * [`taps`] gives out intermediate results, [`safetensors_file`] writes them.
//!
//! From the logits to the text: [`sampler`] chooses a token, [`generate`] repeats that until the end.
//!
//! [`model_sizes`] has the sizes of real models, for benches and cost reports.
//!
//! Nothing here prints, exits, or panics on a file, a text or a parameter.
#![forbid(unsafe_code)]

mod batch;
pub mod chat;
pub mod config;
pub mod generate;
pub mod gguf;
pub mod guard_rail;
pub mod kv_cache;
pub mod model;
pub mod model_sizes;
mod rng;
pub mod safetensors_file;
pub mod sampler;
pub mod spill_file;
pub mod taps;
pub mod tokenizer;
