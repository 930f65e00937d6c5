//! The loadable bytes of a code object.

use std::ops::Range;

use object::read::elf::{ProgramHeader as _, Rela as _};
use object::{Endianness, elf};

use crate::elf::Elf;
use crate::error::{ObjectError, SegmentProblem};

/// Images larger than this are refused: no kernel module comes near, and a hostile file
/// must not make us allocate what it claims.
const MAX_IMAGE: u64 = 1 << 28;

/// `R_AMDGPU_RELATIVE64`.
const RELATIVE64: u32 = 13;

/// A loaded segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address relative to the image.
    pub address: u64,
    /// Contents as far as the file has them. In memory zeros follow, up to `size`.
    pub bytes: Vec<u8>,
    /// Bytes in memory.
    pub size: u64,
    /// The program may write it.
    pub writable: bool,
    /// It holds code.
    pub executable: bool,
}

impl Segment {
    /// Addresses it covers, relative to the image.
    pub fn range(&self) -> Range<u64> {
        self.address..self.address + self.size
    }
}

/// A 64-bit word that holds an address and moves with the image: `base + addend`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where the word is, relative to the image.
    pub address: u64,
    /// What it points to, relative to the image.
    pub addend: u64,
}

/// The segments of a code object, at addresses relative to the place it will be loaded to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    segments: Vec<Segment>,
    relocations: Vec<Relocation>,
}

impl Image {
    pub(crate) fn read(elf: &Elf<'_>) -> Result<Self, ObjectError> {
        let endian = elf.endian();
        let mut segments = Vec::new();
        let mut total = 0u64;
        for header in elf.elf_program_headers() {
            if header.p_type(endian) != elf::PT_LOAD || header.p_memsz(endian) == 0 {
                continue;
            }
            let (address, size) = (header.p_vaddr(endian), header.p_memsz(endian));
            let wrong = |problem| ObjectError::Segment { address, size, problem };
            let file = header.data(endian, elf.data()).map_err(|()| wrong(SegmentProblem::OutsideFile))?;
            if file.len() as u64 > size {
                return Err(wrong(SegmentProblem::LargerInFile));
            }
            total = total
                .checked_add(size)
                .filter(|&total| total <= MAX_IMAGE)
                .ok_or_else(|| wrong(SegmentProblem::TooLarge))?;
            if address.checked_add(size).is_none_or(|end| end > MAX_IMAGE) {
                return Err(wrong(SegmentProblem::TooFar));
            }
            let flags = header.p_flags(endian).0;
            let (writable, executable) = (flags & elf::PF_W.0 != 0, flags & elf::PF_X.0 != 0);
            segments.push(Segment { address, bytes: file.to_vec(), size, writable, executable });
        }
        segments.sort_by_key(|segment| segment.address);
        for pair in segments.windows(2) {
            if pair[0].range().end > pair[1].address {
                let Segment { address, size, .. } = pair[1];
                return Err(ObjectError::Segment { address, size, problem: SegmentProblem::Overlapping });
            }
        }
        let mut image = Self { segments, relocations: Vec::new() };
        image.relocations = read_relocations(elf, endian, &image)?;
        Ok(image)
    }

    /// The segments in address order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Words to patch once the load address is known.
    pub fn relocations(&self) -> &[Relocation] {
        &self.relocations
    }

    /// Bytes from address 0 to the end of the last segment.
    pub fn span(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.range().end)
    }

    /// The segments as they look when the image is loaded at `base`, with the zeros that the file leaves out.
    pub fn relocated(&self, base: u64) -> Vec<Segment> {
        let mut segments = self.segments.clone();
        segments.iter_mut().for_each(|segment| segment.bytes.resize(usize_of(segment.size), 0));
        for relocation in &self.relocations {
            let range = relocation.address..relocation.address + 8;
            let holder = segments.iter_mut().find(|segment| contains(&segment.range(), &range));
            if let Some(segment) = holder {
                let at = relocation.address - segment.address;
                let value = base.wrapping_add(relocation.addend).to_le_bytes();
                for (byte, value) in segment.bytes.iter_mut().skip(usize_of(at)).zip(value) {
                    *byte = value;
                }
            }
        }
        segments
    }

    /// The bytes of a range that lies within one segment and in the file.
    pub fn bytes(&self, range: Range<u64>) -> Option<&[u8]> {
        let segment = self.holder(&range)?;
        let start = usize_of(range.start - segment.address);
        let end = usize_of(range.end - segment.address);
        segment.bytes.get(start..end)
    }

    /// Whether a range lies within one executable segment.
    pub fn is_executable(&self, range: &Range<u64>) -> bool {
        self.holder(range).is_some_and(|segment| segment.executable)
    }

    /// The segment that a range lies within.
    pub(crate) fn holder(&self, range: &Range<u64>) -> Option<&Segment> {
        self.segments.iter().find(|segment| contains(&segment.range(), range))
    }
}

fn contains(outer: &Range<u64>, inner: &Range<u64>) -> bool {
    outer.start <= inner.start && inner.start <= inner.end && inner.end <= outer.end
}

/// An offset within a segment.
fn usize_of(offset: u64) -> usize {
    usize::try_from(offset).expect("segments end below MAX_IMAGE")
}

fn read_relocations(
    elf: &Elf<'_>,
    endian: Endianness,
    image: &Image,
) -> Result<Vec<Relocation>, ObjectError> {
    let mut relocations = Vec::new();
    let sections = elf.elf_section_table();
    for section in sections.iter() {
        use object::read::elf::SectionHeader as _;
        // Only allocated sections patch the loaded image; the others serve the linker.
        if section.sh_flags(endian).0 & elf::SHF_ALLOC.0 == 0 {
            continue;
        }
        let Some((entries, _)) = section.rela(endian, elf.data())? else { continue };
        for entry in entries {
            let address = entry.r_offset(endian);
            let kind = entry.r_type(endian, false).0;
            let inside = image.holder(&(address..address.saturating_add(8))).is_some();
            if kind != RELATIVE64 || !inside {
                return Err(ObjectError::Relocation { kind, address });
            }
            relocations.push(Relocation { address, addend: entry.r_addend(endian).cast_unsigned() });
        }
    }
    Ok(relocations)
}
