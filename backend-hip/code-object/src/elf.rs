//! The ELF header and the metadata note.

use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, elf};

use crate::error::ObjectError;
use crate::target::Target;

pub(crate) type Elf<'a> = ElfFile64<'a, Endianness>;

/// `ELFOSABI_AMDGPU_HSA`.
const AMDGPU_HSA: u8 = 64;

/// Accepts linked AMD GPU code only.
pub(crate) fn check_header(elf: &Elf<'_>) -> Result<Target, ObjectError> {
    let header = elf.elf_header();
    let endian = elf.endian();
    let machine = header.e_machine(endian).0;
    if machine != elf::EM_AMDGPU.0 {
        return Err(ObjectError::NotAmdGpu { machine });
    }
    let kind = header.e_type(endian).0;
    if kind != elf::ET_DYN.0 {
        return Err(ObjectError::NotLinked { kind });
    }
    let abi = header.e_ident().os_abi.0;
    if abi != AMDGPU_HSA {
        return Err(ObjectError::NotHsa { abi });
    }
    Ok(Target::from_flags(header.e_flags(endian).0))
}

/// The metadata note's descriptor bytes.
pub(crate) fn metadata_note<'a>(elf: &Elf<'a>) -> Result<&'a [u8], ObjectError> {
    const NT_AMDGPU_METADATA: u32 = 32;
    let endian = elf.endian();
    for header in elf.elf_program_headers() {
        let Some(mut notes) = header.notes(endian, elf.data())? else { continue };
        while let Some(note) = notes.next()? {
            if note.name() == b"AMDGPU" && note.n_type(endian).0 == NT_AMDGPU_METADATA {
                return Ok(note.desc());
            }
        }
    }
    Err(ObjectError::NoMetadata)
}
