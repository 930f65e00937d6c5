//! A kernel of a code object.

use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use crate::argument::Argument;
use crate::descriptor::Descriptor;
use crate::error::{KernelPart, ObjectError};
use crate::image::Image;
use crate::symbols::Symbols;

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
    /// Bytes of the kernel-argument segment, as the metadata says; see [`Kernel::notes`].
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
    #[inline]
    pub fn explicit_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| !argument.kind.is_hidden())
    }

    /// What is odd about the kernel, and does not keep it from running.
    pub fn notes(&self) -> Vec<KernelNote> {
        let (metadata, descriptor) = (self.kernarg_size, self.descriptor.kernarg_size);
        let note = KernelNote::KernargSize { metadata, descriptor };
        if metadata == descriptor { Vec::new() } else { vec![note] }
    }
}

/// Something odd about a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelNote {
    /// Assemblers often leave the descriptor's size of the arguments at 0, or at that of another kernel. The
    /// runtime goes by the metadata.
    KernargSize {
        /// In the metadata.
        metadata: u32,
        /// In the descriptor.
        descriptor: u32,
    },
}

impl Display for KernelNote {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::KernargSize { metadata, descriptor } => write!(
                f,
                "the descriptor says {descriptor} bytes of arguments, the metadata {metadata}: the metadata counts"
            ),
        }
    }
}

/// Where a kernel is in the image.
pub(crate) struct Placement {
    pub(crate) entry: u64,
    pub(crate) code: Range<u64>,
    pub(crate) descriptor: Descriptor,
}

impl Placement {
    /// From the kernel's name and the symbol of its descriptor.
    pub(crate) fn find(
        name: &str,
        symbol: &str,
        image: &Image,
        symbols: &Symbols,
    ) -> Result<Self, ObjectError> {
        let range = |symbol: &str| {
            let missing = || ObjectError::NoSymbol { kernel: name.to_owned(), symbol: symbol.to_owned() };
            symbols.range(symbol).ok_or_else(missing)
        };
        let outside = |what, address| ObjectError::OutsideImage { kernel: name.to_owned(), what, address };
        let at = range(symbol)?.start;
        let bytes = image.bytes(at..at.saturating_add(Descriptor::SIZE as u64));
        let descriptor =
            bytes.and_then(Descriptor::read).ok_or_else(|| outside(KernelPart::Descriptor, at))?;
        let code = range(name)?;
        let entry = at.wrapping_add_signed(descriptor.entry_offset);
        if image.is_executable(&code) && code.contains(&entry) {
            Ok(Self { entry, code, descriptor })
        } else {
            Err(outside(KernelPart::Code, entry))
        }
    }
}
