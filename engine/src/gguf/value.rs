//! Metadata values: scalars are decoded, arrays stay in the file.

use std::fmt;
use std::ops::Range;

/// Type of a metadata value, as numbered in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the variants are the names of the types")]
pub enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl ValueType {
    /// The type numbered `id`.
    pub fn from_id(id: u32) -> Option<Self> {
        Some(match id {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Bool,
            8 => Self::String,
            9 => Self::Array,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            _ => return None,
        })
    }

    /// Bytes of a value, if all values of the type have the same size.
    pub fn size(self) -> Option<usize> {
        match self {
            Self::U8 | Self::I8 | Self::Bool => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::String | Self::Array => None,
        }
    }

    /// Name as in error messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Array => "array",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An array whose elements stay in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Array {
    /// Type of the elements; never [`ValueType::Array`].
    pub element: ValueType,
    /// Number of elements.
    pub len: usize,
    /// Bytes of the elements. The walk of the header has checked that they hold `len` elements.
    pub(super) span: Range<usize>,
}

/// One metadata value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// An integer, with the type it has in the file.
    Int(i128, ValueType),
    /// A number in floating point, with the type it has in the file.
    Float(f64, ValueType),
    /// A truth value.
    Bool(bool),
    /// A text.
    String(String),
    /// An array of scalars or texts.
    Array(Array),
}

impl fmt::Display for Value {
    /// Scalars and texts as they are, long texts shortened; of an array its type and length.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 60;
        match self {
            Self::Int(int, _) => write!(f, "{int}"),
            Self::Float(x, ValueType::F32) => write!(f, "{}", narrow(*x)),
            Self::Float(x, _) => write!(f, "{x}"),
            Self::Bool(b) => write!(f, "{b}"),
            Self::String(s) if s.chars().count() > SHOWN => {
                let start: String = s.chars().take(SHOWN).collect();
                write!(f, "{start:?}… ({} bytes)", s.len())
            }
            Self::String(s) => write!(f, "{s:?}"),
            Self::Array(_) => f.write_str(&self.type_name()),
        }
    }
}

/// The nearest f32; exact for an f32 that was stored as an f64.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose")]
pub(super) fn narrow(x: f64) -> f32 {
    x as f32
}

impl Value {
    /// The type in words, e.g. `u32` or `array of 3 i32`.
    pub fn type_name(&self) -> String {
        match self {
            Self::Int(_, t) | Self::Float(_, t) => t.name().to_owned(),
            Self::Bool(_) => ValueType::Bool.name().to_owned(),
            Self::String(_) => ValueType::String.name().to_owned(),
            Self::Array(a) => format!("array of {} {}", a.len, a.element),
        }
    }
}
