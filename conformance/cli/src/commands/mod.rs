//! Commands of `assay`, one file each.
//!
//! Exit codes: 0 all conform, 1 a kernel does not, 2 bad usage or input, 3 the device is missing or lost.

mod bench;
mod capsule;
mod check;
mod diff;
mod env;
mod gpu;
mod guard;
mod inspect;
mod list;
mod locate;
mod logits;
mod model;
mod perplexity;
mod progress;
mod replay;
mod run;
mod scaffold;
mod story;
mod support;
mod tokenize;
mod worker;
mod zoo;

use std::fmt;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use assay_cli::backends::OpenError;

/// Proves kernels for LLM inference: every op, on every backend of this machine, against an oracle that knows how wrong
/// a correct implementation may be.
#[derive(Parser)]
#[command(
    name = "assay",
    version,
    after_help = "Exit codes: 0 all conform, 1 a kernel does not, 2 bad usage or input, 3 the device is missing or lost."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Logits(Box<logits::Logits>),
    Tokenize(tokenize::Tokenize),
    Perplexity(Box<perplexity::Perplexity>),
    Inspect(inspect::Inspect),
    Bench(Box<bench::Bench>),
    Check(check::Check),
    Diff(Box<diff::Diff>),
    Locate(Box<locate::Locate>),
    Replay(replay::Replay),
    Capsule(capsule::CapsuleCommand),
    List(list::List),
    Support(support::Support),
    Story(story::Story),
    Scaffold(scaffold::Scaffold),
    Zoo(zoo::Zoo),
    Gpu(gpu::Gpu),
    #[command(hide = true)]
    Worker(worker::Worker),
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// As it should.
    Well,
    /// A kernel does not conform.
    DoesNotConform,
}

/// Why a command did not come to its end.
#[derive(Debug)]
pub enum Trouble {
    /// Bad usage or input.
    Input(String),
    /// The device is missing or lost.
    Device(String),
}

impl Trouble {
    /// Bad input, with the thing's name.
    pub fn input(error: impl fmt::Display) -> Self {
        Trouble::Input(error.to_string())
    }
}

impl From<OpenError> for Trouble {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unknown { .. }
            | OpenError::NoFence { .. }
            | OpenError::Plan(_)
            | OpenError::Log { .. } => Trouble::Input(error.to_string()),
            OpenError::Device { .. } | OpenError::NoGpu { .. } => Trouble::Device(error.to_string()),
        }
    }
}

/// Parses the command line and runs what it asks for.
pub fn main() -> ExitCode {
    // A usage error exits with code 2 inside `parse`.
    let cli = Cli::parse();
    for warning in env::warnings() {
        eprintln!("warning: {warning}");
    }
    let ended = match cli.command {
        Command::Run(command) => command.run(),
        Command::Logits(command) => command.run(),
        Command::Tokenize(command) => command.run(),
        Command::Perplexity(command) => command.run(),
        Command::Inspect(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Locate(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Capsule(command) => command.run(),
        Command::List(command) => command.run(),
        Command::Support(command) => command.run(),
        Command::Story(command) => command.run(),
        Command::Scaffold(command) => command.run(),
        Command::Zoo(command) => command.run(),
        Command::Gpu(command) => command.run(),
        Command::Worker(command) => command.run(),
    };
    match ended {
        Ok(End::Well) => ExitCode::SUCCESS,
        Ok(End::DoesNotConform) => ExitCode::from(1),
        Err(Trouble::Input(what)) => {
            eprintln!("error: {what}");
            ExitCode::from(2)
        }
        Err(Trouble::Device(what)) => {
            eprintln!("error: {what}");
            ExitCode::from(3)
        }
    }
}

/// Writes to standard output; a reader that has gone away is no error.
pub fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}
