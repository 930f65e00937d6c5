//! Ops with their data, in safetensors files that anyone can open.
//!
//! A file holds one or more cases. The safetensors metadata has `assay.capsule` (the version of this format), `generator` (what
//! made it) and `cases`, a JSON list:
//!
//! ```json
//! [{"name": "small", "op": "rms_norm", "params": {"eps": 1e-6},
//!   "operands": [{"name": "x", "role": "input", "layout": {"dtype": "f32", "shape": [2, 3]}, "tensor": "0.x"}],
//!   "expected": [{"name": "out", "tensor": "0.out.expected"}]}]
//! ```
//!
//! The tensor of an operand holds the whole buffer in which the operand lies, in its own type where the operand fills the
//! buffer and that type exists in safetensors, as raw bytes otherwise. An output's own bytes are what the buffer holds
//! before the op; they may be left out (`"tensor": null`), and are zero then. An expected tensor holds the elements
//! in row-major order: as F64, values to be met within the op's bound; in any other type, bytes to be met exactly.
//!
//! A capsule of a run has two keys more: `observed`, like `expected`, the bytes that the backend gave; and `origin`: `backend`,
//! `device`, `build`, `guard` (what stood around its buffers), `model` (`file`, `sha256`), `site` (`step`, `phase`, `layer`, `point`),
//! and `cut`, which says what of the op was left out.
//!
//! * [`crop`]: the capsule of an op, cropped to a size that can be sent.
//! * [`extract`]: one op of a model's run as a capsule.
//! * [`recorder`]: a target that stores each op before it runs.

mod check;
pub mod crop;
pub mod extract;
pub mod recorder;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use conformance::guard::Guard;
use conformance::oracle::answers;
use kernels::{DType, Expected, Layout, Numerics, Record, Role, Site, Stem};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::provenance::ModelId;

/// Version of the format.
const VERSION: &str = "1";

/// An op with its data and, where known, its right result.
#[derive(Clone, PartialEq, Debug)]
pub struct Capsule {
    /// Name of the case.
    pub name: String,
    /// The op.
    pub record: Record,
    /// Right results of its outputs, by operand.
    pub expected: Vec<(String, Stored)>,
    /// What a backend gave, by operand: elements in row-major order.
    pub observed: Vec<(String, Vec<u8>)>,
    /// The run that it comes from.
    pub origin: Option<Origin>,
}

/// The run that a capsule comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// Backend, as on the command line.
    pub backend: String,
    /// What it ran on.
    pub device: String,
    /// The program that ran it.
    pub build: String,
    /// What noticed an access outside a buffer there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<Guard>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// Where in the model the op stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<Site>,
    /// What of the op was left out, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

/// A right result as stored.
#[derive(Clone, PartialEq, Debug)]
pub enum Stored {
    /// Values to be met within the op's bound.
    Values(Vec<f64>),
    /// Bytes to be met exactly.
    Bits(Vec<u8>),
}

/// A file that cannot be read or written as a capsule.
#[derive(Debug, thiserror::Error)]
pub enum CapsuleError {
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
    /// The container is sound, but its content is not a capsule's.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is missing or wrong.
        what: String,
    },
}

#[derive(Serialize, Deserialize)]
struct CaseForm {
    name: String,
    op: String,
    params: Map<String, Value>,
    operands: Vec<OperandForm>,
    #[serde(default)]
    expected: Vec<ExpectedForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    observed: Vec<ExpectedForm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
}

#[derive(Serialize, Deserialize)]
struct OperandForm {
    name: String,
    role: Role,
    layout: Layout,
    tensor: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    blank: bool,
}

#[derive(Serialize, Deserialize)]
struct ExpectedForm {
    name: String,
    tensor: String,
}

/// The exact results of an op, as a capsule keeps them; none where it cannot be computed.
pub fn right_answers(record: &Record) -> Vec<(String, Stored)> {
    let names = record.operands().iter().filter(|o| o.role == Role::Output).map(|o| o.name.clone());
    let right =
        answers(record, &Numerics::F64).unwrap_or_default().into_iter().map(|expected| match expected {
            Expected::Within { value, .. } => Stored::Values(value),
            Expected::Bits(bytes) => Stored::Bits(bytes),
        });
    names.zip(right).collect()
}

