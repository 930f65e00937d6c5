//! `assay audit`: copies to the host, looked at many times, and their log.

mod d2h;
mod engine;
mod lint;
mod program;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::{End, Trouble};

/// Audits copies to the host: many runs that log, count and compare each copy, and the log of any engine that writes one.
#[derive(clap::Args)]
pub struct Audit {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    D2h(Box<d2h::D2h>),
    Lint(lint::Lint),
}

impl Audit {
    pub fn run(self) -> Result<End, Trouble> {
        match self.command {
            Command::D2h(command) => command.run(),
            Command::Lint(command) => command.run(),
        }
    }
}

/// A log that had no room for its last lines says nothing about copies: where nothing can be added to it, that is an error of its own.
fn written_to_its_end(log: &Path) -> Result<(), Trouble> {
    let added = OpenOptions::new().append(true).open(log).and_then(|mut log| log.write_all(b"\n"));
    match added {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Trouble::Input(format!("{}: the log of copies: {error}", log.display())))
        }
        _ => Ok(()),
    }
}
