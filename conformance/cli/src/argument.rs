//! Kernel arguments as a user writes them: `buf:in.bin`, `out:4096:out.bin`, `u32:5`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use half::f16;
use softhip::control::SoftDevice;
use softhip::memory::AllocationKind;
use softhip::object::{Argument, ArgumentKind};

/// One argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A device buffer.
    Buffer {
        /// What it holds at first; nothing, in that many bytes.
        content: Content,
        /// Where its bytes go after the launch.
        save: Option<PathBuf>,
    },
    /// A null pointer.
    Null,
    /// Bytes passed by value, and how the user called their type.
    Bytes(Vec<u8>, String),
}

/// What a buffer holds before the launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// The bytes of a file.
    File(PathBuf),
    /// So many bytes that nothing has written: to read one is a fault.
    Unwritten(u64),
    /// So many zero bytes.
    Zero(u64),
}

/// How arguments are written.
pub const SYNTAX: &str = "\
Arguments, in the kernel's order:
  buf:FILE         a buffer with the file's bytes
  inout:FILE:SAVE  the same; its bytes are written to SAVE after the launch
  out:BYTES:SAVE   a buffer that nothing has written, saved after the launch
  zero:BYTES:SAVE  a buffer of zeros, saved after the launch
  null             a null pointer
  u8: i8: u16: i16: u32: i32: u64: i64: f16: f32: f64:VALUE
                   a number of that type
  bytes:FILE       a struct passed by value";

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "null" {
            return Ok(Self::Null);
        }
        let (kind, rest) =
            text.split_once(':').ok_or_else(|| format!("{text:?} has no type before a colon"))?;
        let pair = || rest.split_once(':').ok_or_else(|| format!("{kind} needs two parts, as in {kind}:A:B"));
        let bytes = |text: &str| match text.parse() {
            Ok(bytes) if bytes <= input_file::BINARY => Ok(bytes),
            Ok(bytes) => Err(format!("{bytes} bytes, the limit is {}", input_file::BINARY)),
            Err(error) => Err(format!("{text:?} bytes: {error}")),
        };
        let buffer = |content, save: &str| Self::Buffer { content, save: Some(save.into()) };
        Ok(match kind {
            "buf" => Self::Buffer { content: Content::File(rest.into()), save: None },
            "inout" => pair().map(|(file, save)| buffer(Content::File(file.into()), save))?,
            "out" => pair().and_then(|(size, save)| Ok(buffer(Content::Unwritten(bytes(size)?), save)))?,
            "zero" => pair().and_then(|(size, save)| Ok(buffer(Content::Zero(bytes(size)?), save)))?,
            "bytes" => {
                let content = input_file::read(Path::new(rest), input_file::BINARY)
                    .map_err(|error| format!("{rest}: {error}"))?;
                Self::Bytes(content, kind.to_owned())
            }
            _ => Self::Bytes(number(kind, rest)?, kind.to_owned()),
        })
    }
}

/// The little-endian bytes of a number.
fn number(kind: &str, text: &str) -> Result<Vec<u8>, String> {
    fn parse<T: FromStr<Err: std::fmt::Display>>(kind: &str, text: &str) -> Result<T, String> {
        text.parse().map_err(|error| format!("{text:?} is no {kind}: {error}"))
    }
    Ok(match kind {
        "u8" => parse::<u8>(kind, text)?.to_le_bytes().to_vec(),
        "i8" => parse::<i8>(kind, text)?.to_le_bytes().to_vec(),
        "u16" => parse::<u16>(kind, text)?.to_le_bytes().to_vec(),
        "i16" => parse::<i16>(kind, text)?.to_le_bytes().to_vec(),
        "u32" => parse::<u32>(kind, text)?.to_le_bytes().to_vec(),
        "i32" => parse::<i32>(kind, text)?.to_le_bytes().to_vec(),
        "u64" => parse::<u64>(kind, text)?.to_le_bytes().to_vec(),
        "i64" => parse::<i64>(kind, text)?.to_le_bytes().to_vec(),
        "f16" => f16::from_f32(parse(kind, text)?).to_le_bytes().to_vec(),
        "f32" => parse::<f32>(kind, text)?.to_le_bytes().to_vec(),
        "f64" => parse::<f64>(kind, text)?.to_le_bytes().to_vec(),
        _ => return Err(format!("unknown type {kind:?}")),
    })
}

