//! What can be wrong with one access to device memory.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::site::Site;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// A load, or the source of a copy.
    Read,
    /// A store, or the destination of a copy or fill.
    Write,
    /// An atomic read-modify-write, or a load or store of device scope.
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic",
        })
    }
}

/// An end of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Below the first byte.
    Before,
    /// At or above the first byte after the last.
    After,
}

/// The other access of a race.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceSide {
    /// What it did.
    pub access: AccessKind,
    /// The linear number of its workgroup; `None` when several workgroups read the byte.
    pub workgroup: Option<u32>,
    /// The wave within its workgroup, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    /// The lane, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<u32>,
    /// What it left in the byte, if it wrote and that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<u8>,
    /// Its instruction, as given to [`WaveAccess`](super::WaveAccess) at the time.
    pub pc: Option<u32>,
}

/// Why an access is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "fault")]
pub enum FaultKind {
    /// The address is null or within the first 64 KiB.
    Null,
    /// No allocation, live or freed, is anywhere near.
    WildPointer,
    /// Some bytes are outside of the nearest allocation.
    OutOfBounds {
        /// At which end.
        side: Side,
        /// Before: from the address to the start. After: from the end to the address, 0 when the access
        /// begins inside.
        distance: u64,
        /// How many bytes of the access are outside.
        outside: u64,
    },
    /// The allocation has been freed.
    UseAfterFree {
        /// Offset of the address in the former allocation.
        offset: u64,
    },
    /// A byte is at an address that the program has reserved, and where no memory is, or none that kernels may access.
    Reserved {
        /// Offset of that byte in the reserved addresses.
        offset: u64,
        /// There is memory, to which no access has been given.
        mapped: bool,
    },
    /// A byte that nothing has written is read.
    Uninitialised {
        /// Offset of that byte in the allocation.
        offset: u64,
    },
    /// The address is no multiple of what the access requires.
    Misaligned {
        /// The required alignment in bytes.
        required: u64,
    },
    /// A write to memory that kernels may only read.
    ReadOnly {
        /// Offset of the address in the allocation.
        offset: u64,
    },
    /// Another workgroup of the same launch, or another wave of the same workgroup, touched the byte, without an order
    /// between the two.
    Race {
        /// Offset of the byte in the allocation.
        offset: u64,
        /// The other access.
        other: RaceSide,
        /// What this access writes to the byte, if it writes and that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<u8>,
    },
}

/// What an allocation is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllocationKind {
    /// Device memory of `hipMalloc`.
    Device,
    /// Host memory of `hipHostMalloc`, reachable from kernels at the host's address.
    Pinned,
    /// Host memory of the program's own that `hipHostRegister` has made reachable from kernels at the host's address.
    Registered,
    /// Device memory of `hipMemCreate` at addresses of `hipMemAddressReserve`.
    Mapped,
    /// The arguments of one launch; kernels may only read it.
    Kernarg,
    /// A loaded code object: constants and device variables.
    Image,
}

impl AllocationKind {
    /// Does the host reach it, at the same address?
    pub fn is_host(self) -> bool {
        matches!(self, Self::Pinned | Self::Registered)
    }

    /// Is it at an address, and among the bytes, that the device gives away?
    pub(super) fn is_placed(self) -> bool {
        matches!(self, Self::Device | Self::Kernarg | Self::Image)
    }
}

/// The identity of an allocation at the time of a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationInfo {
    /// Address of the first byte.
    pub base: u64,
    /// Size in bytes, exactly as requested.
    pub size: u64,
    /// The name the host gave it.
    pub label: Option<String>,
    /// What it is for.
    pub kind: AllocationKind,
    /// Where it was allocated.
    pub allocated: Option<Site>,
    /// Where it was freed.
    pub freed: Option<Site>,
    /// Whether it has been freed.
    pub is_freed: bool,
}

/// An access that the device refuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{access} of {size} bytes at {address:#x}: {kind:?}")]
pub struct AccessFault {
    /// Why.
    #[serde(flatten)]
    pub kind: FaultKind,
    /// What the access does.
    pub access: AccessKind,
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The allocation it hits, or the nearest one.
    pub nearest: Option<Box<AllocationInfo>>,
}

/// A fault of one lane of a wave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("lane {lane}: {fault}")]
pub struct LaneFault {
    /// The lowest lane whose access is refused.
    pub lane: u32,
    /// Its fault.
    pub fault: AccessFault,
}
