//! An argument of a kernel.

use std::fmt::{self, Display, Formatter};

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Name in the source, where the compiler recorded it.
    pub name: Option<String>,
    /// Byte offset in the kernel-argument segment.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
    /// What it is.
    pub kind: ArgumentKind,
    /// Address space of a pointer: `global`, `local`, `constant`, `generic`, …
    pub address_space: Option<String>,
}

/// What an argument is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ArgumentKind {
    /// Passed by value.
    ByValue,
    /// A pointer to device memory.
    GlobalBuffer,
    /// An offset of dynamic LDS.
    DynamicSharedPointer,
    /// Filled in by the runtime: `hidden_block_count_x` and the like, by its name.
    Hidden(String),
    /// Another kind (images, samplers, pipes), by its name.
    Other(String),
}

impl ArgumentKind {
    pub(crate) fn parse(name: &str) -> Self {
        match name {
            "by_value" => Self::ByValue,
            "global_buffer" => Self::GlobalBuffer,
            "dynamic_shared_pointer" => Self::DynamicSharedPointer,
            hidden if hidden.starts_with("hidden_") => Self::Hidden(hidden.to_owned()),
            other => Self::Other(other.to_owned()),
        }
    }

    /// Whether the runtime fills it in.
    pub fn is_hidden(&self) -> bool {
        matches!(self, Self::Hidden(_))
    }
}

impl Display for ArgumentKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByValue => "by_value",
            Self::GlobalBuffer => "global_buffer",
            Self::DynamicSharedPointer => "dynamic_shared_pointer",
            Self::Hidden(name) | Self::Other(name) => name,
        })
    }
}
