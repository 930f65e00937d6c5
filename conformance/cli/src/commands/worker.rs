//! `assay worker`: runs cases whose names come in as lines. Started by `check`, not by people.

use std::path::PathBuf;

use assay_cli::backends;
use assay_cli::worker;
use conformance::guard::Guard;
use forensics::capsule::recorder::Recorder;

use super::{End, Trouble, guard};

/// Runs cases whose names come in as lines, and answers in JSON.
#[derive(clap::Args)]
pub struct Worker {
    /// Backend to run them on.
    #[arg(long)]
    backend: String,
    /// What notices an access outside a buffer.
    #[arg(long, value_parser = guard::parser(), default_value_t)]
    guard: Guard,
    /// Folder in which each op is stored before it runs.
    #[arg(long)]
    record: Option<PathBuf>,
}

impl Worker {
    pub fn run(self) -> Result<End, Trouble> {
        let mut target = backends::open(&self.backend, self.guard)?;
        if let Some(folder) = self.record {
            target = Box::new(Recorder::new(target, &self.backend, self.guard, folder));
        }
        worker::serve(target.as_ref(), std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(Trouble::input)?;
        Ok(End::Well)
    }
}
