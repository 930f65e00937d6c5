//! The host's side of device memory: allocate, free, copy, fill.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::allocation::Allocation;
use super::blocks::BLOCK;
use super::fault::{AccessFault, AccessKind, AllocationInfo, AllocationKind, FaultKind};
use super::group::Order;
use super::launch::{LaunchMemory, Numbers};
use super::ranges::Footprint;
use super::site::Site;
use super::space::{Slots, Space, across};
use super::{Checks, WideLocks, refusal};
use crate::host::size;

/// Bytes filled at a time, a multiple of every pattern's length.
const COPY_CHUNK: usize = 64 << 10;

/// Why memory could not be had or given back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// An allocation of no bytes.
    #[error("an allocation of 0 bytes")]
    Empty,
    /// The device or the host is out of memory, or no part of the address space is long enough.
    #[error("out of memory: {requested} bytes requested, {free} of {total} free")]
    OutOfMemory {
        /// Bytes requested.
        requested: u64,
        /// Bytes free on the device.
        free: u64,
        /// Bytes of the device.
        total: u64,
    },
    /// Another allocation is there.
    #[error("{size} bytes at {base:#x} are not free")]
    Taken {
        /// The first byte.
        base: u64,
        /// The bytes.
        size: u64,
    },
    /// The address is no allocation's first byte.
    #[error("free of {address:#x}, which is {}", describe(nearest.as_deref()))]
    NotAnAllocation {
        /// The address given.
        address: u64,
        /// The allocation that it is in, or near.
        nearest: Option<Box<AllocationInfo>>,
    },
    /// The allocation has been freed before.
    #[error("double free of {address:#x}")]
    DoubleFree {
        /// The address given.
        address: u64,
        /// The allocation, with the site of the first free.
        allocation: Box<AllocationInfo>,
    },
}

fn describe(nearest: Option<&AllocationInfo>) -> String {
    nearest.map_or_else(
        || "in no allocation".to_owned(),
        |info| format!("not the start of the allocation of {} bytes at {:#x}", info.size, info.base),
    )
}

/// The memory of one device.
#[derive(Debug)]
pub struct Memory {
    state: Mutex<State>,
    pub(super) launches: Arc<Numbers>,
    wide: Arc<WideLocks>,
    seed: u64,
    straddle: bool,
    pub(super) total: u64,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) space: Arc<Space>,
    pub(super) slots: Slots,
    pub(super) used: u64,
}

impl State {
    fn new(seed: u64) -> Self {
        Self { space: Arc::new(Space::new()), slots: Slots::new(seed), used: 0 }
    }
}

impl Memory {
    /// A device of `total` bytes whose addresses follow from `seed`.
    pub fn new(seed: u64, total: u64) -> Self {
        Self {
            state: Mutex::new(State::new(seed)),
            launches: Arc::default(),
            wide: Arc::new(WideLocks::new()),
            seed,
            straddle: false,
            total,
        }
    }

    /// Lets allocations lie across multiples of 4 GiB.
    #[must_use]
    pub fn straddling(self, straddle: bool) -> Self {
        Self { straddle, ..self }
    }

