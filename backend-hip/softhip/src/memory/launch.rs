//! Device memory as one launch sees it: checked loads, stores and atomics of waves.

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, MutexGuard};

use super::cells::{halves, index};
use super::fault::{AccessFault, AccessKind, FaultKind, LaneFault};
use super::group::{Group, Order};
use super::place::{Place, Scattered, placed};
use super::space::Space;
use super::wave::{Addresses, Lanes, WAVE, WaveAccess, lanes};
use super::{Checks, WideLocks, refusal};

/// Device memory during one launch. Threads that run workgroups share it.
///
/// It holds the allocations as they were when the launch began. Each call checks every byte of every
/// active lane before it touches any: bounds, permission, alignment, initialisation, races. On a fault
/// nothing has been loaded or stored by that call.
#[derive(Debug)]
pub struct LaunchMemory {
    pub(super) space: Arc<Space>,
    pub(super) order: Order,
    pub(super) checks: Checks,
    pub(super) wide: Arc<WideLocks>,
    pub(super) numbers: Arc<Numbers>,
    /// Whether accesses are recorded, so that workgroups that race are found.
    pub(super) records: bool,
    /// What is written is kept, so that it can be undone.
    pub(super) revocable: bool,
}

/// Gives launches their numbers.
#[derive(Debug, Default)]
pub(super) struct Numbers(AtomicU32);

/// How many numbers there are, and one.
const LAUNCHES: u32 = 1 << 31;

impl Numbers {
    /// The next number. They run from 1, as fresh records say 0, and share a word with a flag.
    pub(super) fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) % (LAUNCHES - 1) + 1
    }

    /// The number that was given last; 0 if none was.
    pub(super) fn latest(&self) -> u32 {
        self.0.load(Ordering::Relaxed).checked_sub(1).map_or(0, |last| last % (LAUNCHES - 1) + 1)
    }
}

/// What a scalar load found, per dword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalarLoad {
    /// Bit `i` is set when dword `i` is inside of the allocation and initialised. The other registers
    /// hold no value: to use one is an error, to leave it unused is what compilers do with widened loads.
    pub valid: u32,
    /// Why the first of the others is not valid.
    pub fault: Option<AccessFault>,
}

impl LaunchMemory {
    /// What is checked.
    pub fn checks(&self) -> Checks {
        self.checks
    }

    fn with(&self, number: u32, revocable: bool) -> Self {
        Self {
            space: Arc::clone(&self.space),
            order: Order::new(number, self.order.groups()),
            checks: self.checks,
            wide: Arc::clone(&self.wide),
            numbers: Arc::clone(&self.numbers),
            records: self.records,
            revocable,
        }
    }

    /// The same launch, before it began, such that [`undo`](Self::undo) can take back what it stores. Atomics
    /// cannot be taken back.
    #[must_use]
    pub fn revocable(&self) -> Self {
        self.with(self.order.launch(), true)
    }

    /// Takes back everything that a revocable launch stored, as far as races were checked, and answers the
    /// launch as it was before it began.
    #[must_use]
    pub fn undo(self) -> Self {
        for allocation in self.space.live() {
            allocation.undo.restore(self.order.launch(), allocation.contents());
        }
        self.with(self.numbers.next(), false)
    }

    /// Nobody will ask for the [`footprint`](Self::footprint). A single workgroup races with no other, so it needs no records
    /// then.
    #[must_use]
    pub fn without_footprint(mut self) -> Self {
        self.records = self.order.groups() > 1;
        self
    }

    /// Says whether one thread runs all workgroups: records then need no locks.
    pub(crate) fn set_alone(&self, alone: bool) {
        self.order.set_alone(alone);
    }

    /// Enters a workgroup, by its linear number below the launch's count.
    pub fn group(&self, id: u32) -> Group {
        Order::group(id)
    }

    /// Loads `access.bytes` (1, 2, 4, 8, 12 or 16) per active lane. Dword `i` of a lane goes to `out[i]`;
    /// narrow loads are zero-extended into `out[0]`. Inactive lanes keep their values.
    #[inline]
    pub fn load(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        out: &mut [Lanes],
    ) -> Result<(), Box<LaneFault>> {
        if let Err(fault) = self.load_strictly(group, access, out) {
            self.load_tolerantly(group, access, out, fault)?;
        }
        self.race_within(group, AccessKind::Read, access, None)
    }

