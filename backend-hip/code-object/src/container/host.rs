//! Programs and shared libraries: bundles in the section `.hip_fatbin`.

use object::read::elf::{FileHeader as _, SectionHeader as _};
use object::{Object as _, ObjectSection as _};

use super::{ContainerError, HIPK_MAGIC, Packed, bundle, compressed, unit};
use crate::elf::Elf;

/// Where the bundles are.
const FATBIN: &str = ".hip_fatbin";
/// The wrappers that point to the bundles.
const WRAPPERS: &str = ".hipFatBinSegment";
/// What a library has whose code objects are in a `.kpack` archive.
const KPACK: &str = ".rocm_kpack_ref";

/// All code objects of a program or a shared library.
pub(super) fn open<'a>(elf: &Elf<'a>, room: &mut u64) -> Result<Vec<Packed<'a>>, ContainerError> {
    let wrapped_by_kpack = elf.section_by_name(KPACK).is_some()
        || elf
            .section_by_name(WRAPPERS)
            .and_then(|section| section.data().ok())
            .is_some_and(|wrapper| wrapper.starts_with(&HIPK_MAGIC));
    let mut packed = Vec::new();
    let mut sections = 0;
    for section in elf.sections().filter(|section| section.name() == Ok(FATBIN)) {
        sections += 1;
        let bytes = section.elf_section_header().data(elf.endian(), elf.data())?;
        let mut at = 0;
        while let Some(next) = find(&bytes[at..]) {
            let (found, len) = unit(&bytes[at + next..], room)?;
            packed.extend(found);
            at += next + len;
        }
    }
    match (sections, packed.is_empty()) {
        (_, true) if wrapped_by_kpack => Err(ContainerError::Kpack),
        (0, _) => {
            let machine = elf.elf_header().e_machine(elf.endian()).0;
            Err(ContainerError::NoFatbin { machine, section: FATBIN })
        }
        _ => Ok(packed),
    }
}

/// The start of the next bundle: they are aligned, with zeros between.
fn find(bytes: &[u8]) -> Option<usize> {
    let at = bytes.iter().position(|&byte| byte != 0)?;
    let here = &bytes[at..];
    // Something else follows the last bundle: it is not ours.
    (here.starts_with(bundle::MAGIC) || here.starts_with(compressed::MAGIC)).then_some(at)
}