/// The capsules in a folder, sorted by name.
pub fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "capsule" || e == "safetensors") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads all cases of a file.
pub fn read(path: &Path) -> Result<Vec<Capsule>, CapsuleError> {
    let io = |source| CapsuleError::Io { path: path.into(), source };
    let container = |source| CapsuleError::Container { path: path.into(), source };
    let bytes = input_file::read(path, input_file::BINARY).map_err(io)?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(container)?;
    let tensors = SafeTensors::deserialize(&bytes).map_err(container)?;
    let keys = metadata.metadata().clone().unwrap_or_default();
    let room =
        Room { left: bytes.len().saturating_add(MAX_BLANK), limit: bytes.len().saturating_add(MAX_BLANK) };
    parse(&keys, &tensors, room).map_err(|what| CapsuleError::Content { path: path.into(), what })
}

/// Memory that the cases of a file may still take.
struct Room {
    left: usize,
    limit: usize,
}

impl Room {
    /// Sets `bytes` aside.
    fn take(&mut self, bytes: usize) -> Result<(), String> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(format!(
                "its cases take more than {} bytes, the size of the file and {MAX_BLANK} for outputs without content",
                self.limit
            )),
        }
    }
}

fn parse(
    keys: &HashMap<String, String>,
    tensors: &SafeTensors<'_>,
    mut room: Room,
) -> Result<Vec<Capsule>, String> {
    let key = |name: &str| keys.get(name).ok_or(format!("metadata key '{name}' is missing"));
    let version = key("assay.capsule")?;
    if version != VERSION {
        return Err(format!("capsule version {version}, this program reads {VERSION}"));
    }
    let forms: Vec<CaseForm> =
        serde_json::from_str(key("cases")?).map_err(|e| format!("metadata key 'cases': {e}"))?;
    if forms.is_empty() {
        return Err("holds no op".into());
    }
    let cases = forms.into_iter().map(|form| {
        let name = form.name.clone();
        let case = case(form, tensors, &mut room).map_err(|what| format!("case '{name}': {what}"))?;
        check::problem(&case).map_or(Ok(case), |what| Err(format!("case '{name}': {what}")))
    });
    cases.collect()
}

fn case(form: CaseForm, tensors: &SafeTensors<'_>, room: &mut Room) -> Result<Capsule, String> {
    let name = form.name;
    let stem: Stem = form.op.parse().map_err(|e| format!("{e}"))?;
    let mut record = Record::new(stem);
    record.params = form.params;
    for operand in form.operands {
        let Some(range) = operand.layout.byte_range() else {
            return Err(format!("operand '{}': {:?} has no size", operand.name, operand.layout));
        };
        let bytes = match &operand.tensor {
            Some(key) => tensor(tensors, key, room)?.data().to_vec(),
            None => room.take(range.end).map(|()| vec![0; range.end])?,
        };
        record = if operand.blank && operand.role == Role::Output {
            record.blank(&operand.name, operand.layout, bytes)
        } else {
            record.operand(&operand.name, operand.role, operand.layout, bytes)
        };
    }
    let mut expected = Vec::new();
    for ExpectedForm { name: output, tensor: key } in form.expected {
        let stored = tensor(tensors, &key, room)?;
        let right = match stored.dtype() {
            Dtype::F64 => Stored::Values(bytemuck::pod_collect_to_vec(stored.data())),
            _ => Stored::Bits(stored.data().to_vec()),
        };
        expected.push((output, right));
    }
    let observed =
        form.observed.into_iter().map(|o| Ok((o.name, tensor(tensors, &o.tensor, room)?.data().to_vec())));
    let observed = observed.collect::<Result<_, String>>()?;
    Ok(Capsule { name, record, expected, observed, origin: form.origin })
}

