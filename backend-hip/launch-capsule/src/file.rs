//! Reading and writing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use softhip::control::LaunchRecord;
use softhip::memory::{AllocationInfo, Piece, Snapshot};
use softhip::report::HostCall;
use softhip::sched::{Given, Shape};

use crate::{Found, LaunchCapsule};

/// Version of the format.
const VERSION: &str = "1";
/// The metadata key that tells a launch capsule from other safetensors files.
const KEY: &str = "assay.launch";
/// Largest file that is read.
const LARGEST: u64 = 8 << 30;

/// A file that is no launch capsule, or cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file system's answer.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: std::io::Error,
    },
    /// The container is broken.
    #[error("{path}: not a safetensors file: {source}")]
    Container {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: safetensors::SafeTensorError,
    },
    /// The container is sound, but its content is not a launch capsule's.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong.
        what: ContentError,
    },
}

/// What is wrong with the content of a file.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// Another version of the format.
    #[error("launch capsule version {0}, this program reads {VERSION}")]
    Version(String),
    /// A key of the metadata is missing.
    #[error("metadata key '{0}' is missing")]
    Key(&'static str),
    /// The description is not what it should be.
    #[error("metadata key 'launch': {0}")]
    Form(#[from] serde_json::Error),
    /// A tensor is missing.
    #[error("tensor '{name}': {source}")]
    Tensor {
        /// Its name.
        name: String,
        /// What went wrong.
        source: safetensors::SafeTensorError,
    },
    /// Two tensors or two buffers have one name.
    #[error("'{0}' is there twice")]
    Twice(String),
    /// The pieces of a tensor do not add up to it.
    #[error("tensor '{name}' has {bytes} bytes, its pieces need {needed}")]
    Pieces {
        /// The tensor.
        name: String,
        /// Its bytes.
        bytes: u64,
        /// Those of its pieces.
        needed: u64,
    },
    /// A part is outside of its buffer.
    #[error("buffer {at:#x}: bytes {offset} to {end} of {size}")]
    Outside {
        /// Address of the buffer.
        at: u64,
        /// The first byte.
        offset: u64,
        /// The byte after the last.
        end: u64,
        /// Bytes of the buffer.
        size: u64,
    },
}

/// The description of a launch, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchForm {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_lds: u32,
    cooperative: bool,
    image_base: u64,
    arguments: ArgumentsForm,
    buffers: Vec<BufferForm>,
    call: HostCall,
    found: Found,
}

/// How the tensor `arguments` is to be read.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArgumentsForm {
    /// All of them, laid out as the kernel takes them.
    Packed,
    /// The size of each, one after the other; `null` for one that was missing.
    Each(Vec<Option<u64>>),
}

/// A buffer.
#[derive(Serialize, Deserialize)]
struct BufferForm {
    #[serde(flatten)]
    info: AllocationInfo,
    /// Offset and size of each piece of the tensor.
    pieces: Vec<(u64, u64)>,
    tensor: String,
}

/// Reads a file; `None` if it is a sound safetensors file and no launch capsule.
pub fn read(path: &Path) -> Result<Option<LaunchCapsule>, FileError> {
    let io = |source| FileError::Io { path: path.into(), source };
    let bytes = input_file::read(path, LARGEST).map_err(io)?;
    let container = |source| FileError::Container { path: path.into(), source };
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(container)?;
    let keys = metadata.metadata().clone().unwrap_or_default();
    if !keys.contains_key(KEY) {
        return Ok(None);
    }
    let tensors = SafeTensors::deserialize(&bytes).map_err(container)?;
    match parse(&keys, &tensors) {
        Ok(capsule) => Ok(Some(capsule)),
        Err(what) => Err(FileError::Content { path: path.into(), what }),
    }
}

