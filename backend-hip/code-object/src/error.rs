//! Why a file is no code object that can be used.

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
        problem: &'static str,
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
        /// Descriptor or code.
        what: &'static str,
        /// Where it should be.
        address: u64,
    },
    /// Metadata and descriptor say different things.
    #[error("kernel {kernel}: {what} is {metadata} in the metadata, {descriptor} in the descriptor")]
    Contradiction {
        /// The kernel.
        kernel: String,
        /// The quantity.
        what: &'static str,
        /// In the metadata.
        metadata: u32,
        /// In the descriptor.
        descriptor: u32,
    },
}