    /// Drops all allocations and forgets that they were.
    pub fn clear(&self) {
        *self.state() = State::new(self.seed);
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn space(&self) -> Arc<Space> {
        Arc::clone(&self.state().space)
    }

    /// Allocates `size` bytes, uninitialised, and answers their address.
    pub fn allocate(&self, size: u64, kind: AllocationKind, site: Option<Site>) -> Result<u64, MemoryError> {
        self.allocate_with(size, kind, site, &[])
    }

    /// As [`allocate`](Self::allocate); the first bytes hold `data`.
    pub(crate) fn allocate_with(
        &self,
        size: u64,
        kind: AllocationKind,
        mut site: Option<Site>,
        data: &[u8],
    ) -> Result<u64, MemoryError> {
        if size == 0 {
            return Err(MemoryError::Empty);
        }
        let mut state = self.state();
        let free = self.total.saturating_sub(state.used);
        let refuse = || MemoryError::OutOfMemory { requested: size, free, total: self.total };
        let pinned = kind == AllocationKind::Pinned;
        if size > if pinned { self.total } else { free } {
            return Err(refuse());
        }
        let slot = if pinned { None } else { Some(state.slots.take(kind, size).ok_or_else(refuse)?) };
        let across = if self.straddle && kind == AllocationKind::Device { across(size) } else { 0 };
        let slot = slot.map(|base| base + across);
        if let Some(base) = slot
            && kind == AllocationKind::Kernarg
            && data.len() as u64 == size
            && Arc::make_mut(&mut state.space).revive(base, &mut site, data)
        {
            state.used += size;
            return Ok(base);
        }
        let Some(allocation) = Allocation::new(slot, size, kind, site) else {
            if let Some(base) = slot {
                state.slots.quarantine(kind, base, size);
            }
            return Err(refuse());
        };
        let base = allocation.base;
        if !data.is_empty() {
            allocation.cells.write(0, data);
            allocation.init.cover(0, data.len() as u64);
        }
        Arc::make_mut(&mut state.space).insert(Arc::new(allocation));
        if !pinned {
            state.used += size;
        }
        Ok(base)
    }

    /// Frees the allocation that begins at `address`.
    pub fn free(&self, address: u64, mut site: Option<Site>) -> Result<(), MemoryError> {
        let mut guard = self.state();
        let state = &mut *guard;
        let space = Arc::get_mut(&mut state.space);
        if let Some(size) = space.and_then(|space| space.bury_revived(address, &mut site)) {
            state.used -= size;
            state.slots.quarantine(AllocationKind::Kernarg, address, size);
            return Ok(());
        }
        let found = state.space.nearest(address).cloned();
        let Some(allocation) = found.filter(|allocation| allocation.base == address) else {
            let nearest = state.space.nearest(address).map(|allocation| Box::new(allocation.info()));
            return Err(MemoryError::NotAnAllocation { address, nearest });
        };
        if allocation.is_freed() {
            return Err(MemoryError::DoubleFree { address, allocation: Box::new(allocation.info()) });
        }
        let (kind, size) = (allocation.kind(), allocation.size);
        Arc::make_mut(&mut state.space).free(allocation, site);
        if kind.is_placed() {
            state.used -= size;
            state.slots.quarantine(kind, address, size);
        }
        Ok(())
    }

    /// Names the live allocation that holds `address`; `false` when there is none.
    pub fn label(&self, address: u64, label: &str) -> bool {
        self.space().resolve(address, 1).is_some_and(|(allocation, _)| {
            allocation.set_label(label);
            true
        })
    }

    /// Names the live allocation that begins at `address`, unless it has a name.
    pub fn suggest_label(&self, address: u64, label: &str) {
        let space = self.space();
        if let Some((allocation, 0)) = space.resolve(address, 1) {
            allocation.suggest_label(label);
        }
    }

    /// The allocation, live or freed, that holds `address`.
    pub fn allocation_at(&self, address: u64) -> Option<AllocationInfo> {
        self.found_at(address, |_| true)
    }

    /// The freed allocation that an address is in.
    pub fn freed_at(&self, address: u64) -> Option<AllocationInfo> {
        self.found_at(address, Allocation::is_freed)
    }

    /// The first of the addresses that is in a freed allocation.
    pub fn first_freed<T>(
        &self,
        mut addresses: impl Iterator<Item = (T, u64)>,
    ) -> Option<(T, u64, AllocationInfo)> {
        let state = self.state();
        addresses.find_map(|(of, address)| {
            let nearest = state.space.nearest(address)?;
            let is_freed = nearest.is_freed() && nearest.distance(address) == 0;
            is_freed.then(|| (of, address, nearest.info()))
        })
    }

    fn found_at(&self, address: u64, wanted: impl Fn(&Allocation) -> bool) -> Option<AllocationInfo> {
        let space = self.space();
        let nearest = space.nearest(address)?;
        (nearest.distance(address) == 0 && wanted(nearest)).then(|| nearest.info())
    }

    /// Every live allocation, by address.
    pub fn live(&self) -> Vec<AllocationInfo> {
        let mut live: Vec<_> = self.space().live().map(|allocation| allocation.info()).collect();
        live.sort_by_key(|info| info.base);
        live
    }

    /// Free and total bytes of the device.
    pub fn info(&self) -> (u64, u64) {
        (self.total.saturating_sub(self.state().used), self.total)
    }

    /// Copies host bytes to the device.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), AccessFault> {
        self.with(AccessKind::Write, address, data.len() as u64, |allocation, offset| {
            allocation.cells.write(offset, data);
            allocation.init.cover(offset, data.len() as u64);
        })
    }

