//! `assay manifest`: how foreign kernels are launched.

use std::path::{Path, PathBuf};

use kernel_manifest::{KernelFiles, draft};
use kernels::Stem;
use softhip::object::TargetId;

use super::{End, Trouble, print};

/// Says how kernels of your own are launched: a file that `--manifest` takes.
#[derive(clap::Args)]
pub struct Manifest {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    New(New),
}

/// Writes a first manifest, from what a code object says about its kernel. Arguments whose names are like those of the op's operands,
/// dimensions and parameters are filled in; what could not be guessed is a `?`. Triton's .json beside the object is read too.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay manifest new rms_norm.hsaco --op rms_norm                    prints it
  assay manifest new rms_norm.hip --op rms_norm --out rms_norm.toml  compiles the source first
  assay manifest new lib.so --op matmul --kernel gemm_f16_128x128")]
struct New {
    /// A code object, bundle, program, library, folder or source.
    #[arg(value_name = "FILE")]
    kernels: PathBuf,
    /// The op that the kernel computes.
    #[arg(long, value_name = "OP")]
    op: Stem,
    /// The kernel; the only one, or the one whose name is like the op's, unless given.
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Writes it to a file, which must not be there yet.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Manifest {
    pub fn run(self) -> Result<End, Trouble> {
        match self.action {
            Action::New(new) => new.run(),
        }
    }
}

impl New {
    fn run(&self) -> Result<End, Trouble> {
        let paths = std::slice::from_ref(&self.kernels);
        let files = KernelFiles::load(paths, &TargetId::gfx942()).map_err(Trouble::input)?;
        let kernel = draft::kernel(&files, self.op, self.kernel.as_deref()).map_err(Trouble::Input)?;
        let text = draft::draft(kernel, self.op, &self.kernels);
        let Some(path) = &self.out else {
            print(&text);
            return Ok(End::Well);
        };
        if path.exists() {
            return Err(Trouble::Input(format!("{}: is there already", path.display())));
        }
        write(path, &text)?;
        let open = text.lines().filter(|line| line.contains(" ?\"")).count();
        print(&format!("{}: {}\n", path.display(), to_do(open)));
        Ok(End::Well)
    }
}

fn to_do(open: usize) -> String {
    match open {
        0 => "every argument was guessed from its name; read it once before you trust it".into(),
        1 => "1 argument is left to fill in, marked ?".into(),
        more => format!("{more} arguments are left to fill in, marked ?"),
    }
}

fn write(path: &Path, text: &str) -> Result<(), Trouble> {
    output_file::write(path, text.as_bytes())
        .map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))
}
