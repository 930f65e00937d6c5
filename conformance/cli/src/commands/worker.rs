//! `assay worker`: runs cases whose names come in as lines. Started by `check`, not by people.

use std::io::Write;
use std::path::PathBuf;

use assay_cli::backends::{self, Settings};
use assay_cli::judge::examined;
use assay_cli::worker;
use conformance::guard::Guard;
use conformance::target::Target;
use forensics::capsule::recorder::Recorder;

use super::kernels::KernelArgs;
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
    #[command(flatten)]
    kernels: KernelArgs,
    /// The process that started this one and without which it ends.
    #[arg(long)]
    parent: Option<u32>,
}

impl Worker {
    pub fn run(self) -> Result<End, Trouble> {
        if let Some(parent) = self.parent {
            own_process::end_with_parent(parent).map_err(Trouble::input)?;
        }
        let settings = Settings { foreign: self.kernels.files(), ..Settings::from_env() };
        let open = |backend: &str| -> Result<backends::Opened, std::io::Error> {
            let (target, device) =
                backends::open_with_device(backend, self.guard, &settings).map_err(std::io::Error::other)?;
            let target: Box<dyn Target> = match &self.record {
                Some(folder) => Box::new(Recorder::new(target, backend, self.guard, folder.clone())),
                None => target,
            };
            Ok((target, device))
        };
        // What a plug-in prints is no answer.
        let answers: Box<dyn Write> = match Settings::from_env().plugin {
            Some(_) => Box::new(plugin::stdout::take().map_err(Trouble::input)?),
            None => Box::new(std::io::stdout().lock()),
        };
        let examine = |question: &str| -> std::io::Result<String> {
            let examined = examined::of_plugin(&serde_json::from_str(question)?, &settings);
            Ok(serde_json::to_string(&examined.map_err(std::io::Error::other)?)?)
        };
        worker::serve(self.backend.as_deref(), open, examine, std::io::stdin().lock(), answers)
            .map_err(Trouble::input)?;
        Ok(End::Well)
    }
}
