//! The executor: runs gfx942 kernels wave by wave.
//!
//! A [`Program`] is a text section decoded once: every instruction knows the function that carries it out and
//! where its operands stand. A wave has a scalar file of words and a vector file of 64-lane registers; each
//! operation is one line, a function of values, which `core::lanes` applies to all lanes. Modifiers wrap it
//! (`modifiers`): operations know nothing of them. Memory is reached only through [`crate::memory`].
//!
//! Waves of a workgroup take turns, each until it waits at a barrier or ends; workgroups are spread over host
//! threads. Results, reports and counts do not depend on the number of threads.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the instruction set defines its operations by truncation and reinterpretation of bits"
)]
#![allow(
    clippy::inline_always,
    reason = "lane loops must take on the vector features of their caller, see crate::wide"
)]
#![allow(clippy::float_cmp, reason = "compares are what the instructions do")]
#![allow(clippy::enum_glob_use, clippy::too_many_lines, reason = "tables of one line per operation")]

mod access;
mod control;
mod core;
mod coverage;
mod dpp;
mod fidelity;
mod float;
mod go_on;
mod gpr_index;
mod group;
mod groups;
mod handlers;
mod kernel;
mod matrix;
mod modifiers;
mod poison;
mod program;
mod progress;
mod reach;
mod resolve;
mod salu;
mod share;
mod smem;
mod snippet;
mod spare;
mod start;
mod unwaited;
mod unwritten;
mod usage;
mod valu;

pub use coverage::{Support, coverage};
pub use fidelity::{Fidelity, fidelity};
pub use kernel::LoadedKernel;
pub use program::{Program, Registers};
pub use progress::{Progress, tell_progress};
pub use snippet::WaveState;