    #[inline]
    fn load_strictly(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        out: &mut [Lanes],
    ) -> Result<(), Box<LaneFault>> {
        if let Addresses::Run(run) = access.addresses
            && !access.atomic
            && let Some(place) = self.check_run(group, AccessKind::Read, access, run)?
        {
            place.load_run(run, access.bytes, out);
            return Ok(());
        }
        let mut of_run = None;
        let addresses = access.addresses.each(&mut of_run);
        if !access.atomic
            && let Some(allocation) = self.check_together(group, AccessKind::Read, access, addresses)?
        {
            Scattered { allocation, addresses, exec: access.exec }.load(access.bytes, out);
            return Ok(());
        }
        let places = self.check_apart(group, AccessKind::Read, access, addresses)?;
        for (lane, place) in placed(&places) {
            let _whole = self.whole(access, place);
            place.load_lane(lane, access.bytes, out);
        }
        if access.atomic {
            fence(Ordering::Acquire);
            self.synchronise(group, access, true, false);
        }
        Ok(())
    }

    /// Stores `access.bytes` (1, 2, 4, 8, 12 or 16) per active lane: dword `i` of a lane from `data[i]`.
    /// Where lanes overlap, the highest one wins.
    #[inline]
    pub fn store(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        data: &[Lanes],
    ) -> Result<(), Box<LaneFault>> {
        self.race_within(group, AccessKind::Write, access, Some(data))?;
        match self.store_strictly(group, access, data) {
            Err(fault) => self.store_tolerantly(group, access, data, fault),
            done => done,
        }
    }

    #[inline]
    fn store_strictly(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        data: &[Lanes],
    ) -> Result<(), Box<LaneFault>> {
        if let Addresses::Run(run) = access.addresses
            && !access.atomic
            && let Some(place) = self.check_run(group, AccessKind::Write, access, run)?
        {
            place.store_run(run, access.bytes, data);
            return Ok(());
        }
        let mut of_run = None;
        let addresses = access.addresses.each(&mut of_run);
        if !access.atomic
            && let Some(allocation) = self.check_together(group, AccessKind::Write, access, addresses)?
        {
            Scattered { allocation, addresses, exec: access.exec }.store(access.bytes, data);
            return Ok(());
        }
        let places = self.check_apart(group, AccessKind::Write, access, addresses)?;
        if access.atomic {
            self.synchronise(group, access, false, true);
            fence(Ordering::Release);
        }
        for (lane, place) in placed(&places) {
            let _whole = self.whole(access, place);
            place.store_lane(lane, access.bytes, data);
        }
        Ok(())
    }

    /// Replaces the dword of each active lane, in order of lanes and each indivisibly, by
    /// `operation(lane, old)`; `old` goes to `out`. `access.bytes` is 4; addresses must be aligned.
    pub fn atomic_u32(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        out: &mut Lanes,
        mut operation: impl FnMut(usize, u32) -> u32,
    ) -> Result<(), Box<LaneFault>> {
        let places = self.check_atomic(group, access)?;
        self.race_within(group, AccessKind::Atomic, access, None)?;
        self.synchronise(group, access, false, true);
        for (lane, Place { allocation, offset }) in placed(&places) {
            out[lane] = allocation.cells.update(offset, Ordering::AcqRel, |old| operation(lane, old));
        }
        self.synchronise(group, access, true, false);
        Ok(())
    }

    /// As [`atomic_u32`](Self::atomic_u32) with `access.bytes` 8.
    pub fn atomic_u64(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        out: &mut [u64; WAVE],
        mut operation: impl FnMut(usize, u64) -> u64,
    ) -> Result<(), Box<LaneFault>> {
        let places = self.check_atomic(group, access)?;
        self.race_within(group, AccessKind::Atomic, access, None)?;
        self.synchronise(group, access, false, true);
        for (lane, Place { allocation, offset }) in placed(&places) {
            let _whole = self.wide.lock(allocation.base + offset);
            let cells = &allocation.cells;
            let old = u64::from(cells.load_u32(offset)) | (u64::from(cells.load_u32(offset + 4)) << 32);
            let [low, high] = halves(operation(lane, old));
            cells.store(offset, 4, low);
            cells.store(offset + 4, 4, high);
            out[lane] = old;
        }
        self.synchronise(group, access, true, false);
        Ok(())
    }

