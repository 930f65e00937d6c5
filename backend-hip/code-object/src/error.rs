//! Why a file is no code object that can be used.

use std::fmt::{self, Display, Formatter};

use crate::target::Target;

/// Why a file is no code object that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The ELF structure is broken.
    #[error("not a readable ELF file: {0}")]
    Elf(#[from] object::Error),
    /// The machine is another one.
    #[error("ELF machine {machine} is not AMDGPU (224)")]
    NotAmdGpu {
        /// `e_machine`.
        machine: u16,
    },
    /// A relocatable or core file.
    #[error("ELF type {kind} is not a linked shared object (3): link it with lld")]
    NotLinked {
        /// `e_type`.
        kind: u16,
    },
    /// Compiled for another operating system ABI.
    #[error("ELF OS ABI {abi} is not AMDGPU-HSA (64)")]
    NotHsa {
        /// `EI_OSABI`.
        abi: u8,
    },
    /// Compiled for another GPU.
    #[error("the code object is for {found}, not for {wanted}: build with --offload-arch={wanted}")]
    OtherGpu {
        /// The object's target.
        found: Target,
        /// The target that was asked for.
        wanted: Target,
    },
    /// A segment lies outside the file or the image limit.
    #[error("segment at {address:#x} of {size} bytes is {problem}")]
    Segment {
        /// Its virtual address.
        address: u64,
        /// Its size in memory.
        size: u64,
        /// What is wrong with it.
        problem: SegmentProblem,
    },
    /// A dynamic relocation of a kind that no kernel of this ABI needs.
    #[error("relocation type {kind} at {address:#x} is not supported")]
    Relocation {
        /// Its type number.
        kind: u32,
        /// The address it patches.
        address: u64,
    },
    /// No `NT_AMDGPU_METADATA` note.
    #[error("no AMDGPU metadata note")]
    NoMetadata,
    /// The metadata note is not the expected `MessagePack`.
    #[error("metadata: {place}: {problem}")]
    Metadata {
        /// Key or kernel.
        place: String,
        /// What is wrong there.
        problem: String,
    },
    /// The metadata names a symbol that is not there.
    #[error("kernel {kernel}: no symbol {symbol}")]
    NoSymbol {
        /// The kernel.
        kernel: String,
        /// The symbol.
        symbol: String,
    },
    /// A kernel's descriptor or code is not in a loaded segment.
    #[error("kernel {kernel}: {what} at {address:#x} is outside the loaded image")]
    OutsideImage {
        /// The kernel.
        kernel: String,
        /// Which part of it.
        what: KernelPart,
        /// Where it should be.
        address: u64,
    },
    /// Metadata and descriptor say different things.
    #[error("kernel {kernel}: {what} is {metadata} in the metadata, {descriptor} in the descriptor")]
    Contradiction {
        /// The kernel.
        kernel: String,
        /// Which size.
        what: KernelSize,
        /// In the metadata.
        metadata: u32,
        /// In the descriptor.
        descriptor: u32,
    },
}

/// What is wrong with a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentProblem {
    /// Its bytes are not all in the file.
    OutsideFile,
    /// It has more bytes in the file than in memory.
    LargerInFile,
    /// The segments together exceed the limit of an image.
    TooLarge,
    /// It ends beyond the limit of an image.
    TooFar,
    /// It shares addresses with another segment.
    Overlapping,
}

impl Display for SegmentProblem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OutsideFile => "outside the file",
            Self::LargerInFile => "larger in the file than in memory",
            Self::TooLarge => "too large",
            Self::TooFar => "too far from the image's start",
            Self::Overlapping => "overlapping another",
        })
    }
}

/// A part of a kernel in the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelPart {
    /// Its descriptor.
    Descriptor,
    /// Its instructions.
    Code,
}

impl Display for KernelPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptor => "descriptor",
            Self::Code => "code",
        })
    }
}

/// A size that both the metadata and the descriptor give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSize {
    /// Bytes of LDS.
    Lds,
    /// Bytes of scratch per work-item.
    Scratch,
}

impl Display for KernelSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lds => "LDS size",
            Self::Scratch => "scratch size",
        })
    }
}
