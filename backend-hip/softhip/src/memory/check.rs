//! The checks of the door: every byte of every active lane, before any of them is touched.

use super::allocation::Allocation;
use super::blocks::pieces;
use super::fault::{AccessFault, AccessKind, FaultKind, LaneFault};
use super::group::Group;
use super::launch::LaunchMemory;
use super::place::Place;
use super::refusal;
use super::shadow::{Conflict, Touch};
use super::wave::{Run, WAVE, WaveAccess, lanes};

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
        let touches = pieces(offset, len).map(|(block, mask)| Touch { kind, block, mask, pc });
        allocation.shadow.record(&self.order, group, touches)
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
        let aligned = run.address.is_multiple_of(u64::from(access.align));
        let readable = kind == AccessKind::Write || self.initialised(allocation, offset, len);
        if !(permitted && aligned && readable) {
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

    /// Checks an access lane by lane, and finds each active lane's place.
    pub(super) fn check_lanes<'a>(
        &'a self,
        group: &mut Group,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        addresses: &[u64; WAVE],
        places: &mut [Option<Place<'a>>; WAVE],
    ) -> Result<(), Box<LaneFault>> {
        for lane in lanes(access.exec) {
            let place = self.place(kind, access, addresses[lane]).map_err(|fault| lane_fault(lane, fault))?;
            places[lane] = Some(place);
        }
        if self.checks.races {
            self.race_lanes(group, kind, access, addresses, places)?;
        }
        Ok(())
    }

    /// All checks but races, for one lane.
    #[inline]
    fn place(&self, kind: AccessKind, access: &WaveAccess<'_>, address: u64) -> Result<Place<'_>, AccessFault> {
        let size = u64::from(access.bytes);
        let Some((allocation, offset)) = self.space.resolve(address, size) else {
            return Err(refusal::unresolved(&self.space, kind, address, size));
        };
        let reads = kind != AccessKind::Write;
        let reason = if !address.is_multiple_of(u64::from(access.align)) {
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

    /// Records the lanes' bytes, neighbours in one block together.
    fn race_lanes(
        &self,
        group: &mut Group,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        addresses: &[u64; WAVE],
        places: &[Option<Place<'_>>; WAVE],
    ) -> Result<(), Box<LaneFault>> {
        let size = u64::from(access.bytes);
        let touch_kind = if access.atomic { AccessKind::Atomic } else { kind };
        let mut touches = group.take_scratch();
        let mut first = 0;
        while first < WAVE {
            let Some(start) = places[first] else {
                first += 1;
                continue;
            };
            touches.clear();
            let mut next = first;
            while next < WAVE && places[next].is_none_or(|p| std::ptr::eq(p.allocation, start.allocation)) {
                for (block, mask) in places[next].into_iter().flat_map(|p| pieces(p.offset, size)) {
                    match touches.last_mut() {
                        Some(last) if last.block == block => last.mask |= mask,
                        _ => touches.push(Touch { kind: touch_kind, block, mask, pc: access.pc }),
                    }
                }
                next += 1;
            }
            if let Err(conflict) = start.allocation.shadow.record(&self.order, group, touches.iter().copied()) {
                let hit = |lane: &usize| {
                    places[*lane].is_some_and(|p| (p.offset..p.offset + size).contains(&conflict.offset))
                };
                let lane = (first..next).find(hit).unwrap_or(first);
                let fault = refusal::race(start.allocation, conflict, kind, addresses[lane], size);
                return Err(lane_fault(lane, fault));
            }
            first = next;
        }
        group.put_scratch(touches);
        Ok(())
    }
}

fn lane_fault(lane: usize, fault: AccessFault) -> Box<LaneFault> {
    Box::new(LaneFault { lane: u32::try_from(lane).unwrap_or(u32::MAX), fault })
}
