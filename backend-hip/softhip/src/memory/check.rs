//! The checks of the door: every byte of every active lane, before any of them is touched.

use super::allocation::Allocation;
use super::blocks::{BLOCK, mask, pieces};
use super::fault::{AccessFault, AccessKind, FaultKind, LaneFault};
use super::group::Group;
use super::launch::LaunchMemory;
use super::place::Place;
use super::refusal;
use super::shadow::Conflict;
use super::wave::{Run, WAVE, WaveAccess, for_each_lane, lanes};

/// Up to this distance between the lanes, looking at the whole range first pays.
const QUICK_SPAN: u64 = 64 * BLOCK;

impl LaunchMemory {
    pub(super) fn initialised(&self, allocation: &Allocation, offset: u64, len: u64) -> bool {
        !self.checks.uninitialised || allocation.init.covers(offset, len)
    }

    pub(super) fn race(
        &self,
        group: &mut Group,
        allocation: &Allocation,
        kind: AccessKind,
        offset: u64,
        len: u64,
        pc: u32,
    ) -> Result<(), Conflict> {
        if !self.checks.races {
            return Ok(());
        }
        let mut recorder = allocation.shadow.recorder(&self.order, group, kind, pc);
        for (block, mask) in pieces(offset, len) {
            recorder.touch(block, mask);
        }
        recorder.finish()
    }

    /// Checks a contiguous access. `None`: something is wrong, and the check by lanes will say what.
    #[inline]
    pub(super) fn check_run(
        &self,
        group: &mut Group,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        run: Run,
    ) -> Result<Option<Place<'_>>, Box<LaneFault>> {
        let len = run.len(access.bytes);
        let Some((allocation, offset)) = self.space.resolve(run.address, len) else { return Ok(None) };
        let permitted = kind == AccessKind::Read || allocation.writable;
        if !permitted || run.address & u64::from(access.align - 1) != 0 {
            return Ok(None);
        }
        if kind != AccessKind::Write && !self.initialised(allocation, offset, len) {
            return Ok(None);
        }
        if let Err(conflict) = self.race(group, allocation, kind, offset, len, access.pc) {
            let lane = run.lane_of(conflict.offset - offset, access.bytes);
            let address = run.address + u64::from(lane - run.first) * u64::from(access.bytes);
            let fault = refusal::race(allocation, conflict, kind, address, u64::from(access.bytes));
            return Err(Box::new(LaneFault { lane, fault }));
        }
        Ok(Some(Place { allocation, offset }))
    }

    /// Checks an access lane by lane, and finds the active lanes' places: the way for lanes in several allocations, and
    /// for finding out which lane is wrong.
    #[cold]
    pub(super) fn check_apart(
        &self,
        group: &mut Group,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        addresses: &[u64; WAVE],
    ) -> Result<[Option<Place<'_>>; WAVE], Box<LaneFault>> {
        let size = u64::from(access.bytes);
        let mut places = [None; WAVE];
        for lane in lanes(access.exec) {
            let at = |fault| Box::new(LaneFault { lane: number(lane), fault });
            let place = self.place(kind, access, addresses[lane]).map_err(at)?;
            let Place { allocation, offset } = place;
            self.race(group, allocation, access.touch(kind), offset, size, access.pc)
                .map_err(|conflict| at(refusal::race(allocation, conflict, kind, addresses[lane], size)))?;
            places[lane] = Some(place);
        }
        Ok(places)
    }

    /// Checks an access whose lanes are all within one allocation. `None`: they are not, or something is wrong.
    #[inline]
    pub(super) fn check_together(
        &self,
        group: &mut Group,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        addresses: &[u64; WAVE],
    ) -> Result<Option<&Allocation>, Box<LaneFault>> {
        let size = u64::from(access.bytes);
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for_each_lane(access.exec, |lane| {
            let address = addresses[lane];
            low = low.min(address);
            high = high.max(address);
            bits |= address;
        });
        let whole = self.space.resolve(low, high.wrapping_sub(low).saturating_add(size));
        let Some((allocation, _)) = whole.filter(|_| access.exec != 0) else { return Ok(None) };
        let permitted = kind == AccessKind::Read || allocation.writable;
        if !permitted || bits & u64::from(access.align - 1) != 0 {
            return Ok(None);
        }
        let base = allocation.base;
        if kind != AccessKind::Write && self.checks.uninitialised && !allocation.init.is_complete() {
            // Mostly all bytes between the lanes are initialised too, and one look at the range is enough.
            let span = high - low + size;
            let covered = span <= QUICK_SPAN && allocation.init.covers(low - base, span);
            let mut readable = true;
            if !covered {
                each_block(access, addresses, base, |block, mask| {
                    readable &= allocation.init.has(block, mask);
                });
            }
            if !readable {
                return Ok(None);
            }
        }
        if !self.checks.races {
            return Ok(Some(allocation));
        }
        let mut recorder = allocation.shadow.recorder(&self.order, group, access.touch(kind), access.pc);
        each_block(access, addresses, base, |block, mask| recorder.touch(block, mask));
        if let Err(conflict) = recorder.finish() {
            let distance = |lane: &usize| (allocation.base + conflict.offset).wrapping_sub(addresses[*lane]);
            let lane = lanes(access.exec).find(|lane| distance(lane) < size).unwrap_or(0);
            let fault = refusal::race(allocation, conflict, kind, addresses[lane], size);
            return Err(Box::new(LaneFault { lane: number(lane), fault }));
        }
        Ok(Some(allocation))
    }

    /// All checks but races, for one lane.
    fn place(
        &self,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        address: u64,
    ) -> Result<Place<'_>, AccessFault> {
        let size = u64::from(access.bytes);
        let Some((allocation, offset)) = self.space.resolve(address, size) else {
            return Err(refusal::unresolved(&self.space, kind, address, size));
        };
        let reads = kind != AccessKind::Write;
        let reason = if address & u64::from(access.align - 1) != 0 {
            FaultKind::Misaligned { required: u64::from(access.align) }
        } else if kind != AccessKind::Read && !allocation.writable {
            FaultKind::ReadOnly { offset }
        } else if reads && !self.initialised(allocation, offset, size) {
            FaultKind::Uninitialised { offset: allocation.init.first_missing(offset, size).unwrap_or(offset) }
        } else {
            return Ok(Place { allocation, offset });
        };
        Err(refusal::within(allocation, reason, kind, address, size))
    }
}

/// Calls `visit` with every block that lanes within the allocation at `base` touch, and the bytes in it. Neighbouring
/// lanes in one block come together.
#[inline]
fn each_block(access: &WaveAccess<'_>, addresses: &[u64; WAVE], base: u64, mut visit: impl FnMut(u64, u64)) {
    let size = u64::from(access.bytes);
    let bytes = mask(0, size);
    let (mut block, mut waiting) = (u64::MAX, 0);
    for_each_lane(access.exec, |lane| {
        let offset = addresses[lane] - base;
        let (this, first) = (offset / BLOCK, offset % BLOCK);
        if this != block {
            if waiting != 0 {
                visit(block, waiting);
            }
            (block, waiting) = (this, 0);
        }
        waiting |= bytes << first;
        if first + size > BLOCK {
            visit(block, waiting);
            (block, waiting) = (this + 1, bytes >> (BLOCK - first));
        }
    });
    if waiting != 0 {
        visit(block, waiting);
    }
}

/// A lane's index as its number.
fn number(lane: usize) -> u32 {
    u32::try_from(lane).unwrap_or(u32::MAX)
}
