//! Allocations with their contents as they were at one moment, and how they are put back at the same addresses.

use std::sync::Arc;

use super::allocation::Allocation;
use super::fault::{AllocationInfo, AllocationKind};
use super::host::{Memory, MemoryError};
use super::ranges::Footprint;
use super::refusal::NULL_PAGE;

/// An allocation, live or freed, with what it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// What and where it is.
    pub info: AllocationInfo,
    /// Its initialised bytes, by offset; no two pieces have a byte in common. A freed allocation has none.
    pub pieces: Vec<Piece>,
}

/// Initialised bytes of an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Offset of the first in the allocation.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why an allocation cannot be put back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// It has no bytes, or the device has too few.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Another one is there, or no allocation can be.
    #[error("no allocation of {size} bytes can be at {base:#x}")]
    Place {
        /// Its first byte.
        base: u64,
        /// Its bytes.
        size: u64,
    },
    /// A piece is not inside.
    #[error("bytes {offset} to {end} are not inside an allocation of {size} bytes")]
    Piece {
        /// Its first byte.
        offset: u64,
        /// The byte after its last.
        end: u64,
        /// Bytes of the allocation.
        size: u64,
    },
}

impl Memory {
    /// The allocation, live or freed, that holds `address`, with what it holds now.
    pub fn snapshot(&self, address: u64) -> Option<Snapshot> {
        let space = self.space();
        let found = space.nearest(address).filter(|allocation| allocation.distance(address) == 0)?;
        let pieces = found.init.runs().map(|(offset, len)| {
            let mut bytes = vec![0; crate::host::size(len)];
            found.cells.read(offset, &mut bytes);
            Piece { offset, bytes }
        });
        Some(Snapshot { info: found.info(), pieces: pieces.collect() })
    }

    /// Puts an allocation where it was, with what it held.
    pub fn restore(&self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        let AllocationInfo { base, size, kind, .. } = snapshot.info;
        self.place(snapshot)?;
        for Piece { offset, bytes } in &snapshot.pieces {
            let end = offset.saturating_add(bytes.len() as u64);
            if end > size {
                return Err(RestoreError::Piece { offset: *offset, end, size });
            }
            self.write(base + offset, bytes).map_err(|_| RestoreError::Place { base, size })?;
        }
        if let Some(label) = &snapshot.info.label {
            self.label(base, label);
        }
        if snapshot.info.is_freed && kind != AllocationKind::Image {
            self.free(base, snapshot.info.freed.clone())?;
        }
        Ok(())
    }

    /// Makes the allocation of a snapshot, without content.
    fn place(&self, snapshot: &Snapshot) -> Result<(), RestoreError> {
        let AllocationInfo { base, size, kind, ref allocated, .. } = snapshot.info;
        if size == 0 {
            return Err(MemoryError::Empty.into());
        }
        let refuse = RestoreError::Place { base, size };
        let end = base.checked_add(size).ok_or(refuse.clone())?;
        let mut state = self.state();
        let free = self.total.saturating_sub(state.used);
        if size > free {
            return Err(MemoryError::OutOfMemory { requested: size, free, total: self.total }.into());
        }
        if base < NULL_PAGE || !state.space.is_vacant(base, end) || !state.slots.reserve(base, size) {
            return Err(refuse);
        }
        let out_of_memory = MemoryError::OutOfMemory { requested: size, free, total: self.total };
        // Bytes of the host that pinned memory had belong to somebody else now.
        let allocation = Allocation::new(Some(base), size, kind, allocated.clone()).ok_or(out_of_memory)?;
        Arc::make_mut(&mut state.space).insert(Arc::new(allocation));
        if kind.is_placed() {
            state.used += size;
        }
        Ok(())
    }

    /// What the latest launch touched, as far as races were checked.
    pub fn latest_footprint(&self) -> Footprint {
        Footprint::of(&self.space(), self.launches.latest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_comes_back_at_its_address() {
        let memory = Memory::new(1, 1 << 20);
        let base = memory.allocate(300, AllocationKind::Device, None).unwrap();
        memory.write(base + 7, &[1; 60]).unwrap();
        memory.write(base + 200, &[2; 100]).unwrap();
        memory.label(base, "x");
        let taken = memory.snapshot(base + 299).unwrap();
        let runs: Vec<_> = taken.pieces.iter().map(|piece| (piece.offset, piece.bytes.len())).collect();
        assert_eq!(runs, [(7, 60), (200, 100)]);
        let other = Memory::new(9, 1 << 20);
        other.restore(&taken).unwrap();
        assert_eq!(other.snapshot(base), Some(taken.clone()));
        assert!(matches!(other.restore(&taken), Err(RestoreError::Place { .. })));
        // The place is not given away again.
        let places = (0..100).map(|_| other.allocate(1, AllocationKind::Device, None).unwrap());
        assert!(places.into_iter().all(|place| place != base));
    }

    #[test]
    fn a_freed_allocation_comes_back_as_freed() {
        let memory = Memory::new(1, 1 << 20);
        let base = memory.allocate(8, AllocationKind::Device, None).unwrap();
        memory.free(base, None).unwrap();
        let other = Memory::new(1, 1 << 20);
        other.restore(&memory.snapshot(base).unwrap()).unwrap();
        assert!(other.freed_at(base).is_some());
    }

    #[test]
    fn nothing_is_placed_where_nothing_can_be() {
        let memory = Memory::new(1, 1 << 40);
        let base = memory.allocate(8, AllocationKind::Device, None).unwrap();
        let mut taken = memory.snapshot(base).unwrap();
        let other = Memory::new(1, 1 << 40);
        for (base, size) in [
            (0, 8),
            (base + 1, 8),
            (base + (1 << 32), 8),
            (u64::MAX - 3, 8),
            ((0x1000 << 32) - 4, 8),
            (0x3fff << 32, 8 << 32),
        ] {
            (taken.info.base, taken.info.size) = (base, size);
            let refused = other.restore(&taken);
            assert!(matches!(refused, Err(RestoreError::Place { .. })), "{base:#x} {size}: {refused:?}");
        }
        (taken.info.base, taken.info.size) = (base, 1 << 50);
        assert!(matches!(other.restore(&taken), Err(RestoreError::Memory(_))));
        (taken.info.base, taken.info.size) = (0x7000_0000_0000, 8);
        taken.pieces.push(Piece { offset: 8, bytes: vec![0] });
        assert!(matches!(other.restore(&taken), Err(RestoreError::Piece { .. })));
    }
}
