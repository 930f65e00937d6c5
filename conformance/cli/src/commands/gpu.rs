//! `assay gpu`: code objects for AMD GPUs, looked at and run on the software HIP device.

mod file;
mod info;
mod launch;
mod lint;
mod objdump;
mod report;

use super::{End, Trouble};

/// Looks at gfx942 code objects, says what their kernels cost, and runs them on the software HIP device with every access checked.
#[derive(clap::Args)]
pub struct Gpu {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Objdump(objdump::Objdump),
    Lint(lint::Lint),
    Info(info::Info),
    Run(Box<launch::Launch>),
    Report(report::Report),
}

impl Gpu {
    pub fn run(self) -> Result<End, Trouble> {
        match self.command {
            Command::Objdump(command) => command.run(),
            Command::Lint(command) => command.run(),
            Command::Info(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Report(command) => command.run(),
        }
    }
}
