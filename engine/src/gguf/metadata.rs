//! The key-value part of a file. Errors name the key and the type that was found.

use std::collections::HashMap;
use std::fmt;

use super::value::{Array, Value, ValueType, narrow};
use super::{Bytes, GgufError};

/// All keys of a file with their values.
#[derive(Clone)]
pub struct Metadata {
    file: Bytes,
    /// In the order of the file.
    entries: Vec<(String, Value)>,
    /// From a key to its index in `entries`.
    index: HashMap<String, usize>,
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Metadata {
    pub(super) fn new(file: Bytes) -> Self {
        Self { file, entries: Vec::new(), index: HashMap::new() }
    }

    pub(super) fn insert(&mut self, key: &str, value: Value) -> Result<(), GgufError> {
        let second = self.entries.len();
        if let Some(first) = self.index.insert(key.to_owned(), second) {
            return Err(GgufError::DuplicateKey { key: key.to_owned(), first, second });
        }
        self.entries.push((key.to_owned(), value));
        Ok(())
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True for a file without keys.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of `key`, whatever its type.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.index.get(key).map(|&i| &self.entries[i].1)
    }

    /// An integer of any width that fits in 32 bits.
    pub fn u32(&self, key: &str) -> Result<u32, GgufError> {
        self.opt_u32(key)?.ok_or_else(|| missing(key))
    }

    /// As [`Metadata::u32`], `None` without the key.
    pub fn opt_u32(&self, key: &str) -> Result<Option<u32>, GgufError> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let &Value::Int(int, _) = value else { return Err(wrong_type(key, value, "an integer")) };
        let range = || GgufError::KeyRange { key: key.to_owned(), found: int, min: 0, max: u32::MAX.into() };
        u32::try_from(int).map(Some).map_err(|_| range())
    }

    /// A number in floating point, rounded to `f32` where the file has more digits.
    pub fn f32(&self, key: &str) -> Result<f32, GgufError> {
        self.opt_f32(key)?.ok_or_else(|| missing(key))
    }

    /// As [`Metadata::f32`], `None` without the key.
    pub fn opt_f32(&self, key: &str) -> Result<Option<f32>, GgufError> {
        match self.get(key) {
            None => Ok(None),
            Some(&Value::Float(x, _)) => Ok(Some(narrow(x))),
            Some(other) => Err(wrong_type(key, other, "a number in floating point")),
        }
    }

    /// A truth value.
    pub fn bool(&self, key: &str) -> Result<bool, GgufError> {
        self.opt_bool(key)?.ok_or_else(|| missing(key))
    }

    /// As [`Metadata::bool`], `None` without the key.
    pub fn opt_bool(&self, key: &str) -> Result<Option<bool>, GgufError> {
        match self.get(key) {
            None => Ok(None),
            Some(&Value::Bool(b)) => Ok(Some(b)),
            Some(other) => Err(wrong_type(key, other, "bool")),
        }
    }

    /// A text.
    pub fn str(&self, key: &str) -> Result<&str, GgufError> {
        self.opt_str(key)?.ok_or_else(|| missing(key))
    }

    /// As [`Metadata::str`], `None` without the key.
    pub fn opt_str(&self, key: &str) -> Result<Option<&str>, GgufError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(s)) => Ok(Some(s)),
            Some(other) => Err(wrong_type(key, other, "string")),
        }
    }

    /// The texts of an array.
    pub fn strings(&self, key: &str) -> Result<Strings<'_>, GgufError> {
        self.opt_strings(key)?.ok_or_else(|| missing(key))
    }

    /// As [`Metadata::strings`], `None` without the key.
    pub fn opt_strings(&self, key: &str) -> Result<Option<Strings<'_>>, GgufError> {
        let Some(array) = self.array(key, ValueType::String, "an array of string")? else { return Ok(None) };
        Ok(Some(Strings { rest: self.bytes_of(array), remaining: array.len }))
    }

    /// The numbers of an array of `f32`.
    pub fn opt_f32s(&self, key: &str) -> Result<Option<Vec<f32>>, GgufError> {
        let Some(array) = self.array(key, ValueType::F32, "an array of f32")? else { return Ok(None) };
        let (words, _) = self.bytes_of(array).as_chunks::<4>();
        Ok(Some(words.iter().map(|w| f32::from_le_bytes(*w)).collect()))
    }

    /// The numbers of an array of `i32`.
    pub fn opt_i32s(&self, key: &str) -> Result<Option<Vec<i32>>, GgufError> {
        let Some(array) = self.array(key, ValueType::I32, "an array of i32")? else { return Ok(None) };
        let (words, _) = self.bytes_of(array).as_chunks::<4>();
        Ok(Some(words.iter().map(|w| i32::from_le_bytes(*w)).collect()))
    }

    fn array(&self, key: &str, element: ValueType, want: &'static str) -> Result<Option<&Array>, GgufError> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array(array)) if array.element == element => Ok(Some(array)),
            Some(other) => Err(wrong_type(key, other, want)),
        }
    }

    fn bytes_of(&self, array: &Array) -> &[u8] {
        &(*self.file).as_ref()[array.span.clone()]
    }
}

/// The texts of an array of strings, in order.
#[derive(Clone)]
pub struct Strings<'a> {
    rest: &'a [u8],
    /// Texts that `rest` holds.
    remaining: usize,
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.remaining = self.remaining.checked_sub(1)?;
        let (len, rest) = self.rest.split_first_chunk::<8>()?;
        let (text, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*len)).ok()?)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Strings<'_> {}

fn missing(key: &str) -> GgufError {
    GgufError::MissingKey { key: key.to_owned() }
}

fn wrong_type(key: &str, found: &Value, want: &'static str) -> GgufError {
    GgufError::KeyType { key: key.to_owned(), found: found.type_name(), want }
}
