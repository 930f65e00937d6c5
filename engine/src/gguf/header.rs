//! The bounds-checked walk over one file: header, metadata, directory, and the extents of the data.
//!
//! Every count and length is compared with the rest of the file before it is used. Memory grows only
//! with what has been read: no count or length from the file sizes an allocation. Arrays stay in the
//! file: their elements are checked here and decoded on demand.

use std::collections::HashMap;

use kernels::DType;

use super::cursor::Cursor;
use super::metadata::Metadata;
use super::tensor::Tensor;
use super::value::{Array, Value, ValueType};
use super::{Bytes, GgufError};

const MAGIC: [u8; 4] = *b"GGUF";
const MAX_KEYS: u64 = 1 << 16;
const MAX_TENSORS: u64 = 1 << 16;
/// Bytes of a key, from the format's definition.
const MAX_KEY_NAME: u64 = (1 << 16) - 1;
/// Bytes of a tensor's name, from the format's definition.
const MAX_TENSOR_NAME: u64 = 64;
const MAX_DIMS: u32 = 4;
const DEFAULT_ALIGNMENT: u64 = 32;
const MIN_ALIGNMENT: u64 = 8;
const MAX_ALIGNMENT: u64 = 1 << 20;

/// One file, read and checked.
pub(super) struct Header {
    pub(super) version: u32,
    pub(super) metadata: Metadata,
    /// In the order of the directory. Names are unique and data do not overlap.
    pub(super) tensors: Vec<Tensor>,
}

/// Reads the header of `file`, which is part `part` of its model.
pub(super) fn read(file: &Bytes, part: u32) -> Result<Header, GgufError> {
    let bytes = (**file).as_ref();
    let found = bytes.get(..MAGIC.len()).unwrap_or(bytes);
    if found != MAGIC {
        return Err(GgufError::Magic { found: found.to_vec() });
    }
    let mut cursor = Cursor::new(bytes);
    cursor.bytes(MAGIC.len() as u64, format_args!("magic"))?;
    let version = version(cursor.u32(format_args!("version"))?)?;
    let tensor_count = bounded(cursor.u64(format_args!("tensor count"))?, "tensors", MAX_TENSORS)?;
    let key_count = bounded(cursor.u64(format_args!("key count"))?, "keys", MAX_KEYS)?;

    let mut metadata = Metadata::new(file.clone());
    for entry in 0..key_count {
        let key = cursor.name(MAX_KEY_NAME, format_args!("key {entry} of {key_count}"))?;
        let value = value(&mut cursor, key)?;
        metadata.insert(key, value)?;
    }

    let mut infos = Vec::new();
    for entry in 0..tensor_count {
        infos.push(tensor_info(&mut cursor, entry, tensor_count)?);
    }

    let alignment = alignment(&metadata)?;
    let data_start = (cursor.position() as u64).next_multiple_of(alignment);
    let mut tensors = Vec::with_capacity(infos.len());
    for info in infos {
        tensors.push(info.locate(data_start, alignment, file, part)?);
    }
    reject_duplicates(&tensors)?;
    reject_overlaps(&tensors)?;
    Ok(Header { version, metadata, tensors })
}

fn version(found: u32) -> Result<u32, GgufError> {
    match found {
        2 | 3 => Ok(found),
        _ if (1..=3).contains(&found.swap_bytes()) => Err(GgufError::BigEndian { found: found.swap_bytes() }),
        _ => Err(GgufError::Version { found }),
    }
}

fn bounded(count: u64, what: &'static str, limit: u64) -> Result<u64, GgufError> {
    if count > limit { Err(GgufError::TooMany { what, count, limit }) } else { Ok(count) }
}

fn value_type(cursor: &mut Cursor<'_>, key: &str) -> Result<ValueType, GgufError> {
    let id = cursor.u32(format_args!("type of key '{key}'"))?;
    ValueType::from_id(id).ok_or_else(|| GgufError::ValueType { key: key.to_owned(), found: id })
}

fn value(cursor: &mut Cursor<'_>, key: &str) -> Result<Value, GgufError> {
    let what = format_args!("value of key '{key}'");
    let t = value_type(cursor, key)?;
    Ok(match t {
        ValueType::U8 => Value::Int(cursor.u8(what)?.into(), t),
        ValueType::I8 => Value::Int(cursor.u8(what)?.cast_signed().into(), t),
        ValueType::U16 => Value::Int(cursor.u16(what)?.into(), t),
        ValueType::I16 => Value::Int(cursor.u16(what)?.cast_signed().into(), t),
        ValueType::U32 => Value::Int(cursor.u32(what)?.into(), t),
        ValueType::I32 => Value::Int(cursor.u32(what)?.cast_signed().into(), t),
        ValueType::U64 => Value::Int(cursor.u64(what)?.into(), t),
        ValueType::I64 => Value::Int(cursor.u64(what)?.cast_signed().into(), t),
        ValueType::F32 => Value::Float(f32::from_bits(cursor.u32(what)?).into(), t),
        ValueType::F64 => Value::Float(f64::from_bits(cursor.u64(what)?), t),
        ValueType::Bool => {
            let byte = cursor.u8(what)?;
            check_bools(&[byte], key)?;
            Value::Bool(byte == 1)
        }
        ValueType::String => Value::String(cursor.string(what)?.to_owned()),
        ValueType::Array => Value::Array(array(cursor, key)?),
    })
}

