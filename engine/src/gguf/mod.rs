//! A reader of GGUF files that trusts nothing in them.
//!
//! [`Gguf::open`] maps the file (or reads it, [`Access::Copy`]), walks its header with every count, length, offset and extent compared
//! with the file's size (`header`), joins the parts of a split model (`split`), and gives
//! typed metadata ([`Metadata`]) and the directory ([`Tensor`]). Weights are never copied: a
//! tensor is a range of a mapping with shared ownership.
//!
//! The crate `gguf-rs` reads the same format but is not safe for an untrusted file: it allocates what a
//! string's length field says (up to 1 GiB) before it reads, panics on element type 40 and on a file type that is no
//! integer, computes wrong sizes for BF16, `IQ4_NL` and MXFP4, keeps the last of two equal keys, and turns every
//! number into a JSON value, which loses the type that an error has to name. The tests use it as a
//! second opinion: they decode each file that this module accepts with `gguf-rs` too and compare metadata,
//! directory and data offsets.

mod cursor;
mod error;
mod header;
mod metadata;
mod split;
mod tensor;
mod value;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use error::GgufError;
pub use metadata::{Metadata, Strings};
pub use tensor::Tensor;
pub use value::{Array, Value, ValueType};

use mapped_file::MappedFile;

use header::Header;
use split::Split;

/// Bytes of a file with shared ownership: a mapping, or memory in tests.
pub type Bytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// A model file, or all files of a split model.
pub struct Gguf {
    version: u32,
    metadata: Metadata,
    tensors: Vec<Tensor>,
    index: HashMap<String, usize>,
}

impl fmt::Debug for Gguf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Gguf v{} with {} keys and {} tensors",
            self.version,
            self.metadata.len(),
            self.tensors.len()
        )
    }
}

/// How the bytes of a file are reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Access {
    /// The file is mapped: it takes no memory of its own. It should not be shortened or rewritten while the model is in use,
    /// since the weights are read from it whenever an op needs them: see [`mapped_file`].
    #[default]
    Map,
    /// The file is read into memory. What happens to it afterwards is no matter.
    Copy,
}

impl Gguf {
    /// Maps and checks the model at `path`; opens all parts of a split model, given the first.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, GgufError> {
        Self::open_with(path, Access::Map)
    }

    /// As [`Gguf::open`], with the bytes reached by `access`.
    pub fn open_with(path: impl AsRef<Path>, access: Access) -> Result<Self, GgufError> {
        let path = path.as_ref();
        let in_file =
            |path: &Path, source: GgufError| GgufError::File { path: path.into(), source: Box::new(source) };
        let first = read(path, 0, access)?;
        let Some(split) = Split::of(&first.metadata).map_err(|e| in_file(path, e))? else {
            return Ok(Self::from_parts(first.version, first.metadata, first.tensors));
        };
        let Header { version, metadata, mut tensors } = first;
        let other_parts = split.other_parts(path).map_err(|e| in_file(path, e))?;
        for (part, path) in other_parts {
            let header = read(&path, part, access)?;
            split.check_part(&header.metadata, part).map_err(|e| in_file(&path, e))?;
            tensors.extend(header.tensors);
        }
        header::reject_duplicates(&tensors).map_err(|e| in_file(path, e))?;
        if let Some(want) = split.tensors
            && tensors.len() as u64 != u64::from(want)
        {
            let key = "split.tensors.count";
            let mismatch = GgufError::PartMismatch { key, found: want.into(), want: tensors.len() as u64 };
            return Err(in_file(path, mismatch));
        }
        Ok(Self::from_parts(version, metadata, tensors))
    }

    /// Checks a model in one file that is already in memory.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self, GgufError> {
        let bytes: Bytes = Arc::new(bytes);
        let Header { version, metadata, tensors } = header::read(&bytes, 0)?;
        Ok(Self::from_parts(version, metadata, tensors))
    }

    fn from_parts(version: u32, metadata: Metadata, tensors: Vec<Tensor>) -> Self {
        let index = tensors.iter().enumerate().map(|(i, t)| (t.name().to_owned(), i)).collect();
        Self { version, metadata, tensors, index }
    }

    /// Version of the format, 2 or 3.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The keys and values; of a split model, those of its first part.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// All tensors, in the order of the directory, parts in their order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.index.get(name).map(|&i| &self.tensors[i])
    }
}

fn read(path: &Path, part: u32, access: Access) -> Result<Header, GgufError> {
    let io = |source| GgufError::Io { path: path.into(), source };
    let bytes: Bytes = match access {
        Access::Map => Arc::new(MappedFile::open(path).map_err(io)?),
        Access::Copy => Arc::new(input_file::read(path, u64::MAX).map_err(io)?),
    };
    header::read(&bytes, part)
        .map_err(|source| GgufError::File { path: path.into(), source: Box::new(source) })
}
