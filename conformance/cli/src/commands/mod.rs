//! Commands of `assay`, one file each.
//!
//! Exit codes: 0 all conform, 1 a kernel does not, 2 bad usage or input, 3 the device is missing or lost, 130 interrupted.

mod audit;
mod bench;
mod build_info;
mod capsule;
mod check;
mod completions;
mod diff;
mod doctor;
mod env;
mod gate;
mod github;
mod gpu;
mod guard;
mod inspect;
mod interrupt;
mod judge;
mod kernels;
mod list;
mod locate;
mod logits;
mod man;
mod manifest;
mod merge;
mod model;
mod perplexity;
mod plugin_command;
mod progress;
mod render_template;
mod replay;
mod reports;
mod run;
mod sanitize;
mod scaffold;
mod schema;
mod sensitivity;
mod story;
mod support;
mod tokenize;
mod triage;
mod worker;
mod zoo;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Parser, Subcommand};

use assay_cli::backends::{self, OpenError};
use backend_cpu::fast::Threads;
use output_file::scratch;

/// Proves kernels for LLM inference: every op, on every backend of this machine, against an oracle that knows how wrong
/// a correct implementation may be.
#[derive(Parser)]
#[command(
    name = "assay",
    version,
    long_version = build_info::long(),
    after_help = "Exit codes: 0 all conform, 1 a kernel does not, 2 bad usage or input, 3 the device is missing or lost,\n\
                  130 interrupted by Ctrl-C."
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
    Check(Box<check::Check>),
    Merge(merge::Merge),
    Diff(Box<diff::Diff>),
    Locate(Box<locate::Locate>),
    Replay(replay::Replay),
    Plugin(plugin_command::PluginCommand),
    Capsule(capsule::CapsuleCommand),
    List(list::List),
    Support(support::Support),
    Sensitivity(sensitivity::SensitivityCommand),
    Manifest(manifest::Manifest),
    Judge(Box<judge::Judge>),
    Story(story::Story),
    Scaffold(scaffold::Scaffold),
    Zoo(zoo::Zoo),
    Gpu(gpu::Gpu),
    Sanitize(Box<sanitize::Sanitize>),
    Audit(audit::Audit),
    Gate(Box<gate::GateCommand>),
    Triage(Box<triage::TriageCommand>),
    Doctor(doctor::Doctor),
    Schema(schema::Schema),
    Completions(completions::Completions),
    Man(man::Man),
    #[command(hide = true)]
    Worker(worker::Worker),
    #[command(hide = true)]
    RenderTemplate(render_template::RenderTemplate),
}

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// As it should.
    Well,
    /// A kernel does not conform.
    DoesNotConform,
    /// Early, because of Ctrl-C.
    Interrupted,
    /// With the code of a program that it ran.
    Code(u8),
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

    /// A planted bug that was never reached: the run says nothing about it.
    pub fn probe_not_reached(backend: &str, why: &str) -> Self {
        Trouble::Input(format!("PROBE_NOT_REACHED: {backend}: {why}"))
    }
}

impl From<OpenError> for Trouble {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Unknown { .. }
            | OpenError::NoFence { .. }
            | OpenError::Plan(_)
            | OpenError::Plugin(_)
            | OpenError::NoPlugin
            | OpenError::Objects(_)
            | OpenError::Object { .. }
            | OpenError::Foreign(_)
            | OpenError::Log { .. } => Trouble::Input(error.to_string()),
            OpenError::Device { .. } | OpenError::NoGpu { .. } => Trouble::Device(error.to_string()),
        }
    }
}

