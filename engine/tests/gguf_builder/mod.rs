//! Writes GGUF files in memory, good ones and broken ones.
//!
//! Counts, offsets and types can be overridden one by one, so that a test states only its defect.

#![allow(dead_code, reason = "each test binary uses its own part of the builder")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

pub mod bases;
pub mod broken;

use kernels::DType;

/// A metadata value.
#[derive(Clone)]
pub enum V {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    Str(String),
    U64(u64),
    I64(i64),
    F64(f64),
    Strs(Vec<String>),
    F32s(Vec<f32>),
    I32s(Vec<i32>),
    Bools(Vec<u8>),
    /// Type number and bytes to write to the file.
    Raw(u32, Vec<u8>),
}

impl From<u32> for V {
    fn from(x: u32) -> Self {
        V::U32(x)
    }
}
impl From<f32> for V {
    fn from(x: f32) -> Self {
        V::F32(x)
    }
}
impl From<bool> for V {
    fn from(x: bool) -> Self {
        V::Bool(x)
    }
}
impl From<&str> for V {
    fn from(x: &str) -> Self {
        V::Str(x.to_owned())
    }
}

pub fn strs<S: AsRef<str>>(items: &[S]) -> V {
    V::Strs(items.iter().map(|s| s.as_ref().to_owned()).collect())
}

/// A string as it is written in a file.
pub fn string(s: impl AsRef<[u8]>) -> Vec<u8> {
    let s = s.as_ref();
    [&(s.len() as u64).to_le_bytes()[..], s].concat()
}

fn array(element: u32, len: usize, items: impl Iterator<Item = Vec<u8>>) -> (u32, Vec<u8>) {
    let mut out = element.to_le_bytes().to_vec();
    out.extend((len as u64).to_le_bytes());
    items.for_each(|item| out.extend(item));
    (9, out)
}

impl V {
    fn encode(&self) -> (u32, Vec<u8>) {
        match self {
            V::U8(x) => (0, vec![*x]),
            V::I8(x) => (1, x.to_le_bytes().to_vec()),
            V::U16(x) => (2, x.to_le_bytes().to_vec()),
            V::I16(x) => (3, x.to_le_bytes().to_vec()),
            V::U32(x) => (4, x.to_le_bytes().to_vec()),
            V::I32(x) => (5, x.to_le_bytes().to_vec()),
            V::F32(x) => (6, x.to_le_bytes().to_vec()),
            V::Bool(x) => (7, vec![u8::from(*x)]),
            V::Str(x) => (8, string(x)),
            V::U64(x) => (10, x.to_le_bytes().to_vec()),
            V::I64(x) => (11, x.to_le_bytes().to_vec()),
            V::F64(x) => (12, x.to_le_bytes().to_vec()),
            V::Strs(x) => array(8, x.len(), x.iter().map(string)),
            V::F32s(x) => array(6, x.len(), x.iter().map(|x| x.to_le_bytes().to_vec())),
            V::I32s(x) => array(5, x.len(), x.iter().map(|x| x.to_le_bytes().to_vec())),
            V::Bools(x) => array(7, x.len(), x.iter().map(|x| vec![*x])),
            V::Raw(kind, bytes) => (*kind, bytes.clone()),
        }
    }
}

/// A directory entry; `bytes` of data are written where the layout puts them.
#[derive(Clone)]
pub struct T {
    pub name: Vec<u8>,
    pub rank: u32,
    pub dims: Vec<u64>,
    pub kind: u32,
    /// `None`: after the previous tensor, aligned.
    pub offset: Option<u64>,
    pub data: Vec<u8>,
}

/// A whole file.
#[derive(Clone)]
pub struct Builder {
    pub magic: [u8; 4],
    pub version: u32,
    /// Overrides the number of tensors.
    pub tensor_count: Option<u64>,
    /// Overrides the number of keys.
    pub key_count: Option<u64>,
    pub keys: Vec<(Vec<u8>, V)>,
    pub tensors: Vec<T>,
    pub alignment: usize,
}

impl Builder {
    pub fn new() -> Self {
        Self {
            magic: *b"GGUF",
            version: 3,
            tensor_count: None,
            key_count: None,
            keys: Vec::new(),
            tensors: Vec::new(),
            alignment: 32,
        }
    }

    pub fn key(mut self, key: impl AsRef<[u8]>, value: impl Into<V>) -> Self {
        self.keys.push((key.as_ref().to_vec(), value.into()));
        self
    }

    /// Replaces the value of a key, or removes it.
    pub fn set(mut self, key: &str, value: Option<V>) -> Self {
        self.keys.retain(|(k, _)| k != key.as_bytes());
        match value {
            Some(value) => self.key(key, value),
            None => self,
        }
    }

    /// A tensor with `dims` in the order of the file and bytes that count up.
    pub fn tensor(mut self, name: &str, dtype: DType, dims: &[u64]) -> Self {
        let elements: u64 = dims.iter().product();
        let size = dtype.bytes_of(usize::try_from(elements).unwrap()).unwrap();
        let data = (0..size).map(|i| u8::try_from(i % 251).unwrap()).collect();
        self.tensors.push(T {
            name: name.as_bytes().to_vec(),
            rank: u32::try_from(dims.len()).unwrap(),
            dims: dims.to_vec(),
            kind: dtype.ggml().unwrap(),
            offset: None,
            data,
        });
        self
    }

    /// Changes the tensor of that name.
    pub fn change(mut self, name: &str, change: impl FnOnce(&mut T)) -> Self {
        change(self.tensors.iter_mut().find(|t| t.name == name.as_bytes()).unwrap());
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.tensors.retain(|t| t.name != name.as_bytes());
        self
    }

    pub fn build(&self) -> Vec<u8> {
        let mut out = self.magic.to_vec();
        out.extend(self.version.to_le_bytes());
        out.extend(self.tensor_count.unwrap_or(self.tensors.len() as u64).to_le_bytes());
        out.extend(self.key_count.unwrap_or(self.keys.len() as u64).to_le_bytes());
        for (key, value) in &self.keys {
            let (kind, bytes) = value.encode();
            out.extend(string(key));
            out.extend(kind.to_le_bytes());
            out.extend(bytes);
        }
        let mut data = Vec::new();
        for tensor in &self.tensors {
            let offset = tensor.offset.unwrap_or(data.len() as u64);
            out.extend(string(&tensor.name));
            out.extend(tensor.rank.to_le_bytes());
            tensor.dims.iter().for_each(|d| out.extend(d.to_le_bytes()));
            out.extend(tensor.kind.to_le_bytes());
            out.extend(offset.to_le_bytes());
            data.extend(&tensor.data);
            data.resize(data.len().next_multiple_of(self.alignment), 0);
        }
        out.resize(out.len().next_multiple_of(self.alignment), 0);
        out.extend(data);
        out
    }
}