fn parse(keys: &HashMap<String, String>, tensors: &SafeTensors<'_>) -> Result<LaunchCapsule, ContentError> {
    let key = |name| keys.get(name).ok_or(ContentError::Key(name));
    let version = key(KEY)?;
    if version != VERSION {
        return Err(ContentError::Version(version.clone()));
    }
    let form: LaunchForm = serde_json::from_str(key("launch")?)?;
    let tensor = |name: &str| {
        let found = tensors.tensor(name);
        found.map_err(|source| ContentError::Tensor { name: name.to_owned(), source })
    };
    let mut names = HashSet::new();
    let mut memory = Vec::new();
    for BufferForm { info, pieces, tensor: name } in form.buffers {
        if !names.insert(name.clone()) {
            return Err(ContentError::Twice(name));
        }
        let bytes = tensor(&name)?;
        let sizes = pieces.iter().map(|&(_, len)| Some(len));
        let parts = split(&name, bytes.data(), sizes)?;
        let mut all = Vec::new();
        for ((offset, len), bytes) in pieces.into_iter().zip(parts.into_iter().flatten()) {
            let end = offset.saturating_add(len);
            if end > info.size {
                return Err(ContentError::Outside { at: info.base, offset, end, size: info.size });
            }
            all.push(Piece { offset, bytes });
        }
        memory.push(Snapshot { info, pieces: all });
    }
    let arguments = tensor("arguments")?;
    let given = match form.arguments {
        ArgumentsForm::Packed => Given::Packed(arguments.data().to_vec()),
        ArgumentsForm::Each(sizes) => Given::Each(split("arguments", arguments.data(), sizes.into_iter())?),
    };
    let LaunchForm { kernel, grid, block, dynamic_lds, cooperative, image_base, call, found, .. } = form;
    let record = LaunchRecord {
        image: tensor("code_object")?.data().into(),
        image_base,
        kernel,
        shape: Shape { grid, block, dynamic_lds, cooperative },
        given,
        memory,
        call,
    };
    Ok(LaunchCapsule { record, found })
}

/// Parts of the given sizes, which add up to all of `bytes`; none where there is no size.
fn split(
    name: &str,
    bytes: &[u8],
    sizes: impl Iterator<Item = Option<u64>> + Clone,
) -> Result<Vec<Option<Vec<u8>>>, ContentError> {
    let needed = sizes.clone().flatten().fold(0, u64::saturating_add);
    if needed != bytes.len() as u64 {
        return Err(ContentError::Pieces { name: name.to_owned(), bytes: bytes.len() as u64, needed });
    }
    let mut rest = bytes;
    let mut take = |size: u64| {
        let size = usize::try_from(size).expect("all sizes together are those of bytes in memory");
        let (part, others) = rest.split_at(size);
        rest = others;
        part.to_vec()
    };
    Ok(sizes.map(|size| size.map(&mut take)).collect())
}

/// Writes a file. It appears whole or not at all. `generator` says what made it.
pub fn write(path: &Path, generator: &str, capsule: &LaunchCapsule) -> Result<(), FileError> {
    let container = |source| FileError::Container { path: path.into(), source };
    let bytes = bytes(generator, capsule).map_err(container)?;
    output_file::write(path, &bytes).map_err(|source| FileError::Io { path: path.into(), source })
}

/// The file that [`write`](fn@write) writes.
pub fn bytes(generator: &str, capsule: &LaunchCapsule) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let LaunchCapsule { record, found } = capsule;
    let (form, arguments) = match &record.given {
        Given::Packed(bytes) => (ArgumentsForm::Packed, bytes.clone()),
        Given::Each(values) => {
            let sizes = values.iter().map(|value| value.as_ref().map(|bytes| bytes.len() as u64));
            (ArgumentsForm::Each(sizes.collect()), values.iter().flatten().flatten().copied().collect())
        }
    };
    let mut contents = Vec::new();
    let mut buffers = Vec::new();
    for (at, Snapshot { info, pieces }) in record.memory.iter().enumerate() {
        let tensor = format!("buffer.{at}");
        let extents = pieces.iter().map(|piece| (piece.offset, piece.bytes.len() as u64));
        buffers.push(BufferForm { info: info.clone(), pieces: extents.collect(), tensor: tensor.clone() });
        contents.push((tensor, pieces.iter().flat_map(|piece| &piece.bytes).copied().collect::<Vec<u8>>()));
    }
    let Shape { grid, block, dynamic_lds, cooperative } = record.shape;
    let launch = LaunchForm {
        kernel: record.kernel.clone(),
        grid,
        block,
        dynamic_lds,
        cooperative,
        image_base: record.image_base,
        arguments: form,
        buffers,
        call: record.call.clone(),
        found: found.clone(),
    };
    contents.push(("code_object".to_owned(), record.image.to_vec()));
    contents.push(("arguments".to_owned(), arguments));
    let mut tensors = Vec::new();
    for (name, bytes) in &contents {
        tensors.push((name.as_str(), TensorView::new(Dtype::U8, vec![bytes.len()], bytes)?));
    }
    let metadata = HashMap::from([
        (KEY.to_owned(), VERSION.to_owned()),
        ("generator".to_owned(), generator.to_owned()),
        ("launch".to_owned(), serde_json::to_string(&launch).map_err(safetensors::SafeTensorError::from)?),
    ]);
    safetensors::serialize(tensors, Some(metadata))
}