/// The tensor `key`, for whose content there must be room.
fn tensor<'d>(tensors: &SafeTensors<'d>, key: &str, room: &mut Room) -> Result<TensorView<'d>, String> {
    let found = tensors.tensor(key).map_err(|e| format!("tensor '{key}': {e}"))?;
    room.take(found.data().len())?;
    Ok(found)
}

/// Bytes of all outputs of a file that may be asked for without giving their content.
pub const MAX_BLANK: usize = 512 << 20;

/// Writes cases to a file. The file appears whole or not at all: it is written under another name beside its place,
/// flushed to the disk, and renamed.
pub fn write(path: &Path, generator: &str, cases: &[Capsule]) -> Result<(), CapsuleError> {
    let bytes =
        bytes(generator, cases).map_err(|source| CapsuleError::Container { path: path.into(), source })?;
    output_file::write(path, &bytes).map_err(|source| CapsuleError::Io { path: path.into(), source })
}

/// The file that [`write`](fn@write) writes.
pub fn bytes(generator: &str, cases: &[Capsule]) -> Result<Vec<u8>, safetensors::SafeTensorError> {
    let mut forms = Vec::new();
    let mut tensors = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let mut form = CaseForm {
            name: case.name.clone(),
            op: case.record.stem.name().into(),
            params: case.record.params.clone(),
            operands: Vec::new(),
            expected: Vec::new(),
            observed: Vec::new(),
            origin: case.origin.clone(),
        };
        for o in case.record.operands() {
            // What a blank output holds is of no interest, unless its layout says less than its buffer does.
            let empty = o.blank && o.layout.byte_range().is_some_and(|r| r.end == o.bytes.len());
            let key = (!empty).then(|| format!("{at}.{}", o.name));
            if let Some(key) = &key {
                tensors.push((key.clone(), buffer_tensor(&o.layout, &o.bytes)?));
            }
            form.operands.push(OperandForm {
                name: o.name.clone(),
                role: o.role,
                layout: o.layout,
                tensor: key,
                blank: o.blank,
            });
        }
        for (name, right) in &case.expected {
            let key = format!("{at}.{name}.expected");
            let view = match right {
                Stored::Values(values) => {
                    TensorView::new(Dtype::F64, vec![values.len()], bytemuck::cast_slice(values))
                }
                Stored::Bits(bytes) => TensorView::new(Dtype::U8, vec![bytes.len()], bytes),
            };
            tensors.push((key.clone(), view?));
            form.expected.push(ExpectedForm { name: name.clone(), tensor: key });
        }
        for (name, bytes) in &case.observed {
            let key = format!("{at}.{name}.observed");
            tensors.push((key.clone(), TensorView::new(Dtype::U8, vec![bytes.len()], bytes)?));
            form.observed.push(ExpectedForm { name: name.clone(), tensor: key });
        }
        forms.push(form);
    }
    let metadata = HashMap::from([
        ("assay.capsule".to_owned(), VERSION.to_owned()),
        ("generator".to_owned(), generator.to_owned()),
        ("cases".to_owned(), serde_json::to_string(&forms).map_err(safetensors::SafeTensorError::from)?),
    ]);
    safetensors::serialize(tensors, Some(metadata))
}

/// A buffer as a tensor: in its own type and shape where the operand fills it, as bytes otherwise.
fn buffer_tensor<'d>(
    layout: &Layout,
    bytes: &'d [u8],
) -> Result<TensorView<'d>, safetensors::SafeTensorError> {
    let dtype = match layout.dtype() {
        DType::F32 => Some(Dtype::F32),
        DType::F16 => Some(Dtype::F16),
        DType::BF16 => Some(Dtype::BF16),
        DType::U32 => Some(Dtype::U32),
        _ => None,
    };
    match dtype {
        Some(dtype) if layout.is_contiguous() && layout.byte_range() == Some(0..bytes.len()) => {
            TensorView::new(dtype, layout.shape().to_vec(), bytes)
        }
        _ => TensorView::new(Dtype::U8, vec![bytes.len()], bytes),
    }
}
