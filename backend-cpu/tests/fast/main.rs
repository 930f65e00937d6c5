//! What holds for every op of the fast backend, whatever the op computes: the number of threads, the other rows, the
//! strides and the memory around the operands leave no trace in the result.
//!
//! Each law is stated once and put to every op of [`cases`].
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod cases;
mod edges;
mod laws;
mod oracle;
mod relay;
mod run;
mod together;