    /// Copies device bytes to the host. With `initialised`, all of them must have been written.
    pub fn read(&self, address: u64, out: &mut [u8], initialised: bool) -> Result<(), AccessFault> {
        let size = out.len() as u64;
        self.with(AccessKind::Read, address, size, |allocation, offset| {
            if initialised && let Some(offset) = allocation.init.first_missing(offset, size) {
                let kind = FaultKind::Uninitialised { offset };
                return Err(refusal::within(allocation, kind, AccessKind::Read, address, size));
            }
            allocation.cells.read(offset, out);
            Ok(())
        })?
    }

    /// Fills device bytes with copies of `pattern` (1, 2 or 4 bytes).
    pub fn fill(&self, address: u64, pattern: &[u8], count: u64) -> Result<(), AccessFault> {
        let len = (pattern.len() as u64).saturating_mul(count);
        self.with(AccessKind::Write, address, len, |allocation, offset| {
            let chunk = pattern.repeat(COPY_CHUNK.min(super::cells::index(len)) / pattern.len().max(1) + 1);
            for (at, take) in chunks(len) {
                allocation.cells.write(offset + at, &chunk[..take]);
            }
            allocation.init.cover(offset, len);
        })
    }

    /// Copies within the device. Bytes that were never written stay so at the destination.
    pub fn copy(&self, to: u64, from: u64, len: u64) -> Result<(), AccessFault> {
        if len == 0 {
            return Ok(());
        }
        let space = self.space();
        let resolve = |access, address| {
            space.resolve(address, len).ok_or_else(|| refusal::unresolved(&space, access, address, len))
        };
        let (source, source_offset) = resolve(AccessKind::Read, from)?;
        let (target, target_offset) = resolve(AccessKind::Write, to)?;
        let mut bytes = vec![0; super::cells::index(len)];
        source.cells.read(source_offset, &mut bytes);
        target.cells.write(target_offset, &bytes);
        target.init.copy(target_offset, &source.init, source_offset, len);
        Ok(())
    }

    /// Marks device bytes as never written.
    pub fn forget(&self, address: u64, len: u64) -> Result<(), AccessFault> {
        self.with(AccessKind::Write, address, len, |allocation, offset| allocation.init.uncover(offset, len))
    }

    /// Is all of `address..address + len` within one live allocation?
    pub fn check(&self, access: AccessKind, address: u64, len: u64) -> Result<(), AccessFault> {
        self.with(access, address, len, |_, _| ())
    }

    /// Begins a launch of `groups` workgroups. Launches must not overlap in time.
    pub fn launch(&self, groups: u32, checks: Checks) -> LaunchMemory {
        LaunchMemory {
            space: self.space(),
            order: Order::new(self.launches.next(), groups),
            checks,
            wide: Arc::clone(&self.wide),
            numbers: Arc::clone(&self.launches),
            records: true,
            revocable: false,
        }
    }

    fn with<T>(
        &self,
        access: AccessKind,
        address: u64,
        len: u64,
        then: impl FnOnce(&Allocation, u64) -> T,
    ) -> Result<T, AccessFault> {
        let space = self.space();
        match space.resolve(address, len) {
            Some((allocation, offset)) => Ok(then(allocation, offset)),
            None => Err(refusal::unresolved(&space, access, address, len)),
        }
    }
}

