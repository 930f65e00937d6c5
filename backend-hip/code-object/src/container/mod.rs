//! The files that code objects arrive in.
//!
//! [`open`] takes any of them and lists the code objects inside:
//!
//! | file | begins with | made by |
//! |---|---|---|
//! | code object | `\x7fELF`, machine AMDGPU | Triton, hiprtc, assemblers |
//! | offload bundle | `__CLANG_OFFLOAD_BUNDLE__` | `hipcc --genco` |
//! | compressed bundle, versions 1 to 3 | `CCOB` | the same with `--offload-compress` |
//! | program or shared library | `\x7fELF`, another machine | `hipcc`: bundles in the section `.hip_fatbin` |
//!
//! The last has one bundle per translation unit, one behind the other. [`extent`] says how long a file is that a
//! program passes by a bare pointer.

mod bundle;
mod compressed;
mod error;
mod host;
mod target_id;

use std::borrow::Cow;

use object::{Endianness, elf};

pub use error::{Compression, ContainerError};
pub use target_id::TargetId;

use crate::elf::Elf;
use object::read::elf::FileHeader as _;

/// Bytes that the code objects of one file may have together once they are unpacked. A hostile file cannot ask for more
/// memory than this, whatever its headers claim.
pub const MAX_UNPACKED: u64 = 1 << 30;

/// Start of a code object, a program or a shared library.
const ELF_MAGIC: &[u8] = b"\x7fELF";
/// The wrapper in `.hipFatBinSegment`, a little-endian number: 'HIPF'.
const HIPF_MAGIC: [u8; 4] = 0x4849_5046_u32.to_le_bytes();
/// The wrapper whose code objects are in a `.kpack` archive beside the library.
const HIPK_MAGIC: [u8; 4] = 0x4B50_4948_u32.to_le_bytes();

/// A code object in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed<'a> {
    /// The GPU it is for.
    pub target: TargetId,
    /// The ELF file.
    pub bytes: Cow<'a, [u8]>,
}

/// All code objects in a file, in its order. Bundles may hold entries for the host; those are left out.
pub fn open(file: &[u8]) -> Result<Vec<Packed<'_>>, ContainerError> {
    let mut room = MAX_UNPACKED;
    if !file.starts_with(ELF_MAGIC) {
        let (packed, _) = unit(file, &mut room)?;
        return Ok(packed);
    }
    let elf = Elf::parse(file)?;
    if elf.elf_header().e_machine(elf.endian()) != elf::EM_AMDGPU {
        return host::open(&elf, &mut room);
    }
    let target = TargetId::from_flags(elf.elf_header().e_flags(elf.endian()).0);
    Ok(vec![Packed { target, bytes: Cow::Borrowed(file) }])
}

/// The code objects of `file` for a GPU. None is an error that lists what there is.
pub fn open_for<'a>(file: &'a [u8], wanted: &TargetId) -> Result<Vec<Packed<'a>>, ContainerError> {
    let mut packed = open(file)?;
    let known = packed.iter().map(|packed| packed.target.clone()).collect();
    packed.retain(|packed| packed.target.serves(wanted));
    if packed.is_empty() {
        return Err(ContainerError::NoTarget { wanted: wanted.clone(), known });
    }
    Ok(packed)
}

/// One bundle, compressed or not, at the start of `bytes`, and how many bytes it takes.
///
/// `room` is what may still be unpacked.
fn unit<'a>(bytes: &'a [u8], room: &mut u64) -> Result<(Vec<Packed<'a>>, usize), ContainerError> {
    match bytes {
        bytes if bytes.starts_with(bundle::MAGIC) => {
            let (entries, end) = bundle::read(bytes)?;
            let packed =
                entries.into_iter().map(|(target, range)| Packed { target, bytes: bytes[range].into() });
            Ok((packed.collect(), end))
        }
        bytes if bytes.starts_with(compressed::MAGIC) => {
            let (unpacked, end) = compressed::unpack(bytes, room)?;
            let (entries, _) = bundle::read(&unpacked)?;
            let packed = entries
                .into_iter()
                .map(|(target, range)| Packed { target, bytes: unpacked[range].to_vec().into() });
            Ok((packed.collect(), end))
        }
        bytes if bytes.starts_with(&HIPK_MAGIC) => Err(ContainerError::Kpack),
        bytes if bytes.starts_with(&HIPF_MAGIC) => Err(ContainerError::Wrapper),
        _ => {
            let start = bytes.iter().copied().take(4).collect();
            Err(ContainerError::Unknown { start })
        }
    }
}

/// Bytes at an offset of a file whose length is not known.
pub trait Source {
    /// The bytes, or `None` where the file cannot have them.
    fn bytes(&self, offset: u64, len: u64) -> Option<&[u8]>;
}

/// The length of a code object or a bundle, from its own headers.
///
/// A compressed bundle of version 1 does not say how long it is: that is an error.
pub fn extent(source: &impl Source) -> Result<u64, ContainerError> {
    let get = |offset, len| source.bytes(offset, len).ok_or(ContainerError::Truncated { at: offset });
    let magic = get(0, 4)?;
    match magic {
        ELF_MAGIC => elf_extent(source),
        magic if magic == &bundle::MAGIC[..4] => bundle::extent(source),
        compressed::MAGIC => compressed::extent(source),
        magic if magic == HIPK_MAGIC => Err(ContainerError::Kpack),
        magic if magic == HIPF_MAGIC => Err(ContainerError::Wrapper),
        start => Err(ContainerError::Unknown { start: start.to_vec() }),
    }
}

/// Where the pointer of a 'HIPF' wrapper stands, if `magic` starts one.
pub fn wrapper_pointer(magic: &[u8]) -> Option<u64> {
    magic.starts_with(&HIPF_MAGIC).then_some(8)
}

/// An ELF file ends with its section table or its last section.
fn elf_extent(source: &impl Source) -> Result<u64, ContainerError> {
    use object::read::elf::SectionHeader as _;
    let get = |offset, len| source.bytes(offset, len).ok_or(ContainerError::Truncated { at: offset });
    let header = elf::FileHeader64::<Endianness>::parse(get(0, 64)?)?;
    let endian = header.endian()?;
    let (table, count) = (header.e_shoff(endian), u64::from(header.e_shnum(endian)));
    let entry = u64::from(header.e_shentsize(endian));
    if table == 0 || entry != size_of::<elf::SectionHeader64<Endianness>>() as u64 {
        return Err(ContainerError::NoSections);
    }
    let sections = get(table, entry * count)?;
    let (sections, _) = object::pod::slice_from_bytes::<elf::SectionHeader64<Endianness>>(
        sections,
        usize::from(header.e_shnum(endian)),
    )
    .map_err(|()| ContainerError::NoSections)?;
    let mut end = table.saturating_add(entry * count);
    for section in sections {
        if section.sh_type(endian) != elf::SHT_NOBITS {
            end = end.max(section.sh_offset(endian).saturating_add(section.sh_size(endian)));
        }
    }
    Ok(end)
}

/// A little-endian number at an offset, if the bytes are there.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let found = bytes.get(at..)?.first_chunk::<N>()?;
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(found);
    Some(u64::from_le_bytes(wide))
}
