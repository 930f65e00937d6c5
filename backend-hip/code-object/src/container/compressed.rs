//! Compressed offload bundles.
//!
//! `CCOB`, version (u16), method (u16: 0 zlib, 1 zstd), then
//!
//! | version | fields |
//! |---|---|
//! | 1 | unpacked size (u32), hash (u64) |
//! | 2 | size of the file (u32), unpacked size (u32), hash (u64) |
//! | 3 | size of the file (u64), unpacked size (u64), hash (u64) |
//!
//! and the compressed bundle. The hash serves the linker and is not checked: zlib and zstd have their own.

use std::io::Read as _;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::{Compression, ContainerError, MAX_UNPACKED, Source, number};

pub(super) const MAGIC: &[u8] = b"CCOB";

/// The longest header, of version 3.
const LONGEST_HEADER: usize = 32;

struct Header {
    method: Compression,
    /// Bytes before the compressed data.
    size: usize,
    /// Bytes of the header and the data; version 1 does not say.
    total: Option<u64>,
    unpacked: u64,
}

impl Header {
    fn read(bytes: &[u8]) -> Result<Self, ContainerError> {
        let truncated = || ContainerError::Truncated { at: bytes.len() as u64 };
        let short = |at| number::<2>(bytes, at).ok_or_else(truncated);
        let word = |at| number::<4>(bytes, at).ok_or_else(truncated);
        let long = |at| number::<8>(bytes, at).ok_or_else(truncated);
        let method = match short(6)? {
            0 => Compression::Zlib,
            1 => Compression::Zstd,
            method => return Err(ContainerError::Method { method }),
        };
        let (size, total, unpacked) = match short(4)? {
            1 => (20, None, word(8)?),
            2 => (24, Some(word(8)?), word(12)?),
            3 => (32, Some(long(8)?), long(16)?),
            version => return Err(ContainerError::Version { version }),
        };
        if total.is_some_and(|total| total < size as u64) {
            return Err(truncated());
        }
        Ok(Self { method, size, total, unpacked })
    }
}

/// Bytes of a compressed bundle.
pub(super) fn extent(source: &impl Source) -> Result<u64, ContainerError> {
    // Version 1 has a shorter header, and at least that much data.
    let bytes = source.bytes(0, LONGEST_HEADER as u64).ok_or(ContainerError::Truncated { at: 0 })?;
    Header::read(bytes)?.total.ok_or(ContainerError::NoLength)
}

/// The bundle, and how many bytes it took in compressed form. `room` shrinks by the bundle's size.
pub(super) fn unpack(bytes: &[u8], room: &mut u64) -> Result<(Vec<u8>, usize), ContainerError> {
    let header = Header::read(bytes)?;
    if header.unpacked > *room {
        return Err(ContainerError::TooLarge { limit: MAX_UNPACKED });
    }
    let end = match header.total {
        Some(total) => usize::try_from(total).ok(),
        None => Some(bytes.len()),
    };
    let data = end.and_then(|end| bytes.get(header.size..end));
    let data = data.ok_or(ContainerError::Truncated { at: bytes.len() as u64 })?;
    let corrupt = || ContainerError::Corrupt { method: header.method };
    let (unpacked, taken) = match header.method {
        Compression::Zlib => inflate(data, header.unpacked),
        Compression::Zstd => unzstd(data, header.unpacked),
    }
    .ok_or_else(corrupt)?;
    if unpacked.len() as u64 != header.unpacked {
        return Err(ContainerError::Size { header: header.unpacked, found: unpacked.len() as u64 });
    }
    *room -= header.unpacked;
    let end = if header.total.is_some() { header.size + data.len() } else { header.size + taken };
    Ok((unpacked, end))
}

/// Memory grows with what is really there, by this factor at most per step, not with what the header claims.
const FIRST_GUESS: usize = 1 << 20;

/// The unpacked bytes, at most one more than `limit`, and the bytes of input.
fn inflate(data: &[u8], limit: u64) -> Option<(Vec<u8>, usize)> {
    let limit = usize::try_from(limit).ok()?;
    let flags = TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut state = Box::<DecompressorOxide>::default();
    let mut out = vec![0; limit.min(FIRST_GUESS)];
    let (mut taken, mut made) = (0, 0);
    loop {
        let (status, read, written) = decompress(&mut state, data.get(taken..)?, &mut out, made, flags);
        taken += read;
        made += written;
        match status {
            TINFLStatus::Done => {
                out.truncate(made);
                return Some((out, taken));
            }
            TINFLStatus::HasMoreOutput if out.len() < limit => out.resize(limit.min(out.len() * 2), 0),
            _ => return None,
        }
    }
}

/// The unpacked bytes, at most one more than `limit`, and the bytes of input.
fn unzstd(data: &[u8], limit: u64) -> Option<(Vec<u8>, usize)> {
    let mut rest = data;
    let decoder = ruzstd::decoding::StreamingDecoder::new(&mut rest).ok()?;
    let mut out = Vec::new();
    decoder.take(limit + 1).read_to_end(&mut out).ok()?;
    Some((out, data.len() - rest.len()))
}
