//! The rules on waits and wait states of AMD's "Instinct MI300" instruction set (CDNA3), one by one.
//!
//! Each rule is tried with a program that just breaks it and one that just keeps to it, both under execution and by looking at
//! the program without running it. The numbers stand here by themselves, not as the device computes them.
//! `words.txt` holds the assembled instructions; `assemble.sh` makes it again with llvm-mc.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod counters;
mod encoding;
mod hazards;
mod program;
