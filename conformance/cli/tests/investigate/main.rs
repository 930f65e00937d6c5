//! `assay audit`, `assay gate` and `assay triage`, as a user runs them.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audit;
mod gate;
mod triage;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const TEXT: &str = "the quick brown fox jumps over the lazy dog";

/// A folder of the repository.
fn top(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn model() -> String {
    top("golden/tiny/llama.gguf").to_str().unwrap().to_owned()
}

/// One of the programs of the drop-in library.
fn program(name: &str) -> String {
    top("backend-hip/libamdhip64/programs").join(name).to_str().unwrap().to_owned()
}

/// What a command says.
#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn command(arguments: &[&str]) -> Command {
    // Cargo builds the library for the tests here.
    let library = std::env::current_exe().unwrap().with_file_name("libamdhip64.so");
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).env("ASSAY_LIBAMDHIP64", library);
    command
}

fn assay(arguments: &[&str]) -> Said {
    said(&command(arguments).output().unwrap())
}

fn said(output: &Output) -> Said {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// A command on the backend `plugin`, whose library has the fault called `fault`.
fn on_plugin(fault: &str, arguments: &[&str]) -> Said {
    let library = std::env::current_exe().unwrap().with_file_name("libassay_test_plugin.so");
    assert!(library.exists(), "{} is missing", library.display());
    let mut command = command(arguments);
    command.args(["--backend", "plugin"]).env("ASSAY_PLUGIN", library).env("TEST_PLUGIN_FAULT", fault);
    said(&command.output().unwrap())
}
