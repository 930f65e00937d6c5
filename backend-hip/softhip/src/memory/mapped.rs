//! Memory of the host's that is reachable from kernels: what a program has registered, and what is mapped into reserved addresses.
#![allow(unsafe_code, reason = "such memory is given by a pointer")]

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::allocation::Allocation;
use super::cells::Cells;
use super::fault::{AllocationInfo, AllocationKind};
use super::host::{Memory, MemoryError};
use super::site::Site;
use super::words::Words;

/// Bytes of a word. Memory that begins within one is reachable from its start.
const WORD: usize = size_of::<AtomicU32>();

/// Memory of the host's, to be made reachable.
#[derive(Debug, Clone)]
pub struct HostRange {
    /// Its first byte, as the host has it.
    pub host: NonNull<u8>,
    /// Its first byte, as kernels have it.
    pub base: u64,
    /// Its bytes.
    pub size: u64,
    /// [`Registered`](AllocationKind::Registered) or [`Mapped`](AllocationKind::Mapped).
    pub kind: AllocationKind,
    /// Kernels may write it.
    pub writable: bool,
    /// Offsets that have been written. All of registered memory has: the host writes it unseen.
    pub written: Vec<Range<u64>>,
    /// Where the program asked for it.
    pub site: Option<Site>,
}

/// Addresses that are kept for memory to come.
#[derive(Debug, Clone)]
pub(super) struct Reservation {
    pub(super) info: AllocationInfo,
    /// Offsets at which there is memory, accessible or not.
    pub(super) mapped: Vec<Range<u64>>,
}

impl Memory {
    /// Makes memory of the host's reachable from kernels.
    ///
    /// # Safety
    ///
    /// Until the memory is [taken away](Self::unmap) and nothing that was queued before uses it, the words that hold its bytes, and one word
    /// after them, are valid for reads, and if it is writable for writes too.
    pub unsafe fn map(&self, range: HostRange) -> Result<(), MemoryError> {
        let misfit = range.host.addr().get() % WORD;
        let taken = MemoryError::Taken { base: range.base, size: range.size };
        let base = range.base.checked_sub(misfit as u64).ok_or(taken.clone())?;
        let size = range.size.checked_add(misfit as u64).ok_or(taken.clone())?;
        let end = base.checked_add(size).ok_or(taken.clone())?;
        if range.size == 0 {
            return Err(MemoryError::Empty);
        }
        let mut state = self.state();
        if !state.space.is_vacant(base, end) {
            return Err(taken);
        }
        let too_long = MemoryError::OutOfMemory { requested: size, free: 0, total: self.total };
        let words = usize::try_from(size.div_ceil(WORD as u64) + 1).map_err(|_| too_long.clone())?;
        // SAFETY: at most three bytes further down, the word begins that holds the first byte.
        let start = unsafe { range.host.sub(misfit) }.cast();
        // SAFETY: the caller vouches for the words from the one that holds the first byte to one after the last.
        let cells = Cells::of(unsafe { Words::foreign(start, words) });
        let HostRange { kind, writable, site, .. } = range;
        let allocation = Allocation::over(cells, base, size, kind, writable, site).ok_or(too_long)?;
        for written in range.written {
            allocation.init.cover(written.start, written.end - written.start);
        }
        Arc::make_mut(&mut state.space).insert(Arc::new(allocation));
        Ok(())
    }

    /// Takes away what [`map`](Self::map) has made reachable at `base`. Answers the offsets that have been written, or `None` when there is
    /// no such memory. Of registered memory its former place stays known.
    pub fn unmap(&self, base: u64, site: Option<Site>) -> Option<Vec<Range<u64>>> {
        let mut state = self.state();
        let (found, _) = state.space.resolve(base, 1)?;
        let found = Arc::clone(found);
        let kind = found.kind();
        if base - found.base >= WORD as u64
            || !matches!(kind, AllocationKind::Registered | AllocationKind::Mapped)
        {
            return None;
        }
        let written = found.init.runs().map(|(start, len)| start..start + len).collect();
        let space = Arc::make_mut(&mut state.space);
        if kind == AllocationKind::Registered {
            space.free(found, site);
        } else {
            space.remove(found.base);
        }
        Some(written)
    }

    /// Keeps addresses for memory to come: an access there is told from one to nothing.
    pub fn reserve(&self, base: u64, size: u64, site: Option<Site>) {
        let kind = AllocationKind::Mapped;
        let info =
            AllocationInfo { base, size, label: None, kind, allocated: site, freed: None, is_freed: false };
        let reservation = Reservation { info, mapped: Vec::new() };
        Arc::make_mut(&mut self.state().space).reserved.insert(base, reservation);
    }

    /// Says at which offsets of reserved addresses there is memory, accessible or not.
    pub fn set_mapped(&self, base: u64, mapped: Vec<Range<u64>>) {
        let mut state = self.state();
        if let Some(reservation) = Arc::make_mut(&mut state.space).reserved.get_mut(&base) {
            reservation.mapped = mapped;
        }
    }

    /// Gives reserved addresses back.
    pub fn release(&self, base: u64) {
        Arc::make_mut(&mut self.state().space).reserved.remove(&base);
    }
}
