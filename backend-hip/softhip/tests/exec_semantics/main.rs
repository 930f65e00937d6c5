//! What each operation does, instruction by instruction, against formulas written from AMD's pseudo-code.
//!
//! `words.txt` holds the assembled snippets; `assemble.sh` makes it again with llvm-mc.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::unreadable_literal,
    clippy::unwrap_used,
    reason = "formulas of an instruction set"
)]

mod bench;
mod buffer;
mod carry;
mod compare;
mod constants;
mod control;
mod convert;
mod coverage;
mod float;
mod int;
mod local;
mod matrix;
mod memory;
mod modes;
mod modifiers;
mod packed;
mod scalar;
mod typed;
