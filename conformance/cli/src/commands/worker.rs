//! `assay worker`: runs cases whose names come in as lines. Started by `check`, not by people.

use std::path::PathBuf;

use assay_cli::backends;
use assay_cli::worker;
use conformance::guard::Guard;
use conformance::target::Target;
use forensics::capsule::recorder::Recorder;

use super::{End, Trouble, guard};

/// Runs cases whose names come in as lines, and answers in JSON.
#[derive(clap::Args)]
pub struct Worker {
    /// Backend of every case. Without it, each runs on the one that its name says.
    #[arg(long)]
    backend: Option<String>,
    /// What notices an access outside a buffer.
    #[arg(long, value_parser = guard::parser(), default_value_t)]
    guard: Guard,
    /// Folder in which each op is stored before it runs.
    #[arg(long)]
    record: Option<PathBuf>,
}

impl Worker {
    pub fn run(self) -> Result<End, Trouble> {
        let open = |backend: &str| -> Result<backends::Opened, std::io::Error> {
            let (target, device) =
                backends::open_with_device(backend, self.guard).map_err(std::io::Error::other)?;
            let target: Box<dyn Target> = match &self.record {
                Some(folder) => Box::new(Recorder::new(target, backend, self.guard, folder.clone())),
                None => target,
            };
            Ok((target, device))
        };
        worker::serve(self.backend.as_deref(), open, std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(Trouble::input)?;
        Ok(End::Well)
    }
}
