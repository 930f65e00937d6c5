//! A code object as a whole.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::elf::{self, Elf};
use crate::error::ObjectError;
use crate::image::Image;
use crate::kernel::{Kernel, Placement};
use crate::lines::{LineTable, Location};
use crate::metadata::{self, Metadata};
use crate::symbols::{Function, Symbols};
use crate::target::{GFX942, Target};

/// A loaded and checked code object.
#[derive(Clone, Debug)]
pub struct CodeObject {
    target: Target,
    image: Image,
    kernels: Vec<Kernel>,
    printf: BTreeMap<u64, String>,
    symbols: Symbols,
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
        let symbols = Symbols::read(&elf, &image);
        let place = |name: &str, symbol: &str| Placement::find(name, symbol, &image, &symbols);
        let Metadata { kernels, printf } = metadata::read(elf::metadata_note(&elf)?, place)?;
        let lines = LineTable::read(&elf);
        Ok(Self { target, image, kernels, printf, symbols, lines })
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

    /// The format of a message that kernels name by its hash, as `-mprintf-kind=buffered` makes them do.
    pub fn printf_format(&self, hash: u64) -> Option<&str> {
        self.printf.get(&hash).map(String::as_str)
    }

    /// Addresses of a symbol (a `__device__` variable, a function), relative to the image.
    pub fn symbol(&self, name: &str) -> Option<Range<u64>> {
        self.symbols.range(name)
    }

    /// The symbol of the function or variable that begins at an address relative to the image.
    pub fn symbol_at(&self, address: u64) -> Option<&str> {
        let function = self.function_at(address).filter(|(_, distance)| *distance == 0);
        function.map(|(name, _)| name).or_else(|| self.symbols.name_at(address))
    }

    /// The function that an address lies in, and the distance from its start.
    pub fn function_at(&self, address: u64) -> Option<(&str, u64)> {
        let kernels = self.kernels.iter().map(|kernel| (kernel.name.as_str(), &kernel.code));
        let functions = self.functions().iter().map(|function| (function.name.as_str(), &function.code));
        let (name, code) = kernels.chain(functions).find(|(_, code)| code.contains(&address))?;
        Some((name, address - code.start))
    }

    /// All functions by address: the kernels and what they call.
    pub fn functions(&self) -> &[Function] {
        self.symbols.functions()
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