fn array(cursor: &mut Cursor<'_>, key: &str) -> Result<Array, GgufError> {
    let element = value_type(cursor, key)?;
    let len = cursor.u64(format_args!("length of array '{key}'"))?;
    let start = cursor.position();
    let count = match (element, element.size()) {
        (ValueType::Array, _) => return Err(GgufError::NestedArray { key: key.to_owned(), len }),
        (_, None) => {
            let mut count = 0;
            for i in 0..len {
                cursor.string(format_args!("element {i} of {len} of array '{key}'"))?;
                count += 1;
            }
            count
        }
        (_, Some(size)) => {
            let need = len.saturating_mul(size as u64);
            let elements = cursor.bytes(need, format_args!("{len} elements of array '{key}'"))?;
            if element == ValueType::Bool {
                check_bools(elements, key)?;
            }
            elements.len() / size
        }
    };
    Ok(Array { element, len: count, span: start..cursor.position() })
}

fn check_bools(bytes: &[u8], key: &str) -> Result<(), GgufError> {
    match bytes.iter().position(|&b| b > 1) {
        Some(index) => Err(GgufError::Bool { key: key.to_owned(), index, found: bytes[index] }),
        None => Ok(()),
    }
}

fn alignment(metadata: &Metadata) -> Result<u64, GgufError> {
    let Some(found) = metadata.opt_u32("general.alignment")? else { return Ok(DEFAULT_ALIGNMENT) };
    let found = u64::from(found);
    if found.is_power_of_two() && (MIN_ALIGNMENT..=MAX_ALIGNMENT).contains(&found) {
        Ok(found)
    } else {
        Err(GgufError::Alignment { found, min: MIN_ALIGNMENT, max: MAX_ALIGNMENT })
    }
}

/// An entry of the directory before its extent has been compared with the file.
struct TensorInfo {
    name: String,
    dtype: DType,
    dims: Vec<u64>,
    /// Bytes of the data.
    size: u64,
    /// From the start of the data section.
    offset: u64,
}

fn tensor_info(cursor: &mut Cursor<'_>, entry: u64, count: u64) -> Result<TensorInfo, GgufError> {
    let name = cursor.name(MAX_TENSOR_NAME, format_args!("name of tensor {entry} of {count}"))?.to_owned();
    let rank = cursor.u32(format_args!("rank of tensor '{name}'"))?;
    if !(1..=MAX_DIMS).contains(&rank) {
        return Err(GgufError::Rank { name, found: rank });
    }
    let mut dims = Vec::new();
    for axis in 0..rank {
        dims.push(cursor.u64(format_args!("dimension {axis} of tensor '{name}'"))?);
    }
    if let Some(axis) = dims.iter().position(|&d| d == 0) {
        return Err(GgufError::EmptyDimension { name, axis });
    }
    let id = cursor.u32(format_args!("element type of tensor '{name}'"))?;
    let offset = cursor.u64(format_args!("offset of tensor '{name}'"))?;
    let Some(dtype) = DType::from_ggml(id) else { return Err(GgufError::ElementType { name, found: id }) };
    let row = dims[0];
    if !row.is_multiple_of(dtype.block_len() as u64) {
        return Err(GgufError::PartialBlock { name, row, block: dtype.block_len(), dtype: dtype.name() });
    }
    let elements = dims.iter().try_fold(1_u64, |n, &d| n.checked_mul(d));
    let size = elements.and_then(|n| (n / dtype.block_len() as u64).checked_mul(dtype.block_bytes() as u64));
    match size {
        Some(size) => Ok(TensorInfo { name, dtype, dims, size, offset }),
        None => Err(GgufError::SizeOverflow { name, dims, dtype: dtype.name() }),
    }
}

impl TensorInfo {
    fn locate(self, data_start: u64, alignment: u64, file: &Bytes, part: u32) -> Result<Tensor, GgufError> {
        let Self { name, dtype, dims, size, offset } = self;
        if !offset.is_multiple_of(alignment) {
            return Err(GgufError::Misaligned { name, offset, alignment });
        }
        let file_size = (**file).as_ref().len();
        let start = data_start.checked_add(offset);
        let (Some(start), Some(end)) = (start, start.and_then(|start| start.checked_add(size))) else {
            return Err(GgufError::DataOverflow { name, size, offset });
        };
        let range = match (usize::try_from(start), usize::try_from(end)) {
            (Ok(start), Ok(end)) if end <= file_size => start..end,
            _ => return Err(GgufError::DataPastEnd { name, end, size: file_size as u64 }),
        };
        let shape = dims.iter().rev().map(|&d| usize::try_from(d)).collect::<Result<_, _>>();
        let Ok(shape) = shape else {
            return Err(GgufError::SizeOverflow { name, dims, dtype: dtype.name() });
        };
        Ok(Tensor { name, dtype, dims, shape, range, part, owner: file.clone() })
    }
}

/// Returns an error if two of `tensors` have the same name.
pub(super) fn reject_duplicates(tensors: &[Tensor]) -> Result<(), GgufError> {
    let mut seen = HashMap::new();
    for (second, tensor) in tensors.iter().enumerate() {
        if let Some(first) = seen.insert(tensor.name.as_str(), second) {
            return Err(GgufError::DuplicateTensor { name: tensor.name.clone(), first, second });
        }
    }
    Ok(())
}

fn reject_overlaps(tensors: &[Tensor]) -> Result<(), GgufError> {
    let mut by_start: Vec<&Tensor> = tensors.iter().collect();
    by_start.sort_by_key(|t| t.range.start);
    match by_start.windows(2).find(|pair| pair[0].range.end > pair[1].range.start) {
        Some(pair) => Err(GgufError::Overlap {
            first: pair[0].name.clone(),
            end: pair[0].range.end as u64,
            second: pair[1].name.clone(),
            start: pair[1].range.start as u64,
        }),
        None => Ok(()),
    }
}
