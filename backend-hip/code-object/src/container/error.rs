//! Why no code object is found in a file.

use std::fmt::{self, Display, Formatter};

use super::TargetId;

/// Why no code object is found in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// The ELF structure is broken.
    #[error("not a readable ELF file: {0}")]
    Elf(#[from] object::Error),
    /// No known file begins like this.
    #[error(
        "neither a code object (ELF) nor an offload bundle (__CLANG_OFFLOAD_BUNDLE__, CCOB): it begins with {start:02x?}"
    )]
    Unknown {
        /// Up to four bytes.
        start: Vec<u8>,
    },
    /// A `HIPF` wrapper in a file.
    #[error(
        "a HIPF wrapper holds the address of a bundle in memory, not the bundle: give the program or library it is from"
    )]
    Wrapper,
    /// The code objects are in a `.kpack` archive.
    #[error(
        "a HIPK wrapper: the code objects are in a .kpack archive beside the library, which cannot be read; \
         build without THEROCK_KPACK_SPLIT_ARTIFACTS, or extract them with rocm-kpack"
    )]
    Kpack,
    /// A program without device code.
    #[error("ELF machine {machine} is not AMDGPU (224), and no section {section} holds device code")]
    NoFatbin {
        /// `e_machine`.
        machine: u16,
        /// The section.
        section: &'static str,
    },
    /// An ELF file in memory without a section table.
    #[error("the ELF file has no section table, so its length is unknown")]
    NoSections,
    /// A compressed bundle of version 1 in memory.
    #[error("a compressed bundle of version 1 does not say how long it is; load it from a file")]
    NoLength,
    /// The file ends too early, or a header points beyond its end.
    #[error("the file ends before what it says is at byte {at}")]
    Truncated {
        /// Where more bytes were expected.
        at: u64,
    },
    /// A bundle with an absurd number of entries.
    #[error("the bundle claims {count} entries, at most {limit} are believed")]
    TooManyEntries {
        /// What the header says.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A compressed bundle of an unknown version.
    #[error("compressed bundles of version {version} are unknown; 1, 2 and 3 are known")]
    Version {
        /// The version.
        version: u64,
    },
    /// A compressed bundle of an unknown method.
    #[error("compression method {method} is unknown; 0 (zlib) and 1 (zstd) are known")]
    Method {
        /// The method.
        method: u64,
    },
    /// The code objects are too large together.
    #[error("the code objects of this file have more than {limit} bytes when unpacked")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The compressed data cannot be unpacked.
    #[error("the {method} data is corrupt")]
    Corrupt {
        /// How it is compressed.
        method: Compression,
    },
    /// The unpacked size is not what the header says.
    #[error("the header says {header} bytes, unpacked are {found}")]
    Size {
        /// In the header.
        header: u64,
        /// Really there; one more than the header says if there are more.
        found: u64,
    },
    /// No code object for the GPU that is asked for.
    #[error("no code object for {wanted}; the file has {}", list(known))]
    NoTarget {
        /// What was asked for.
        wanted: TargetId,
        /// What there is.
        known: Vec<TargetId>,
    },
}

fn list(targets: &[TargetId]) -> String {
    let mut names: Vec<String> = targets.iter().map(TargetId::to_string).collect();
    names.sort();
    names.dedup();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// How a bundle is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Deflate in a zlib envelope.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Display for Compression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        })
    }
}
