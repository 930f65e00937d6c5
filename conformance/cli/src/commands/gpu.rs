//! `assay gpu`: code objects for AMD GPUs, looked at and run on the software HIP device.

mod argument;
mod info;
mod launch;
mod objdump;
mod report;

use std::path::Path;

use softhip::object::CodeObject;

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
    Info(info::Info),
    Run(Box<launch::Launch>),
    Report(report::Report),
}

impl Gpu {
    pub fn run(self) -> Result<End, Trouble> {
        match self.command {
            Command::Objdump(command) => command.run(),
            Command::Info(command) => command.run(),
            Command::Run(command) => command.run(),
            Command::Report(command) => command.run(),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Trouble> {
    std::fs::read(path).map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))
}

fn parse(path: &Path, bytes: &[u8]) -> Result<CodeObject, Trouble> {
    CodeObject::parse(bytes).map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))
}

/// Bad input: the object has no such kernel.
fn no_kernel(path: &Path, object: &CodeObject, name: &str) -> Trouble {
    let known: Vec<&str> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
    Trouble::Input(format!("{} has no kernel {name}; it has {}", path.display(), known.join(", ")))
}
