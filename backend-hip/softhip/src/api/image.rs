//! Finding a code object behind a bare pointer.
//!
//! `hipModuleLoadData` takes a pointer without a length. The file's own header says how long it is: an ELF file ends
//! with its section table or its last section, an offload bundle lists its entries.

use std::ffi::c_void;

use hip_api::Code;

/// Start of an offload bundle, as `hipcc --genco` makes them.
const BUNDLE_MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const ELF_MAGIC: &[u8] = b"\x7fELF";
/// A header that claims more than this is not believed.
const LIMIT: u64 = 1 << 30;
/// What this device runs; feature suffixes may follow.
const TARGET: &str = "gfx942";

/// An image of unknown length.
#[derive(Clone, Copy)]
struct Raw(*const u8);

impl Raw {
    /// # Safety
    ///
    /// The image has at least `offset + len` bytes, valid for reads as long as the result is used.
    unsafe fn bytes<'a>(self, offset: u64, len: u64) -> Result<&'a [u8], Code> {
        if offset > LIMIT || len > LIMIT {
            return Err(Code::INVALID_IMAGE);
        }
        let (offset, len) = (usize::try_from(offset), usize::try_from(len));
        let (Ok(offset), Ok(len)) = (offset, len) else { return Err(Code::INVALID_IMAGE) };
        // SAFETY: within the image, says the caller.
        Ok(unsafe { std::slice::from_raw_parts(self.0.wrapping_add(offset), len) })
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    let taken = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
    taken.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    let taken = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>());
    taken.map_or(0, |bytes| u16::from_le_bytes(*bytes))
}

/// The code object for this device in the image at `image`.
///
/// # Safety
///
/// `image` is null, or points to a whole ELF file or offload bundle, valid for reads as long as the result is used.
pub(super) unsafe fn find<'a>(image: *const c_void) -> Result<&'a [u8], Code> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let raw = Raw(image.cast());
    // SAFETY: both kinds of files have at least four bytes.
    let magic = unsafe { raw.bytes(0, 4) }?;
    if magic == ELF_MAGIC {
        // SAFETY: it is an ELF file.
        return unsafe { elf(raw) };
    }
    if magic != &BUNDLE_MAGIC[..4] {
        return Err(Code::INVALID_IMAGE);
    }
    // SAFETY: only a bundle starts with these four bytes.
    unsafe { bundle(raw) }
}

/// # Safety
///
/// `raw` is a whole ELF file.
unsafe fn elf<'a>(raw: Raw) -> Result<&'a [u8], Code> {
    // SAFETY: the header of a 64-bit file has 64 bytes; a 32-bit file is longer than that too.
    let header = unsafe { raw.bytes(0, 64) }?;
    let (table, entry, count) = (word(header, 0x28), half(header, 0x3A), half(header, 0x3C));
    if entry < 64 || table == 0 {
        return Err(Code::INVALID_IMAGE);
    }
    let size = u64::from(entry) * u64::from(count);
    // SAFETY: the file holds its section table.
    let sections = unsafe { raw.bytes(table, size) }?;
    let mut end = table.saturating_add(size);
    for section in sections.chunks_exact(usize::from(entry)) {
        const NOBITS: u64 = 8;
        let kind = word(section, 4) & u64::from(u32::MAX);
        if kind != NOBITS {
            end = end.max(word(section, 0x18).saturating_add(word(section, 0x20)));
        }
    }
    // SAFETY: the file holds its sections.
    unsafe { raw.bytes(0, end) }
}

/// # Safety
///
/// `raw` is a whole offload bundle.
unsafe fn bundle<'a>(raw: Raw) -> Result<&'a [u8], Code> {
    let start = BUNDLE_MAGIC.len() as u64;
    // SAFETY: the magic and the number of entries.
    let header = unsafe { raw.bytes(0, start + 8) }?;
    if !header.starts_with(BUNDLE_MAGIC) {
        return Err(Code::INVALID_IMAGE);
    }
    let mut at = start + 8;
    for _ in 0..word(header, BUNDLE_MAGIC.len()).min(64) {
        // SAFETY: the bundle holds its table of entries: offset, size, length of the name, name.
        let entry = unsafe { raw.bytes(at, 24) }?;
        let (offset, size, name_len) = (word(entry, 0), word(entry, 8), word(entry, 16));
        // SAFETY: the name follows the entry.
        let name = unsafe { raw.bytes(at + 24, name_len) }?;
        let target = name.rsplit(|&byte| byte == b'-').next().unwrap_or(name);
        if target.starts_with(TARGET.as_bytes()) && name.starts_with(b"hip") {
            // SAFETY: the bundle holds its entries.
            return unsafe { raw.bytes(offset, size) };
        }
        at += 24 + name_len;
    }
    Err(Code::NO_BINARY_FOR_GPU)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut file = BUNDLE_MAGIC.to_vec();
        file.extend((entries.len() as u64).to_le_bytes());
        let table: usize = entries.iter().map(|(name, _)| 24 + name.len()).sum();
        let mut offset = (file.len() + table) as u64;
        for (name, data) in entries {
            file.extend(
                [offset, data.len() as u64, name.len() as u64].iter().flat_map(|word| word.to_le_bytes()),
            );
            file.extend(name.as_bytes());
            offset += data.len() as u64;
        }
        entries.iter().for_each(|(_, data)| file.extend(*data));
        file
    }

    fn look(file: &[u8]) -> Result<&[u8], Code> {
        // SAFETY: the tests' files are whole.
        unsafe { find(file.as_ptr().cast()) }
    }

    #[test]
    fn a_bundle_gives_its_entry_for_this_device() {
        let host: (&str, &[u8]) = ("host-x86_64-unknown-linux-gnu-", b"");
        let other: (&str, &[u8]) = ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"other");
        let ours: (&str, &[u8]) = ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+", b"ours");
        assert_eq!(look(&bundle_of(&[host, other, ours])), Ok(&b"ours"[..]));
        assert_eq!(look(&bundle_of(&[host, other])), Err(Code::NO_BINARY_FOR_GPU));
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(look(b"MZ\x90\x00 and more"), Err(Code::INVALID_IMAGE));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { find(std::ptr::null()) }, Err(Code::INVALID_VALUE));
    }
}
