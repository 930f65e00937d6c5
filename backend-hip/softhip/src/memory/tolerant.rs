//! Races that cannot change a result: they are notes, not faults, unless [`Checks::strict_races`](super::Checks) is set.
//!
//! * Workgroups or waves write equal values to one byte, and only they read it.
//! * A plain load of what others change by atomics is followed by a compare-and-swap of the same lane on the same
//!   address: the loop of compare-and-swaps finds out if the value was old.
//!
//! Both are looked for lane by lane, once the usual check has found a race. Workgroups that run at the same time are not
//! looked at: a launch that races is run again on one thread, see [`LaunchMemory::undo`].

use super::allocation::Allocation;
use super::fault::{AccessFault, AccessKind, FaultKind, LaneFault, RaceSide};
use super::group::{Group, RaceNote};
use super::launch::LaunchMemory;
use super::place::{Place, placed};
use super::refusal;
use super::run::Run;
use super::shadow::Conflict;
use super::wave::{Addresses, Lanes, WAVE, WaveAccess, lanes};
use super::within::{Other, Within};

/// The lane of a scalar load.
const ALL_LANES: u32 = u32::MAX;

impl LaunchMemory {
    /// Whether a race with an access of kind `other` may be one that cannot change a result.
    fn may_tolerate(&self, access: &WaveAccess<'_>, fault: &LaneFault, other: AccessKind) -> bool {
        let races = matches!(&fault.fault.kind, FaultKind::Race { other: side, .. } if side.access == other);
        races && !self.checks.strict_races && !self.revocable && !access.atomic
    }

    /// Records one access. A race that cannot change a result, if it is `tolerant`, is returned.
    fn race_tolerantly(
        &self,
        group: &mut Group,
        allocation: &Allocation,
        kind: AccessKind,
        (offset, len): (u64, u64),
        (pc, tolerant): (u32, bool),
    ) -> Result<Option<Conflict>, Conflict> {
        if !self.needs_record(allocation, kind, offset, len) {
            return Ok(None);
        }
        let recorder = self.recorder(allocation, group, kind, pc);
        let mut recorder = if tolerant { recorder.tolerate() } else { recorder };
        for (block, mask) in super::blocks::pieces(offset, len) {
            recorder.touch(block, mask);
        }
        recorder.finish_tolerant()
    }

    /// Stores what raced, if all that raced are equal values.
    #[cold]
    pub(super) fn store_tolerantly(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        data: &[Lanes],
        fault: Box<LaneFault>,
    ) -> Result<(), Box<LaneFault>> {
        if !self.may_tolerate(access, &fault, AccessKind::Write) {
            return Err(fault);
        }
        let addresses = access.addresses.materialise();
        let (kind, size) = (AccessKind::Write, u64::from(access.bytes));
        let mut places = [None; WAVE];
        for lane in lanes(access.exec) {
            let at = |fault| Box::new(LaneFault { lane: super::check::number(lane), fault });
            let place = self.place(kind, access, addresses[lane]).map_err(at)?;
            let Place { allocation, offset } = place;
            for byte in 0..access.bytes {
                let new = data[(byte / 4) as usize][lane].to_le_bytes()[(byte % 4) as usize];
                let here = offset + u64::from(byte);
                let old = allocation.cells.load_narrow(here, 1).to_le_bytes()[0];
                let result =
                    self.race_tolerantly(group, allocation, kind, (here, 1), (access.pc, old == new));
                let refuse = |mut conflict: Conflict| {
                    conflict.other.value = (conflict.other.access != AccessKind::Read).then_some(old);
                    let mut fault = refusal::race(allocation, conflict, kind, addresses[lane], size);
                    if let FaultKind::Race { value, .. } = &mut fault.kind {
                        *value = Some(new);
                    }
                    at(fault)
                };
                if let Some(conflict) = result.map_err(refuse)? {
                    let fault = *refuse(conflict);
                    group.note(RaceNote { wave: group.wave(), pc: access.pc, fault });
                }
            }
            places[lane] = Some(place);
        }
        for (lane, place) in placed(&places) {
            place.store_lane(lane, access.bytes, data);
        }
        Ok(())
    }

    /// Loads what others change by atomics. A compare-and-swap has to follow.
    #[cold]
    pub(super) fn load_tolerantly(
        &self,
        group: &mut Group,
        access: &WaveAccess<'_>,
        out: &mut [Lanes],
        fault: Box<LaneFault>,
    ) -> Result<(), Box<LaneFault>> {
        if !self.may_tolerate(access, &fault, AccessKind::Atomic) {
            return Err(fault);
        }
        let addresses = access.addresses.materialise();
        let (kind, size) = (AccessKind::Read, u64::from(access.bytes));
        let mut places = [None; WAVE];
        for lane in lanes(access.exec) {
            let at = |fault| Box::new(LaneFault { lane: super::check::number(lane), fault });
            let place = self.place(kind, access, addresses[lane]).map_err(at)?;
            let Place { allocation, offset } = place;
            let result = self.race_tolerantly(group, allocation, kind, (offset, size), (access.pc, true));
            let refuse = |conflict| at(refusal::race(allocation, conflict, kind, addresses[lane], size));
            if let Some(conflict) = result.map_err(refuse)? {
                let note = RaceNote { wave: group.wave(), pc: access.pc, fault: *refuse(conflict) };
                group.pending.push(note);
            }
            places[lane] = Some(place);
        }
        for (lane, place) in placed(&places) {
            place.load_lane(lane, access.bytes, out);
        }
        Ok(())
    }

