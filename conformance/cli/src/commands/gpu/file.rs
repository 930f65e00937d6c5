//! Files that hold code objects.

use std::path::{Path, PathBuf};

use softhip::object::{self, CodeObject, Packed, TargetId};

use crate::commands::Trouble;

/// Which file, and which of its code objects.
#[derive(clap::Args)]
pub struct Source {
    /// A code object, an offload bundle (compressed or not), or a program or library that hipcc made.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    #[command(flatten)]
    pub target: Target,
}

/// Which code objects of a file.
#[derive(clap::Args)]
pub struct Target {
    /// The GPU whose code objects are taken, as in gfx942:xnack-.
    #[arg(long, value_name = "TARGET", default_value = "gfx942")]
    pub target: TargetId,
}

/// A code object of a file.
pub struct Loaded {
    pub target: TargetId,
    pub bytes: Vec<u8>,
    pub object: CodeObject,
}

impl Source {
    /// The code objects that this machine can show and run: those of the target, which must be gfx942.
    pub fn load(&self) -> Result<Vec<Loaded>, Trouble> {
        load(&self.path, &self.target.target)
    }
}

pub fn read(path: &Path) -> Result<Vec<u8>, Trouble> {
    input_file::read(path, input_file::BINARY).map_err(|error| trouble(path, error))
}

/// Bad input: what is wrong with a file.
pub fn trouble(path: &Path, error: impl std::fmt::Display) -> Trouble {
    Trouble::Input(format!("{}: {error}", path.display()))
}

/// The gfx942 code objects of a file for a target. There is at least one.
pub fn load(path: &Path, target: &TargetId) -> Result<Vec<Loaded>, Trouble> {
    let bytes = read(path)?;
    let packed = object::open_for(&bytes, target).map_err(|error| trouble(path, error))?;
    let load = |Packed { target, bytes }: Packed<'_>| {
        let object = CodeObject::parse(&bytes).map_err(|error| trouble(path, error))?;
        Ok(Loaded { target, bytes: bytes.into_owned(), object })
    };
    packed.into_iter().map(load).collect()
}

/// Bad input: no object has such a kernel or function.
pub fn no_kernel(path: &Path, objects: &[Loaded], name: &str) -> Trouble {
    let kernels = objects.iter().flat_map(|loaded| loaded.object.kernels());
    let known: Vec<&str> = kernels.map(|kernel| kernel.name.as_str()).collect();
    Trouble::Input(format!("{} has no kernel {name}; it has {}", path.display(), known.join(", ")))
}
