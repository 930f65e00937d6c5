//! Code objects: what a HIP module holds, read from its ELF file.
//!
//! [`CodeObject::parse`] trusts nothing: a truncated or hostile file gives an
//! [`ObjectError`]. What it returns is checked: every kernel's code and descriptor
//! lie in loaded segments, and its descriptor and metadata agree.

#![forbid(unsafe_code)]

mod descriptor;
mod error;
mod image;
mod lines;
mod metadata;
mod target;

use std::collections::HashMap;
use std::ops::Range;

use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _, SymbolKind, elf};

pub use descriptor::{Descriptor, FloatMode, UserSgpr};
pub use error::ObjectError;
pub use image::{Image, Relocation, Segment};
pub use lines::{LineTable, Location};
pub use metadata::{Argument, ArgumentKind};
pub use target::{GFX942, Target};

type Elf<'a> = ElfFile64<'a, Endianness>;

/// A kernel: where its code is and what a launch must give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name to look it up by.
    pub name: String,
    /// Address of the first instruction, relative to the image.
    pub entry: u64,
    /// Addresses of its code, relative to the image.
    pub code: Range<u64>,
    /// The 64-byte descriptor.
    pub descriptor: Descriptor,
    /// Arguments in the order of the kernel-argument segment, hidden ones last.
    pub arguments: Vec<Argument>,
    /// Bytes of the kernel-argument segment.
    pub kernarg_size: u32,
    /// Alignment of the kernel-argument segment.
    pub kernarg_align: u32,
    /// Bytes of LDS it declares; a launch may add dynamic LDS.
    pub lds_size: u32,
    /// Bytes of scratch per work-item.
    pub scratch_size: u32,
    /// Lanes per wave.
    pub wavefront_size: u32,
    /// Scalar registers.
    pub sgprs: u32,
    /// Vector registers, accumulation registers included.
    pub vgprs: u32,
    /// Accumulation registers.
    pub agprs: u32,
    /// Work-items a block may have.
    pub max_flat_workgroup_size: u32,
    /// Block shape the source demands, if any.
    pub required_workgroup_size: Option<[u32; 3]>,
}

impl Kernel {
    /// The arguments the caller passes, in order.
    pub fn explicit_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| !argument.kind.is_hidden())
    }
}

/// A loaded and checked code object.
#[derive(Clone, Debug)]
pub struct CodeObject {
    target: Target,
    image: Image,
    kernels: Vec<Kernel>,
    symbols: HashMap<String, Range<u64>>,
    lines: LineTable,
}

impl CodeObject {
    /// Reads a gfx942 code object.
    pub fn parse(bytes: &[u8]) -> Result<Self, ObjectError> {
        let object = Self::read(bytes)?;
        match object.target {
            GFX942 => Ok(object),
            found => Err(ObjectError::OtherGpu { found, wanted: GFX942 }),
        }
    }

    /// Reads a code object for any AMD GPU: its metadata, for somebody else to run it.
    pub fn read(bytes: &[u8]) -> Result<Self, ObjectError> {
        let elf = Elf::parse(bytes)?;
        let target = check_header(&elf)?;
        let image = Image::read(&elf)?;
        let symbols = read_symbols(&elf, &image);
        let place = |name: &str, symbol: &str| Placement::find(name, symbol, &image, &symbols);
        let kernels = metadata::read(metadata_note(&elf)?, place)?;
        let lines = LineTable::read(&elf);
        Ok(Self { target, image, kernels, symbols, lines })
    }

    /// The GPU it was compiled for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The bytes to load.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// All kernels, in the order of the metadata.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of a name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Addresses of a symbol (a `__device__` variable, a function), relative to the image.
    pub fn symbol(&self, name: &str) -> Option<Range<u64>> {
        self.symbols.get(name).cloned()
    }

    /// The function that an address lies in, and the distance from its start.
    pub fn function_at(&self, address: u64) -> Option<(&str, u64)> {
        self.kernels
            .iter()
            .find(|kernel| kernel.code.contains(&address))
            .map(|kernel| (kernel.name.as_str(), address - kernel.code.start))
    }

    /// Source position of an address relative to the image, if the object has line tables.
    pub fn location(&self, address: u64) -> Option<Location<'_>> {
        self.lines.find(address)
    }

    /// The instruction words of an address range relative to the image.
    pub fn words(&self, range: Range<u64>) -> Option<Vec<u32>> {
        let bytes = self.image.bytes(range)?;
        let (words, rest) = bytes.as_chunks::<4>();
        rest.is_empty().then(|| words.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }
}

/// `ELFOSABI_AMDGPU_HSA`.
const AMDGPU_HSA: u8 = 64;

fn check_header(elf: &Elf<'_>) -> Result<Target, ObjectError> {
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
fn metadata_note<'a>(elf: &Elf<'a>) -> Result<&'a [u8], ObjectError> {
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

fn read_symbols(elf: &Elf<'_>, image: &Image) -> HashMap<String, Range<u64>> {
    elf.dynamic_symbols()
        .chain(elf.symbols())
        .filter(|symbol| matches!(symbol.kind(), SymbolKind::Text | SymbolKind::Data | SymbolKind::Unknown))
        .filter_map(|symbol| {
            let range = symbol.address()..symbol.address().checked_add(symbol.size())?;
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            image.bytes(range.clone())?;
            Some((name.to_owned(), range))
        })
        .collect()
}

/// Where a kernel is in the image.
struct Placement {
    entry: u64,
    code: Range<u64>,
    descriptor: Descriptor,
}

impl Placement {
    fn find(
        name: &str,
        symbol: &str,
        image: &Image,
        symbols: &HashMap<String, Range<u64>>,
    ) -> Result<Self, ObjectError> {
        let range = |symbol: &str| {
            let missing = || ObjectError::NoSymbol { kernel: name.to_owned(), symbol: symbol.to_owned() };
            symbols.get(symbol).cloned().ok_or_else(missing)
        };
        let outside = |what, address| ObjectError::OutsideImage { kernel: name.to_owned(), what, address };
        let at = range(symbol)?.start;
        let bytes = image.bytes(at..at.saturating_add(Descriptor::SIZE as u64));
        let descriptor = bytes.and_then(Descriptor::read).ok_or_else(|| outside("descriptor", at))?;
        let code = range(name)?;
        let entry = at.wrapping_add_signed(descriptor.entry_offset);
        if image.is_executable(&code) && code.contains(&entry) {
            Ok(Self { entry, code, descriptor })
        } else {
            Err(outside("code", entry))
        }
    }
}
