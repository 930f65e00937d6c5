//! The inference engine: a GGUF model in, tokens out, on any backend.
//!
//! From the file to the prompt:
//!
//! * [`gguf`] maps a model file and checks every number in it before anybody uses one.
//! * [`config`] is what the metadata say the model is: layers, heads, widths, positions.
//! * [`guard_rail`] compares that with the tensors and names each disagreement.
//! * [`tokenizer`] turns text into ids and back, from the vocabulary in the file.
//! * [`chat`] turns a conversation into a prompt, by the template in the file.
//!
//! And from the logits to the next token: [`sampler`].
//!
//! Nothing here prints, exits, or panics on a file, a text or a parameter. The only `unsafe` block maps the
//! file.

pub mod chat;
pub mod config;
pub mod gguf;
pub mod guard_rail;
mod rng;
pub mod sampler;
pub mod tokenizer;
