//! The gzip container (RFC 1952) around deflate.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::core::DecompressorOxide;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::{TINFLStatus, core::decompress};

/// How hard deflate tries.
const LEVEL: u8 = 4;

/// What is said of a file whose end is missing.
const CUT: &str = "it ends in the middle";

/// A file of one member: no name, no time, so that equal bytes give equal files.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    file.extend(compress_to_vec(bytes, LEVEL));
    file.extend(crc32(bytes).to_le_bytes());
    file.extend(low_word(bytes.len()).to_le_bytes());
    file
}

/// What a file holds, at most `limit` bytes of it.
pub fn unpack(file: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut all = Vec::new();
    let mut rest = file;
    // Several members stand for one text.
    while !rest.is_empty() {
        rest = member(rest, limit, &mut all)?;
    }
    if file.is_empty() { Err("it is empty".into()) } else { Ok(all) }
}

/// Appends what the first member holds, and returns what follows it.
fn member<'f>(file: &'f [u8], limit: usize, all: &mut Vec<u8>) -> Result<&'f [u8], String> {
    let cut = || CUT.to_owned();
    if file.len() < 10 || file[..3] != [0x1f, 0x8b, 8] {
        return Err("it is no gzip file".into());
    }
    let flags = file[3];
    let mut at = 10;
    if flags & 4 != 0 {
        let length = file.get(at..at + 2).ok_or_else(cut)?;
        at += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = file.get(at..).and_then(|rest| rest.iter().position(|&b| b == 0)).ok_or_else(cut)?;
            at += end + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    let data = file.get(at..).ok_or_else(cut)?;
    let (bytes, used) = inflate(data, limit.saturating_sub(all.len()))?;
    let end = data.get(used..used + 8).ok_or_else(cut)?;
    let word = |at: usize| u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
    if word(0) != crc32(&bytes) || word(4) != low_word(bytes.len()) {
        return Err("its checksum is wrong".into());
    }
    all.extend(bytes);
    Ok(&data[used + 8..])
}

/// What deflated data hold, and how many bytes they are.
fn inflate(data: &[u8], limit: usize) -> Result<(Vec<u8>, usize), String> {
    let mut machine = DecompressorOxide::new();
    let mut out = vec![0; limit.min(data.len().saturating_mul(4).max(1 << 12))];
    let (mut used, mut filled) = (0, 0);
    loop {
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, read, written) = decompress(&mut machine, &data[used..], &mut out, filled, flags);
        (used, filled) = (used + read, filled + written);
        match status {
            TINFLStatus::Done => {
                out.truncate(filled);
                return Ok((out, used));
            }
            TINFLStatus::HasMoreOutput if out.len() < limit => {
                out.resize(out.len().saturating_mul(2).min(limit), 0);
            }
            TINFLStatus::HasMoreOutput => return Err(format!("it holds more than {limit} bytes")),
            TINFLStatus::NeedsMoreInput | TINFLStatus::FailedCannotMakeProgress => return Err(CUT.into()),
            _ => return Err("its data are broken".into()),
        }
    }
}

/// The length modulo 2^32, as the format has it.
fn low_word(length: usize) -> u32 {
    u32::try_from(length & 0xffff_ffff).unwrap_or(0)
}

/// CRC-32 of ISO 3309, bit by bit from a table of nibbles.
fn crc32(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (entry, byte) in table.iter_mut().zip(0u32..) {
        *entry = (0..8).fold(byte, |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)));
    }
    !bytes.iter().fold(!0u32, |crc, &byte| (crc >> 8) ^ table[usize::from(crc.to_le_bytes()[0] ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `printf abc | gzip -n`.
    const ABC: [u8; 23] =
        [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0x4c, 0x4a, 6, 0, 0xc2, 0x41, 0x24, 0x35, 3, 0, 0, 0];

    #[test]
    fn files_of_gzip_are_read_and_ours_are_read_back() {
        assert_eq!(unpack(&ABC, 10).unwrap(), b"abc");
        assert_eq!(unpack(&[ABC, ABC].concat(), 10).unwrap(), b"abcabc");
        let long: Vec<u8> = (0..100_000u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        assert_eq!(unpack(&pack(&long), 1 << 20).unwrap(), long);
        assert_eq!(unpack(&pack(b""), 1).unwrap(), b"");
    }

    #[test]
    fn broken_files_are_refused() {
        for end in 0..ABC.len() {
            let said = unpack(&ABC[..end], 10).unwrap_err();
            assert!(end < 10 || said == CUT, "{end} bytes: {said}");
        }
        for at in [0, 1, 2, 11, 15, 16, 19] {
            let mut bad = ABC;
            bad[at] ^= 0x10;
            assert!(unpack(&bad, 10).is_err(), "byte {at}");
        }
        assert!(unpack(&ABC, 2).unwrap_err().contains("more than 2"));
    }
}