    /// Looks for a race with another wave of the workgroup, and records the access. `data` is what a store writes.
    #[inline]
    pub(super) fn race_within(
        &self,
        group: &mut Group,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        data: Option<&[Lanes]>,
    ) -> Result<(), Box<LaneFault>> {
        let Some(mut within) = group.within.take() else { return Ok(()) };
        let (wave, kind) = (group.wave(), access.touch(kind));
        let judged = if within.suspects(wave, kind, access) {
            self.judge_within(group, &within, kind, access, data)
        } else {
            Ok(())
        };
        within.record(wave, kind, access);
        if kind == AccessKind::Atomic {
            within.synchronise(wave);
        }
        group.within = Some(within);
        judged
    }

    /// Finds the first byte on which waves of the workgroup race; equal values make a note.
    #[cold]
    fn judge_within(
        &self,
        group: &mut Group,
        within: &Within,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        data: Option<&[Lanes]>,
    ) -> Result<(), Box<LaneFault>> {
        let (addresses, wave) = (access.addresses.materialise(), group.wave());
        let mut note = None;
        for lane in lanes(access.exec) {
            for byte in 0..access.bytes {
                let address = addresses[lane].saturating_add(byte.into());
                let Some(other) = within.conflict(wave, kind, address) else { continue };
                // Where nothing is, the access itself is the fault.
                let Some((allocation, offset)) = self.space.resolve(address, 1) else { continue };
                let old = allocation.cells.load_narrow(offset, 1).to_le_bytes()[0];
                let new = data.map(|data| data[(byte / 4) as usize][lane].to_le_bytes()[(byte % 4) as usize]);
                let Other { wave, lane: its_lane, pc, access: its } = other;
                let side = RaceSide {
                    access: its,
                    workgroup: Some(group.id()),
                    wave: Some(wave),
                    lane: Some(its_lane),
                    pc: Some(pc),
                    value: (its != AccessKind::Read).then_some(old),
                };
                let kind_of_fault = FaultKind::Race { offset, other: side, value: new };
                let size = access.bytes.into();
                let fault = refusal::within(allocation, kind_of_fault, kind, addresses[lane], size);
                let fault = Box::new(LaneFault { lane: super::check::number(lane), fault });
                let equal = kind == AccessKind::Write && its == AccessKind::Write && new == Some(old);
                if !equal || self.checks.strict_races {
                    return Err(fault);
                }
                note.get_or_insert(fault);
            }
        }
        if let Some(fault) = note {
            group.note(RaceNote { wave, pc: access.pc, fault: *fault });
        }
        Ok(())
    }

    /// Records a scalar load of bytes of an allocation.
    pub(super) fn race_of_scalar_load(
        &self,
        group: &mut Group,
        allocation: &Allocation,
        (offset, size): (u64, u64),
        pc: u32,
    ) -> Result<(), Box<AccessFault>> {
        let kind = AccessKind::Read;
        let address = allocation.base + offset;
        let refuse = |conflict| refusal::race(allocation, conflict, kind, address, size);
        if allocation.writable && group.within.is_some() {
            let bytes = u32::try_from(size).expect("a scalar load has at most 64 bytes");
            let addresses = Addresses::Run(Run::single(address));
            let access = WaveAccess { exec: 1, addresses, bytes, align: 1, pc, atomic: false };
            self.race_within(group, kind, &access, None).map_err(|fault| Box::new(fault.fault))?;
        }
        let Err(conflict) = self.race(group, allocation, kind, offset, size, pc) else { return Ok(()) };
        let by_atomic = conflict.other.access == AccessKind::Atomic;
        if !by_atomic || self.checks.strict_races || self.revocable {
            return Err(Box::new(refuse(conflict)));
        }
        let result = self.race_tolerantly(group, allocation, kind, (offset, size), (pc, true));
        if let Some(conflict) = result.map_err(|conflict| Box::new(refuse(conflict)))? {
            let fault = LaneFault { lane: ALL_LANES, fault: refuse(conflict) };
            group.pending.push(RaceNote { wave: group.wave(), pc, fault });
        }
        Ok(())
    }

    /// The group has done a compare-and-swap: plain loads of the same lanes at the same addresses were its beginning.
    pub fn settle_compare_swap(&self, group: &mut Group, access: &WaveAccess<'_>) {
        if !self.checks.races || self.checks.strict_races {
            return;
        }
        let addresses = access.addresses.materialise();
        let size = u64::from(access.bytes);
        for lane in lanes(access.exec) {
            let address = addresses[lane];
            if let Some((allocation, offset)) = self.space.resolve(address, size) {
                allocation.shadow.forget_reads(&self.order, group, offset, size);
            }
            if group.pending.is_empty() {
                continue;
            }
            let wave = group.wave();
            let settled = |note: &RaceNote| {
                let fault = &note.fault.fault;
                note.wave == wave
                    && (note.fault.lane as usize == lane || note.fault.lane == ALL_LANES)
                    && fault.address < address + size
                    && address < fault.address + fault.size
            };
            let (begun, rest) = std::mem::take(&mut group.pending).into_iter().partition(settled);
            group.pending = rest;
            Vec::into_iter(begun).for_each(|note| group.note(note));
        }
    }
}
