//! A code object as a whole.

use std::collections::HashMap;
use std::ops::Range;

use object::{Object as _, ObjectSymbol as _, SymbolKind};

use crate::elf::{self, Elf};
use crate::error::ObjectError;
use crate::image::Image;
use crate::kernel::{Kernel, Placement};
use crate::lines::{LineTable, Location};
use crate::metadata;
use crate::target::{GFX942, Target};

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
        let target = elf::check_header(&elf)?;
        let image = Image::read(&elf)?;
        let symbols = read_symbols(&elf, &image);
        let place = |name: &str, symbol: &str| Placement::find(name, symbol, &image, &symbols);
        let kernels = metadata::read(elf::metadata_note(&elf)?, place)?;
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
