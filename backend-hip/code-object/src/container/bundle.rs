//! Offload bundles.
//!
//! The magic, the number of entries (u64), then per entry: offset of its bytes from the magic (u64), size (u64), length
//! of its name (u64), its name. A name is the kind of offloading, a triple and a target id:
//! `hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+`, `host-x86_64-unknown-linux-gnu-`.

use std::ops::Range;

use super::{ContainerError, Source, TargetId, number};

pub(super) const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";

/// More entries, or longer names, than this are no bundle that a compiler made.
const MAX_ENTRIES: u64 = 1024;
const MAX_NAME: u64 = 1024;

/// An entry's target and the place of its bytes.
type Entry = (TargetId, Range<usize>);

/// Reads the table of entries: a callback per entry with its name, offset and size. Returns the end of the last entry.
fn entries(
    source: &impl Source,
    mut each: impl FnMut(&[u8], u64, u64) -> Result<(), ContainerError>,
) -> Result<u64, ContainerError> {
    let get = |offset, len| source.bytes(offset, len).ok_or(ContainerError::Truncated { at: offset });
    let start = MAGIC.len() as u64;
    if get(0, start)? != MAGIC {
        return Err(ContainerError::Unknown { start: get(0, 4)?.to_vec() });
    }
    let word = |bytes: &[u8], at| number::<8>(bytes, at).ok_or(ContainerError::Truncated { at: start });
    let count = word(get(start, 8)?, 0)?;
    if count > MAX_ENTRIES {
        return Err(ContainerError::TooManyEntries { count, limit: MAX_ENTRIES });
    }
    let mut at = start + 8;
    let mut end = at;
    for _ in 0..count {
        let entry = get(at, 24)?;
        let (offset, size, name) = (word(entry, 0)?, word(entry, 8)?, word(entry, 16)?);
        if name > MAX_NAME {
            return Err(ContainerError::Truncated { at });
        }
        each(get(at + 24, name)?, offset, size)?;
        at += 24 + name;
        end = end.max(at).max(offset.saturating_add(size));
    }
    Ok(end)
}

/// Bytes from the magic to the end of the last entry.
pub(super) fn extent(source: &impl Source) -> Result<u64, ContainerError> {
    entries(source, |_, _, _| Ok(()))
}

/// The entries for AMD GPUs with their places, and the end of the last entry.
pub(super) fn read(bytes: &[u8]) -> Result<(Vec<Entry>, usize), ContainerError> {
    let mut found = Vec::new();
    let end = entries(&bytes, |name, offset, size| {
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(size)).ok());
        let range = range.map(|(start, end)| start..end).filter(|range| bytes.get(range.clone()).is_some());
        let range = range.ok_or(ContainerError::Truncated { at: offset })?;
        if let Some(target) = target(name)
            && !range.is_empty()
        {
            found.push((target, range));
        }
        Ok(())
    })?;
    let end = usize::try_from(end).map_err(|_| ContainerError::Truncated { at: end })?;
    Ok((found, end))
}

impl Source for &[u8] {
    fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        self.get(start..start.checked_add(usize::try_from(len).ok()?)?)
    }
}

/// The target of an entry for an AMD GPU. Entries for the host, and for others' GPUs, have none.
fn target(name: &[u8]) -> Option<TargetId> {
    let name = std::str::from_utf8(name).ok()?;
    if !name.contains("amdgcn") {
        return None;
    }
    // A generic target has a hyphen itself: gfx9-generic, gfx9-4-generic.
    let at = name.find("-gfx")? + 1;
    name[at..].parse().ok()
}
