//! Finding a code object behind a bare pointer.
//!
//! `hipModuleLoadData` takes a pointer without a length. The file's own header says how long it is: see
//! [`code_object::extent`]. The pointer may also be that of the wrapper which `hipcc` puts around a program's bundles.

use std::borrow::Cow;
use std::ffi::c_void;

use code_object::{ContainerError, Source, TargetId};
/// A header that claims more than this is not believed.
const LIMIT: u64 = 1 << 30;

/// An image of unknown length: a whole file of some kind, valid for reads as long as this lives.
#[derive(Clone, Copy)]
struct Raw(*const u8);

impl Source for Raw {
    fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]> {
        if offset > LIMIT || len > LIMIT {
            return None;
        }
        let (offset, len) = (usize::try_from(offset).ok()?, usize::try_from(len).ok()?);
        // SAFETY: `Raw` is a whole file, and its headers, which led to this place, tell where its parts are.
        Some(unsafe { std::slice::from_raw_parts(self.0.wrapping_add(offset), len) })
    }
}

/// Why there is no code object behind a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ImageError {
    /// The pointer is null, or that in a wrapper.
    Null,
    /// The file is not one, or has none for this device.
    Container(ContainerError),
}

impl From<ContainerError> for ImageError {
    fn from(error: ContainerError) -> Self {
        Self::Container(error)
    }
}

/// The code object for this device in the image at `image`.
///
/// # Safety
///
/// `image` is null, or points to a whole ELF file, to an offload bundle, or to a `HIPF` wrapper of one, valid for reads
/// as long as the result is used.
pub(super) unsafe fn find<'a>(image: *const c_void) -> Result<Cow<'a, [u8]>, ImageError> {
    if image.is_null() {
        return Err(ImageError::Null);
    }
    let mut raw = Raw(image.cast());
    let truncated = |at| ContainerError::Truncated { at };
    let magic = raw.bytes(0, 4).ok_or(truncated(0))?;
    if let Some(at) = code_object::wrapper_pointer(magic) {
        let pointer = raw.bytes(at, 8).and_then(|bytes| bytes.first_chunk::<8>()).ok_or(truncated(at))?;
        let address = usize::try_from(u64::from_le_bytes(*pointer)).map_err(|_| truncated(at))?;
        if address == 0 {
            return Err(ImageError::Null);
        }
        raw = Raw(std::ptr::with_exposed_provenance(address));
    }
    let len = code_object::extent(&raw)?;
    let len = usize::try_from(len).ok().filter(|&len| len as u64 <= LIMIT).ok_or(truncated(len))?;
    // SAFETY: the file has as many bytes as its headers say, and the caller vouches for `'a`.
    let file: &'a [u8] = unsafe { std::slice::from_raw_parts(raw.0, len) };
    if file.starts_with(b"\x7fELF") {
        // Whether it is for this device is said when it is loaded.
        return Ok(file.into());
    }
    // A bundle has one entry per target.
    let mut packed = code_object::open_for(file, &TargetId::gfx942())?;
    Ok(packed.swap_remove(0).bytes)
}

/// A copy of the gfx942 code object in the image at `image`, if there is one.
///
/// # Safety
///
/// `image` is null, or points to a whole ELF file, to an offload bundle, or to a `HIPF` wrapper of one.
pub unsafe fn code_object_at(image: *const c_void) -> Option<Vec<u8>> {
    // SAFETY: as this function's; the result is copied at once.
    unsafe { find(image) }.ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut file = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
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

    fn look(file: &[u8]) -> Result<Cow<'_, [u8]>, ImageError> {
        // SAFETY: the tests' files are whole.
        unsafe { find(file.as_ptr().cast()) }
    }

    const HOST: (&str, &[u8]) = ("host-x86_64-unknown-linux-gnu-", b"");
    const OTHER: (&str, &[u8]) = ("hipv4-amdgcn-amd-amdhsa--gfx90a", b"other");
    const OURS: (&str, &[u8]) = ("hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+", b"ours");

    #[test]
    fn a_bundle_gives_its_entry_for_this_device() {
        assert_eq!(look(&bundle_of(&[HOST, OTHER, OURS])).as_deref(), Ok(&b"ours"[..]));
        let others = bundle_of(&[HOST, OTHER]);
        let none = look(&others);
        assert!(matches!(none, Err(ImageError::Container(ContainerError::NoTarget { .. }))), "{none:?}");
    }

    #[test]
    fn a_wrapper_leads_to_its_bundle() {
        let bundle = bundle_of(&[HOST, OURS]);
        let address = bundle.as_ptr().expose_provenance() as u64;
        let mut wrapper = 0x4849_5046_u32.to_le_bytes().to_vec();
        wrapper.extend(1u32.to_le_bytes());
        wrapper.extend(address.to_le_bytes());
        wrapper.extend([0; 8]);
        assert_eq!(look(&wrapper).as_deref(), Ok(&b"ours"[..]));
        wrapper[8..16].fill(0);
        assert_eq!(look(&wrapper), Err(ImageError::Null));
    }

    #[test]
    fn other_files_are_refused() {
        let unknown = look(b"MZ\x90\x00 and more");
        assert!(matches!(unknown, Err(ImageError::Container(ContainerError::Unknown { .. }))), "{unknown:?}");
        assert_eq!(look(b"HIPK and more"), Err(ContainerError::Kpack.into()));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { find(std::ptr::null()) }, Err(ImageError::Null));
    }
}
