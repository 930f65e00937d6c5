//! A manifest: read from TOML, checked against the ops that it names and against the kernels that it launches.

mod kernel;
mod numerics;
mod raw;
mod read;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kernels::{Arrangement, DType, OpForm, Stem};

use crate::expression::Expression;
pub(crate) use kernel::{fill, placeholder};
pub(crate) use numerics::Declared;
pub use numerics::Promises;

/// What is wrong with a manifest, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{}: {what}", file.display(), line.map_or(String::new(), |line| format!(":{line}")))]
pub struct ManifestError {
    /// The manifest.
    pub file: PathBuf,
    /// Its line, from 1.
    pub line: Option<usize>,
    /// What is wrong, with the name of the thing.
    pub what: String,
}

/// A mistake in a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistake {
    line: usize,
    what: String,
}

/// An expression of the manifest, with its line and what it is for.
#[derive(Clone, PartialEq, Debug)]
pub struct Stated {
    /// The line.
    pub line: usize,
    /// What it is for: `grid`, `argument 3`.
    pub what: String,
    /// The expression.
    pub expression: Expression,
}

/// A manifest. A clone is the same.
#[derive(Clone, Debug)]
pub struct Manifest {
    file: Arc<Path>,
    entries: Arc<[Entry]>,
}

/// Kernels of an op, of some of its forms.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The op.
    pub stem: Stem,
    /// Where it stands.
    pub line: usize,
    /// Element types that operands may have. Those that are not listed are f32, indices u32.
    pub(crate) types: BTreeMap<String, Vec<DType>>,
    /// How operands may lie in memory. Those that are not listed lie in rows.
    pub(crate) layouts: BTreeMap<String, Vec<Arrangement>>,
    pub(crate) supports: Vec<Stated>,
    /// Names of its own, in the order in which they need each other.
    pub(crate) own: Vec<(String, Stated)>,
    /// Bytes of memory that one launch leaves for the next, by name.
    pub(crate) workspaces: Vec<(String, Stated)>,
    /// Outputs and workspaces that are set to zero before the launches.
    pub(crate) zeroed: Vec<String>,
    pub(crate) declared: Declared,
    pub(crate) launches: Vec<LaunchEntry>,
}

/// A launch of an entry.
#[derive(Clone, Debug)]
pub(crate) struct LaunchEntry {
    pub line: usize,
    /// Name of the kernel, in which `{weight}` is the element type of an operand.
    pub kernel: String,
    pub kernel_line: usize,
    pub when: Option<Stated>,
    pub grid: Vec<Stated>,
    pub block: Vec<Stated>,
    pub lds: Option<Stated>,
    pub args_line: usize,
    pub arguments: Vec<ArgumentEntry>,
}

/// An argument of a launch.
#[derive(Clone, Debug)]
pub(crate) struct ArgumentEntry {
    pub line: usize,
    /// As it is written.
    pub text: String,
    pub what: ArgumentWhat,
}

/// What an argument passes.
#[derive(Clone, Debug)]
pub(crate) enum ArgumentWhat {
    Operand(String),
    Workspace(usize),
    Null,
    Scalar(Scalar, Stated),
}

/// The type of an argument that is passed by value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scalar {
    Signed(u32),
    Unsigned(u32),
    F32,
    F64,
}

impl Scalar {
    pub(crate) const ALL: [(&'static str, Scalar); 10] = [
        ("i8", Scalar::Signed(1)),
        ("u8", Scalar::Unsigned(1)),
        ("i16", Scalar::Signed(2)),
        ("u16", Scalar::Unsigned(2)),
        ("i32", Scalar::Signed(4)),
        ("u32", Scalar::Unsigned(4)),
        ("i64", Scalar::Signed(8)),
        ("u64", Scalar::Unsigned(8)),
        ("f32", Scalar::F32),
        ("f64", Scalar::F64),
    ];

    /// Bytes.
    pub(crate) const fn size(self) -> u32 {
        match self {
            Scalar::Signed(bytes) | Scalar::Unsigned(bytes) => bytes,
            Scalar::F32 => 4,
            Scalar::F64 => 8,
        }
    }
}

impl Manifest {
    /// The file that it was read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Its entries, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The ops that it has kernels of, each once.
    pub fn stems(&self) -> Vec<Stem> {
        let mut stems: Vec<Stem> = self.entries.iter().map(|entry| entry.stem).collect();
        stems.sort_unstable();
        stems.dedup();
        stems
    }

    /// Whether it has kernels of an op.
    pub fn has(&self, stem: Stem) -> bool {
        self.entries.iter().any(|entry| entry.stem == stem)
    }

    /// The entry for an op of a form: the first that takes it. `None` where the manifest leaves the op out, an error with the reasons
    /// where none of its entries takes the form.
    pub fn entry(&self, form: &OpForm) -> Option<Result<&Entry, String>> {
        let mut reasons = Vec::new();
        for entry in self.entries.iter().filter(|entry| entry.stem == form.stem) {
            match entry.accepts(form) {
                Ok(()) => return Some(Ok(entry)),
                Err(refusal) => reasons.push(self.at(&refusal)),
            }
        }
        let first = (!reasons.is_empty()).then(|| reasons.join("; "))?;
        Some(Err(first))
    }

    /// A refusal, with the file's name.
    pub fn at(&self, refusal: &crate::Refusal) -> String {
        format!("{}:{}: {}", self.file.display(), refusal.line, refusal.what)
    }

    /// The mistakes that show only in forms: of each form that an entry takes, everything is worked out.
    pub fn rehearse<'f>(&self, forms: impl IntoIterator<Item = &'f OpForm>) -> Result<(), ManifestError> {
        for form in forms {
            for entry in self.entries.iter().filter(|entry| entry.stem == form.stem) {
                if let Err(refusal) = entry.rehearse(form) {
                    let (line, what) = (Some(refusal.line), refusal.what);
                    return Err(ManifestError { file: self.file.to_path_buf(), line, what });
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.display().fmt(f)
    }
}