impl LaunchMemory {
    /// The device bytes that the launch has touched so far, as far as races were checked. Kernel arguments
    /// are left out.
    pub fn footprint(&self) -> Footprint {
        Footprint::of(&self.space, self.order.launch())
    }
}

impl Footprint {
    /// The bytes that a launch has touched.
    pub(super) fn of(space: &Space, launch: u32) -> Self {
        let mut footprint = Self::default();
        for allocation in space.live().filter(|allocation| allocation.kind() != AllocationKind::Kernarg) {
            allocation.shadow.touched(launch, |block, read, written| {
                footprint.add_block(allocation.base + block * BLOCK, read, written);
            });
        }
        footprint
    }
}

/// The pieces `(offset, bytes)` of a copy of `len` bytes.
fn chunks(len: u64) -> impl Iterator<Item = (u64, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let take = size((len - at).min(COPY_CHUNK as u64));
        let chunk = (take > 0).then_some((at, take));
        at += take as u64;
        chunk
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many as arguments have slots, and some more.
    const LAUNCHES: u8 = 150;

    #[test]
    fn memory_that_straddles_lies_across_a_multiple_of_4_gib() {
        let memory = Memory::new(1, 1 << 20).straddling(true);
        for size in [1, 511, 512, 5000] {
            let base = memory.allocate(size, AllocationKind::Device, None).unwrap();
            assert!(base.is_multiple_of(256));
            assert_eq!(base >> 32 != (base + size - 1) >> 32, size >= 512, "{base:#x} {size}");
            let all: Vec<u8> =
                (0..).map(|at: u64| at.to_le_bytes()[0]).take(crate::host::size(size)).collect();
            memory.write(base, &all).unwrap();
            let mut got = vec![0; all.len()];
            memory.read(base, &mut got, true).unwrap();
            assert_eq!(got, all);
            for outside in [base - 1, base + size] {
                let fault = memory.check(AccessKind::Read, outside, 1).unwrap_err();
                assert_eq!(fault.nearest.map(|info| info.base), Some(base), "{outside:#x}");
            }
            let restored = Memory::new(7, 1 << 20);
            restored.restore(&memory.snapshot(base).unwrap()).unwrap();
            assert_eq!(restored.snapshot(base), memory.snapshot(base));
            memory.free(base, None).unwrap();
            assert!(
                memory.freed_at(base + size - 1).is_some()
                    && memory.check(AccessKind::Read, base, 1).is_err()
            );
        }
    }

    #[test]
    fn arguments_that_take_the_place_of_others_are_their_own() {
        let memory = Memory::new(1, 1 << 20);
        let mut freed = std::collections::HashSet::new();
        for launch in 0..LAUNCHES {
            // Of two kernels.
            let size = if launch % 4 == 0 { 24 } else { 40 };
            let data: Vec<u8> = (launch..).take(size).collect();
            let site = Some(Site::new("host.rs", u32::from(launch) + 1));
            let base =
                memory.allocate_with(size as u64, AllocationKind::Kernarg, site.clone(), &data).unwrap();
            freed.remove(&base);
            let mut got = vec![0; size];
            memory.read(base, &mut got, true).unwrap();
            assert_eq!(got, data);
            assert!(memory.check(AccessKind::Read, base, size as u64 + 1).is_err());
            let info = memory.allocation_at(base).unwrap();
            assert_eq!((info.allocated, info.is_freed, info.label), (site, false, None));
            assert_eq!(memory.live().iter().map(|live| live.base).collect::<Vec<_>>(), [base]);
            memory.label(base, "arguments");
            memory.free(base, None).unwrap();
            freed.insert(base);
            for &base in &freed {
                assert!(memory.check(AccessKind::Read, base, 1).is_err(), "freed arguments have no bytes");
                assert!(memory.allocation_at(base).unwrap().is_freed);
            }
            assert_eq!(memory.live().len(), 0);
        }
        assert!(freed.len() < usize::from(LAUNCHES), "places are used again");
        assert_eq!(memory.info().0, 1 << 20);
    }
}
