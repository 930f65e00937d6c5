//! The operations that streams hold.

use std::fmt::{self, Debug, Formatter};

use super::dispatch::Dispatch;
use crate::memory::Site;

/// What the destination of a queued copy to the host holds until the copy runs. As any float it is NaN.
pub const POISON: u8 = 0xFF;

/// Bytes of host memory that the device copies from or to.
pub trait HostBytes: Send {
    /// Copies the bytes from `offset` into `out`.
    fn read(&self, offset: usize, out: &mut [u8]);
    /// Copies `data` to `offset`.
    fn write(&mut self, offset: usize, data: &[u8]);
}

impl HostBytes for Vec<u8> {
    fn read(&self, offset: usize, out: &mut [u8]) {
        out.copy_from_slice(&self[offset..offset + out.len()]);
    }

    fn write(&mut self, offset: usize, data: &[u8]) {
        self[offset..offset + data.len()].copy_from_slice(data);
    }
}

/// One end of a copy.
pub enum End {
    /// An address of the device, or of pinned host memory.
    Device(u64),
    /// Pageable host memory.
    Host(Box<dyn HostBytes>),
}

impl Debug for End {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(address) => write!(f, "Device({address:#x})"),
            Self::Host(_) => f.write_str("Host"),
        }
    }
}

/// `height` rows of `width` bytes; row `i` begins at `i * pitch` on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyShape {
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Bytes from row to row at the destination.
    pub to_pitch: usize,
    /// Bytes from row to row at the source.
    pub from_pitch: usize,
}

impl CopyShape {
    /// `len` bytes in one piece.
    pub fn flat(len: usize) -> Self {
        Self { width: len, height: 1, to_pitch: len, from_pitch: len }
    }

    /// The rows' offsets `(to, from)`.
    pub(crate) fn rows(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.height).map(move |row| (row * self.to_pitch, row * self.from_pitch))
    }
}

/// An operation.
pub enum Work {
    /// A copy between any two ends.
    Copy {
        /// Destination.
        to: End,
        /// Source.
        from: End,
        /// What is copied.
        shape: CopyShape,
    },
    /// A fill of device memory with copies of a pattern.
    Fill {
        /// First byte.
        to: u64,
        /// 1, 2 or 4 bytes.
        pattern: Vec<u8>,
        /// How many copies.
        count: u64,
    },
    /// A kernel.
    Launch(Box<Dispatch>),
    /// A function of the host.
    Host(Box<dyn FnOnce() + Send>),
    /// A free in stream order.
    Free {
        /// The allocation.
        address: u64,
        /// Where the host asked for it.
        site: Option<Site>,
    },
    /// Nothing but order: events are recorded and awaited by it.
    Marker,
}

impl Debug for Work {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy { to, from, shape } => write!(f, "Copy({to:?} <- {from:?}, {shape:?})"),
            Self::Fill { to, pattern, count } => write!(f, "Fill({to:#x}, {pattern:?} x {count})"),
            Self::Launch(dispatch) => write!(f, "Launch({})", dispatch.kernel.name()),
            Self::Host(_) => f.write_str("Host"),
            Self::Free { address, .. } => write!(f, "Free({address:#x})"),
            Self::Marker => f.write_str("Marker"),
        }
    }
}