/// Parses the command line and runs what it asks for.
pub fn main() -> ExitCode {
    own_process::file_size_limit_is_an_error();
    own_process::memory::an_error(scratch::remove_all);
    // Without the handler, a mapped file that is shortened ends the program by a signal, as it did before.
    let _ = mapped_file::explain_bus_errors();
    let ended = match Cli::try_parse() {
        Ok(cli) => cli.run(),
        Err(error) => {
            // Help and version go to standard output, and are what was asked for.
            let shown = error.print();
            match error.exit_code() {
                0 => {
                    note_failure(shown);
                    Ok(End::Well)
                }
                _ => return ExitCode::from(2),
            }
        }
    };
    match ended.and_then(|end| finish_output().map(|()| end)) {
        Ok(End::Well) => ExitCode::SUCCESS,
        Ok(End::DoesNotConform) => ExitCode::from(1),
        Ok(End::Code(code)) => ExitCode::from(code),
        Ok(End::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(Trouble::Input(what)) => {
            say(&format!("error: {what}"));
            ExitCode::from(2)
        }
        Err(Trouble::Device(what)) => {
            say(&format!("error: {what}"));
            ExitCode::from(3)
        }
    }
}

impl Cli {
    fn run(self) -> Result<End, Trouble> {
        for warning in env::warnings() {
            say(&format!("warning: {warning}"));
        }
        Threads::selected_instructions().map_err(Trouble::input)?;
        match self.command {
            Command::Run(command) => command.run(),
            Command::Logits(command) => command.run(),
            Command::Tokenize(command) => command.run(),
            Command::Perplexity(command) => command.run(),
            Command::Inspect(command) => command.run(),
            Command::Bench(command) => command.run(),
            Command::Check(command) => command.run(),
            Command::Merge(command) => command.run(),
            Command::Diff(command) => command.run(),
            Command::Locate(command) => command.run(),
            Command::Replay(command) => command.run(),
            Command::Plugin(command) => command.run(),
            Command::Capsule(command) => command.run(),
            Command::List(command) => command.run(),
            Command::Support(command) => command.run(),
            Command::Sensitivity(command) => command.run(),
            Command::Manifest(command) => command.run(),
            Command::Judge(command) => command.run(),
            Command::Story(command) => command.run(),
            Command::Scaffold(command) => command.run(),
            Command::Zoo(command) => command.run(),
            Command::Gpu(command) => command.run(),
            Command::Sanitize(command) => command.run(),
            Command::Audit(command) => command.run(),
            Command::Gate(command) => command.run(),
            Command::Triage(command) => command.run(),
            Command::Doctor(command) => command.run(),
            Command::Schema(command) => command.run(),
            Command::Completions(command) => command.run(),
            Command::Man(command) => command.run(),
            Command::Worker(command) => command.run(),
            Command::RenderTemplate(command) => command.run(),
        }
    }
}

/// Makes a folder, where there is none.
fn make_folder(path: &Path) -> Result<(), Trouble> {
    std::fs::create_dir_all(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Trouble::Input(format!("{}: is there, and no folder", path.display()))
        }
        _ => Trouble::Input(format!("{}: {error}", path.display())),
    })
}

/// Removes files of a folder, those that are there.
fn remove(folder: &Path, names: &[&str]) -> Result<(), Trouble> {
    for name in names {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(Trouble::Input(format!("{}: {e}", path.display())));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Something that the user wrote, for a message: its first 200 characters.
fn quoted(text: &str) -> String {
    let mut start = text.chars();
    let shown: String = start.by_ref().take(200).collect();
    match start.count() {
        0 => format!("'{shown}'"),
        more => format!("'{shown}…' and {more} more characters"),
    }
}

/// The first failure to write to standard output, other than a reader that has gone away.
static OUTPUT_FAILURE: OnceLock<io::Error> = OnceLock::new();

/// Writes to standard output. A reader that has gone away is no error; any other failure ends the program with code 2 when the
/// command has ended.
pub fn print(text: &str) {
    note_failure(io::stdout().write_all(text.as_bytes()));
}

fn note_failure(written: io::Result<()>) {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            // Only the first failure is reported.
            let _ = OUTPUT_FAILURE.set(error);
        }
        Ok(()) | Err(_) => {}
    }
}

/// Writes what is left in the buffer of standard output, and returns its first failure.
fn finish_output() -> Result<(), Trouble> {
    note_failure(io::stdout().flush());
    OUTPUT_FAILURE.get().map_or(Ok(()), |error| Err(stdout_trouble(error)))
}

fn stdout_trouble(error: &io::Error) -> Trouble {
    Trouble::Input(format!("standard output: {error}"))
}

/// Writes a line to standard error. Where nobody reads it, nothing is to be done.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The text of `--help` about `--backend` where several may be given.
pub fn backends_help() -> String {
    format!("Backends, separated by commas: {}. All that this machine has unless given", backends::names())
}

/// The text of `--help` about `--backend` where one may be given.
pub fn backend_help() -> String {
    let known: Vec<_> = backends::KNOWN.iter().map(|k| format!("{} ({})", k.name, k.about)).collect();
    format!("Backend: {}", known.join(", "))
}

/// A word about the words of a filter that are names of backends; empty where none is.
pub fn backend_words(filter: &str) -> String {
    let words = filter.split_whitespace().filter(|word| backends::KNOWN.iter().any(|k| k.name == *word));
    words.fold(String::new(), |text, word| format!("{text}; '{word}' is a backend: use --backend {word}"))
}
