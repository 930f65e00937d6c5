//! A bounds-checked reader of little-endian values.
//!
//! Each read says what it reads, as unformatted [`Arguments`]: the text is made only for an error.

use std::fmt::Arguments;
use std::ops::Range;

use super::GgufError;

/// Position in the bytes of a file. Invariant: `at <= bytes.len()`.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Offset of the next read in the file.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Skips `len` bytes and returns their range in the file.
    pub(super) fn span(&mut self, len: u64, what: Arguments<'_>) -> Result<Range<usize>, GgufError> {
        let end = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len));
        match end {
            Some(end) if end <= self.bytes.len() => {
                let span = self.at..end;
                self.at = end;
                Ok(span)
            }
            _ => Err(GgufError::Truncated {
                what: what.to_string(),
                need: len,
                at: self.at as u64,
                size: self.bytes.len() as u64,
            }),
        }
    }

    /// The next `len` bytes.
    pub(super) fn bytes(&mut self, len: u64, what: Arguments<'_>) -> Result<&'a [u8], GgufError> {
        let bytes = self.bytes;
        self.span(len, what).map(|span| &bytes[span])
    }

    fn array<const N: usize>(&mut self, what: Arguments<'_>) -> Result<[u8; N], GgufError> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N as u64, what)?);
        Ok(out)
    }

    pub(super) fn u8(&mut self, what: Arguments<'_>) -> Result<u8, GgufError> {
        self.array(what).map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self, what: Arguments<'_>) -> Result<u16, GgufError> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, what: Arguments<'_>) -> Result<u32, GgufError> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: Arguments<'_>) -> Result<u64, GgufError> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length in eight bytes, then that many bytes of UTF-8.
    pub(super) fn string(&mut self, what: Arguments<'_>) -> Result<&'a str, GgufError> {
        let len = self.u64(what)?;
        let bytes = self.bytes(len, what)?;
        utf8(bytes, what)
    }

    /// A string that names something: no longer than `limit` bytes.
    pub(super) fn name(&mut self, limit: u64, what: Arguments<'_>) -> Result<&'a str, GgufError> {
        let len = self.u64(what)?;
        if len > limit {
            return Err(GgufError::NameLength { what: what.to_string(), len, limit });
        }
        let bytes = self.bytes(len, what)?;
        utf8(bytes, what)
    }
}

fn utf8<'a>(bytes: &'a [u8], what: Arguments<'_>) -> Result<&'a str, GgufError> {
    std::str::from_utf8(bytes).map_err(|e| GgufError::Utf8 { what: what.to_string(), valid: e.valid_up_to() })
}
