//! Why a GGUF file was refused. Each message names the key or tensor and both numbers.

use std::io;
use std::path::PathBuf;

/// A file that cannot be read, or whose content contradicts itself or the format.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The operating system reported an error.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Any other error of this type, with the file it concerns.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        source: Box<GgufError>,
    },
    /// The first four bytes are not `GGUF`.
    #[error("not a GGUF file: it begins with bytes {found:02x?}, want [47, 47, 55, 46]")]
    Magic {
        /// The bytes found; fewer than four in a shorter file.
        found: Vec<u8>,
    },
    /// A version this reader does not know.
    #[error("GGUF version {found} is not supported, want 2 or 3")]
    Version {
        /// The number in the file.
        found: u32,
    },
    /// The file was written for machines of the other byte order.
    #[error("the file is big-endian GGUF version {found}; only little-endian files are supported")]
    BigEndian {
        /// The version, bytes swapped.
        found: u32,
    },
    /// The file ends in the middle of a value.
    #[error("{what}: needs {need} bytes at byte {at} but the file has {size} bytes")]
    Truncated {
        /// What was being read.
        what: String,
        /// Bytes it needs.
        need: u64,
        /// Where it starts.
        at: u64,
        /// Bytes in the file.
        size: u64,
    },
    /// A count above the limit.
    #[error("the file declares {count} {what}, the limit is {limit}")]
    TooMany {
        /// `keys` or `tensors`.
        what: &'static str,
        /// The number in the file.
        count: u64,
        /// The number accepted at most.
        limit: u64,
    },
    /// A name longer than the format allows.
    #[error("{what}: a name of {len} bytes, the limit is {limit}")]
    NameLength {
        /// Which key or tensor.
        what: String,
        /// Bytes declared.
        len: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A string that is not UTF-8.
    #[error("{what}: not UTF-8 after {valid} bytes")]
    Utf8 {
        /// Which string.
        what: String,
        /// Bytes before the first bad one.
        valid: usize,
    },
    /// The same key twice.
    #[error("key '{key}' occurs twice: entries {first} and {second}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Entry that had it first, counted from 0.
        first: usize,
        /// Entry that has it again.
        second: usize,
    },
    /// A metadata type number the format does not define.
    #[error("key '{key}': value type {found} is not defined, want 0 to 12")]
    ValueType {
        /// The key.
        key: String,
        /// The number in the file.
        found: u32,
    },
    /// An array of arrays, which no reader of the format supports.
    #[error("key '{key}': an array of {len} arrays; nested arrays are not supported")]
    NestedArray {
        /// The key.
        key: String,
        /// Elements declared.
        len: u64,
    },
    /// A truth value other than 0 and 1.
    #[error("key '{key}': element {index} is the truth value {found}, want 0 or 1")]
    Bool {
        /// The key.
        key: String,
        /// Element of the array; 0 for a plain value.
        index: usize,
        /// The byte in the file.
        found: u8,
    },
    /// `general.alignment` is not a valid alignment.
    #[error("key 'general.alignment': {found} is not a power of two from {min} to {max}")]
    Alignment {
        /// The number in the file.
        found: u64,
        /// Smallest accepted.
        min: u64,
        /// Largest accepted.
        max: u64,
    },
    /// The same tensor twice.
    #[error("tensor '{name}' occurs twice: entries {first} and {second}")]
    DuplicateTensor {
        /// The tensor.
        name: String,
        /// Entry that had the name first, counted from 0 over all parts of the model.
        first: usize,
        /// Entry that has it again.
        second: usize,
    },
    /// A number of dimensions outside 1 to 4.
    #[error("tensor '{name}': {found} dimensions, want 1 to 4")]
    Rank {
        /// The tensor.
        name: String,
        /// The number in the file.
        found: u32,
    },
    /// A dimension of no elements.
    #[error("tensor '{name}': dimension {axis} is 0, want at least 1")]
    EmptyDimension {
        /// The tensor.
        name: String,
        /// Which dimension, in the order of the file.
        axis: usize,
    },
    /// An element type that the engine does not know.
    #[error("tensor '{name}': element type {found} is not supported")]
    ElementType {
        /// The tensor.
        name: String,
        /// ggml's number of the type.
        found: u32,
    },
    /// Rows that do not consist of whole blocks.
    #[error(
        "tensor '{name}': rows of {row} elements are not a multiple of the {block} elements in a {dtype} block"
    )]
    PartialBlock {
        /// The tensor.
        name: String,
        /// Its first dimension.
        row: u64,
        /// Elements in a block.
        block: usize,
        /// Name of the element type.
        dtype: &'static str,
    },
    /// A size that overflows.
    #[error("tensor '{name}': the size of {dims:?} elements of {dtype} overflows 64 bits")]
    SizeOverflow {
        /// The tensor.
        name: String,
        /// Its dimensions in the order of the file.
        dims: Vec<u64>,
        /// Name of the element type.
        dtype: &'static str,
    },
    /// Data that does not start at a multiple of the alignment.
    #[error("tensor '{name}': data offset {offset} is not a multiple of the alignment {alignment}")]
    Misaligned {
        /// The tensor.
        name: String,
        /// Offset from the start of the data section.
        offset: u64,
        /// Alignment of the file.
        alignment: u64,
    },
    /// Data whose end overflows.
    #[error("tensor '{name}': the end of {size} bytes of data at offset {offset} overflows 64 bits")]
    DataOverflow {
        /// The tensor.
        name: String,
        /// Bytes of the data.
        size: u64,
        /// Offset from the start of the data section.
        offset: u64,
    },
    /// Data that ends after the file.
    #[error("tensor '{name}': data ends at byte {end} but the file has {size} bytes")]
    DataPastEnd {
        /// The tensor.
        name: String,
        /// End of the data.
        end: u64,
        /// Bytes in the file.
        size: u64,
    },
    /// Two tensors that share bytes.
    #[error("tensor '{second}' starts at byte {start}, inside tensor '{first}', which ends at byte {end}")]
    Overlap {
        /// Tensor that lies first.
        first: String,
        /// Where it ends.
        end: u64,
        /// Tensor that starts before that.
        second: String,
        /// Where it starts.
        start: u64,
    },
    /// A required key is missing.
    #[error("key '{key}' is missing")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// A value of another type than the key needs.
    #[error("key '{key}': found {found}, want {want}")]
    KeyType {
        /// The key.
        key: String,
        /// Type in the file.
        found: String,
        /// Type needed.
        want: &'static str,
    },
    /// An integer that does not fit.
    #[error("key '{key}': {found} is outside {min} to {max}")]
    KeyRange {
        /// The key.
        key: String,
        /// The value in the file.
        found: i128,
        /// Smallest accepted.
        min: i128,
        /// Largest accepted.
        max: i128,
    },
    /// A part of a split model was opened instead of its first part.
    #[error("this is part {part} of {count} of a split model; open its first part, '{first}'")]
    NotFirstPart {
        /// Number of this part, counted from 1.
        part: u32,
        /// Parts of the model.
        count: u32,
        /// Name of the file to open.
        first: String,
    },
    /// A split model whose file name does not say which part it is.
    #[error(
        "part {part} of {count} of a split model must be named '…-{part:05}-of-{count:05}.gguf', found '{found}'"
    )]
    PartName {
        /// Number of this part, counted from 1.
        part: u32,
        /// Parts the metadata declares.
        count: u32,
        /// Name of the file.
        found: String,
    },
    /// A part that does not fit the other parts.
    #[error("key '{key}': found {found}, want {want}")]
    PartMismatch {
        /// `split.no`, `split.count` or `split.tensors.count`.
        key: &'static str,
        /// The number in the file.
        found: u64,
        /// The number that fits the model.
        want: u64,
    },
}
