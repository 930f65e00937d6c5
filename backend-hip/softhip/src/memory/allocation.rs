//! One allocation: its place, its bytes, and what is known about them.

use std::sync::{Mutex, PoisonError};

use super::cells::Cells;
use super::fault::{AllocationInfo, AllocationKind};
use super::init::Init;
use super::shadow::Shadow;
use super::site::Site;
use super::undo::{Contents, Undo};

/// Bytes of arguments that are kept for the next launch.
const KEPT: u64 = 4096;

/// An allocation, live or freed. A freed one keeps its identity and has no bytes that can be accessed.
#[derive(Debug)]
pub(super) struct Allocation {
    /// Address of the first byte.
    pub(super) base: u64,
    /// How many bytes are accessible: the size while live, 0 once freed.
    pub(super) limit: u64,
    /// Kernels may write it.
    pub(super) writable: bool,
    pub(super) cells: Cells,
    pub(super) init: Init,
    pub(super) shadow: Shadow,
    pub(super) undo: Undo,
    pub(super) size: u64,
    kind: AllocationKind,
    label: Mutex<Option<String>>,
    allocated: Option<Site>,
    freed: Option<Site>,
}

impl Allocation {
    /// `size` zeroed bytes at `base`, or at their own host address when pinned. `None`: the host is out of memory.
    pub(super) fn new(
        base: Option<u64>,
        size: u64,
        kind: AllocationKind,
        allocated: Option<Site>,
    ) -> Option<Self> {
        let (base, cells) = if let Some(base) = base {
            (base, Cells::zeroed(size)?)
        } else {
            let cells = Cells::pinned(size)?;
            (cells.host_pointer().expose_provenance() as u64, cells)
        };
        Self::over(cells, base, size, kind, kind != AllocationKind::Kernarg, allocated)
    }

    /// `size` bytes at `base` that are there already.
    pub(super) fn over(
        cells: Cells,
        base: u64,
        size: u64,
        kind: AllocationKind,
        writable: bool,
        allocated: Option<Site>,
    ) -> Option<Self> {
        let init = Init::clear(size)?;
        // The host writes its memory unseen.
        if kind.is_host() {
            init.cover(0, size);
        }
        Some(Self {
            base,
            limit: size,
            writable,
            cells,
            init,
            // What kernels cannot write needs no race detector.
            shadow: if writable { Shadow::new(size)? } else { Shadow::empty() },
            undo: Undo::default(),
            size,
            kind,
            label: Mutex::new(None),
            allocated,
            freed: None,
        })
    }

    /// What remains after a free.
    pub(super) fn tombstone(&self, freed: Option<Site>) -> Self {
        Self {
            base: self.base,
            limit: 0,
            writable: false,
            cells: Cells::empty(),
            init: Init::empty(),
            shadow: Shadow::empty(),
            undo: Undo::default(),
            size: self.size,
            kind: self.kind,
            label: Mutex::new(self.label()),
            allocated: self.allocated.clone(),
            freed,
        }
    }

    /// As [`tombstone`](Self::tombstone), of an allocation that nobody else holds.
    pub(super) fn bury(&mut self, freed: Option<Site>) {
        self.limit = 0;
        self.writable = false;
        // The next launch's arguments come to the same place.
        if self.kind != AllocationKind::Kernarg || self.size > KEPT {
            self.cells = Cells::empty();
            self.init = Init::empty();
        }
        self.shadow = Shadow::empty();
        self.undo = Undo::default();
        self.freed = freed;
    }

    /// Makes freed arguments those of another launch, if they have as many bytes as `data`.
    pub(super) fn revive(&mut self, allocated: &mut Option<Site>, data: &[u8]) -> bool {
        let size = data.len() as u64;
        // A tombstone that others held has no bytes.
        let fits = self.is_freed() && self.size == size && self.init.len() == size;
        if fits && self.kind == AllocationKind::Kernarg {
            self.limit = size;
            self.cells.write(0, data);
            self.init.cover(0, size);
            self.label = Mutex::new(None);
            (self.allocated, self.freed) = (allocated.take(), None);
            return true;
        }
        false
    }

    pub(super) fn contents(&self) -> Contents<'_> {
        Contents { cells: &self.cells, init: &self.init }
    }

    pub(super) fn kind(&self) -> AllocationKind {
        self.kind
    }

    /// A size of zero is never allocated, so no accessible bytes means freed.
    pub(super) fn is_freed(&self) -> bool {
        self.limit == 0
    }

    fn label(&self) -> Option<String> {
        self.label.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_label(&self, label: &str) {
        *self.label.lock().unwrap_or_else(PoisonError::into_inner) = Some(label.to_owned());
    }

    pub(super) fn suggest_label(&self, label: &str) {
        let mut present = self.label.lock().unwrap_or_else(PoisonError::into_inner);
        if present.is_none() {
            *present = Some(label.to_owned());
        }
    }

    pub(super) fn info(&self) -> AllocationInfo {
        AllocationInfo {
            base: self.base,
            size: self.size,
            label: self.label(),
            kind: self.kind,
            allocated: self.allocated.clone(),
            freed: self.freed.clone(),
            is_freed: self.is_freed(),
        }
    }

    /// How far `address` is from the nearest byte the allocation has or had.
    pub(super) fn distance(&self, address: u64) -> u64 {
        if address < self.base {
            self.base - address
        } else {
            address.saturating_sub(self.base + (self.size - 1))
        }
    }
}