    /// A scalar load (`s_load_dword*`) of `out.len()` (up to 32) dwords at `address`.
    ///
    /// A compiler may widen a scalar load beyond what the program reads, so dwords that are outside of the
    /// allocation or uninitialised are no fault by themselves; [`ScalarLoad::valid`] names the others, and
    /// the registers of the rest are set to 0. When not a single dword is valid the load is a fault.
    pub fn load_masked(
        &self,
        group: &mut Group,
        address: u64,
        pc: u32,
        out: &mut [u32],
    ) -> Result<ScalarLoad, Box<AccessFault>> {
        let size = 4 * out.len() as u64;
        if !address.is_multiple_of(4) {
            let kind = FaultKind::Misaligned { required: 4 };
            let mut fault = refusal::unresolved(&self.space, AccessKind::Read, address, size);
            fault.kind = kind;
            return Err(Box::new(fault));
        }
        if let Some((allocation, offset)) = self.space.resolve(address, size)
            && self.initialised(allocation, offset, size)
        {
            self.race_of_scalar_load(group, allocation, (offset, size), pc)?;
            for (word, cell) in out.iter_mut().zip(allocation.cells.words(offset, index(size / 4))) {
                *word = cell.load(Ordering::Relaxed);
            }
            return Ok(ScalarLoad { valid: u32::MAX >> (32 - out.len()), fault: None });
        }
        self.load_widened(group, address, pc, out)
    }

    /// Dword by dword: some are invalid.
    #[cold]
    fn load_widened(
        &self,
        group: &mut Group,
        address: u64,
        pc: u32,
        out: &mut [u32],
    ) -> Result<ScalarLoad, Box<AccessFault>> {
        let size = 4 * out.len() as u64;
        let mut load = ScalarLoad { valid: 0, fault: None };
        for (i, word) in (0u32..).zip(&mut *out) {
            let at = address.wrapping_add(4 * u64::from(i));
            match self.load_one(group, at, pc) {
                Ok(value) => {
                    *word = value;
                    load.valid |= 1 << i;
                }
                Err(fault) if matches!(fault.kind, FaultKind::Race { .. }) => return Err(fault),
                Err(fault) => {
                    *word = 0;
                    load.fault.get_or_insert(*fault);
                }
            }
        }
        match load.fault {
            // The whole load is wrong: name it as the kernel issued it.
            Some(fault) if load.valid == 0 => Err(Box::new(AccessFault { address, size, ..fault })),
            _ => Ok(load),
        }
    }

    fn load_one(&self, group: &mut Group, address: u64, pc: u32) -> Result<u32, Box<AccessFault>> {
        let access = AccessKind::Read;
        let (allocation, offset) = self
            .space
            .resolve(address, 4)
            .ok_or_else(|| refusal::unresolved(&self.space, access, address, 4))?;
        // Before all else, so that a race does not hide when the writer comes second.
        self.race_of_scalar_load(group, allocation, (offset, 4), pc)?;
        if self.checks.uninitialised
            && let Some(offset) = allocation.init.first_missing(offset, 4)
        {
            let kind = FaultKind::Uninitialised { offset };
            return Err(Box::new(refusal::within(allocation, kind, access, address, 4)));
        }
        Ok(allocation.cells.load_u32(offset))
    }

    fn check_atomic(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
    ) -> Result<[Option<Place<'_>>; WAVE], Box<LaneFault>> {
        let addresses = access.addresses.materialise();
        match self.check_together(group, AccessKind::Atomic, access, &addresses)? {
            Some(allocation) => Ok(std::array::from_fn(|lane| {
                let active = access.exec >> lane & 1 == 1;
                active.then(|| Place { allocation, offset: addresses[lane] - allocation.base })
            })),
            None => self.check_apart(group, AccessKind::Atomic, access, &addresses),
        }
    }

    fn synchronise(&self, group: &mut Group, access: &WaveAccess<'_>, acquire: bool, release: bool) {
        if self.checks.races {
            let all = access.addresses.materialise();
            let mut addresses: Vec<u64> = lanes(access.exec).map(|lane| all[lane]).collect();
            addresses.sort_unstable();
            addresses.dedup();
            self.order.synchronise(group, &addresses, acquire, release);
        }
    }

    /// Keeps a device-scope access of 8 bytes in one piece.
    fn whole(&self, access: &WaveAccess<'_>, place: Place<'_>) -> Option<MutexGuard<'_, ()>> {
        (access.atomic && access.bytes == 8).then(|| self.wide.lock(place.allocation.base + place.offset))
    }
}
