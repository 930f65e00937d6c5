//! `assay worker`: runs cases whose names come in as lines. Started by `check`, not by people.

use conformance::backends::{self, Guard};
use conformance::worker;

use super::{End, Trouble};

/// Runs cases whose names come in as lines, and answers in JSON.
#[derive(clap::Args)]
pub struct Worker {
    /// Backend to run them on.
    #[arg(long)]
    backend: String,
    /// No guard zones around buffers.
    #[arg(long)]
    no_guard: bool,
}

impl Worker {
    pub fn run(self) -> Result<End, Trouble> {
        let guard = if self.no_guard { Guard::Off } else { Guard::Canaries };
        let target = backends::open(&self.backend, guard)?;
        worker::serve(target.as_ref(), std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(Trouble::input)?;
        Ok(End::Well)
    }
}
