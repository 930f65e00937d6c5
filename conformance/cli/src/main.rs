//! The `assay` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use own_process::memory::Allocator;

mod commands;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    commands::main()
}