/// An argument on the device.
pub struct Placed {
    /// What the kernel gets.
    pub bytes: Vec<u8>,
    /// A buffer to save: its address, its size, its file.
    pub save: Option<(u64, usize, PathBuf)>,
}

impl Value {
    /// Puts the value where the kernel can use it, as the argument with an index.
    pub fn place(&self, device: &SoftDevice, index: usize, want: &Argument) -> Result<Placed, String> {
        let name = want.name.as_deref().unwrap_or("unnamed");
        let what = format!("argument {index} ({name}, {}, {} bytes)", want.kind, want.size);
        let pointer = want.kind != ArgumentKind::ByValue;
        match self {
            Self::Bytes(_, kind) if pointer => Err(format!("{what} is a pointer, not {kind}")),
            Self::Bytes(bytes, kind) if bytes.len() as u64 != u64::from(want.size) => {
                Err(format!("{what} is given {} bytes by {kind}", bytes.len()))
            }
            Self::Bytes(bytes, _) => Ok(Placed { bytes: bytes.clone(), save: None }),
            _ if !pointer => Err(format!("{what} is passed by value, not as a buffer")),
            Self::Null => Ok(Placed { bytes: vec![0; 8], save: None }),
            Self::Buffer { content, save } => {
                let (address, size) = content.allocate(device).map_err(|error| format!("{what}: {error}"))?;
                device.label(address, want.name.as_deref().unwrap_or(&format!("argument {index}")));
                let save = save.as_ref().map(|file| (address, size, file.clone()));
                Ok(Placed { bytes: address.to_le_bytes().to_vec(), save })
            }
        }
    }
}

impl Content {
    fn allocate(&self, device: &SoftDevice) -> Result<(u64, usize), String> {
        let memory = device.memory();
        let allocate = |size| {
            memory
                .allocate(size, AllocationKind::Device, None)
                .map_err(|error| format!("{size} bytes: {error}"))
        };
        let host = |size: u64| usize::try_from(size).map_err(|error| format!("{size} bytes: {error}"));
        match self {
            Self::File(path) => {
                let bytes = input_file::read(path, input_file::BINARY)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                let address = allocate(bytes.len() as u64)?;
                memory.write(address, &bytes).map_err(|fault| fault.to_string())?;
                Ok((address, bytes.len()))
            }
            &Self::Unwritten(size) => Ok((allocate(size)?, host(size)?)),
            &Self::Zero(size) => {
                let address = allocate(size)?;
                memory.fill(address, &[0], size).map_err(|fault| fault.to_string())?;
                Ok((address, host(size)?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_written() {
        let bytes = |kind: &str, bytes: &[u8]| Ok(Value::Bytes(bytes.to_vec(), kind.to_owned()));
        assert_eq!("u32:5".parse(), bytes("u32", &[5, 0, 0, 0]));
        assert_eq!("i8:-1".parse(), bytes("i8", &[255]));
        assert_eq!("f32:0.5".parse(), bytes("f32", &0.5f32.to_le_bytes()));
        assert_eq!("null".parse(), Ok(Value::Null));
        let out = Value::Buffer { content: Content::Unwritten(64), save: Some("o.bin".into()) };
        assert_eq!("out:64:o.bin".parse(), Ok(out));
        let both = Value::Buffer { content: Content::File("a".into()), save: Some("b".into()) };
        assert_eq!("inout:a:b".parse(), Ok(both));
    }

    #[test]
    fn bad_arguments_are_refused_with_their_text() {
        for (text, part) in [
            ("", "no type"),
            ("5", "no type"),
            ("u32:", "\"\" is no u32"),
            ("u8:256", "\"256\" is no u8"),
            ("out:64", "two parts"),
            ("out:x:y", "\"x\" bytes"),
            ("zero:99999999999:y", "99999999999 bytes, the limit is 4294967296"),
            ("u128:1", "unknown type \"u128\""),
        ] {
            let error = text.parse::<Value>().unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
    }
}
