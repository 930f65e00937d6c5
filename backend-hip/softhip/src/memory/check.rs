//! The checks of the door: every byte of every active lane, before any of them is touched.

use super::allocation::Allocation;
use super::blocks::{BLOCK, mask, pieces};
use super::fault::{AccessFault, AccessKind, FaultKind, LaneFault};
use super::group::Group;
use super::init::Init;
use super::launch::LaunchMemory;
use super::place::Place;
use super::refusal;
use super::shadow::{Conflict, Recorder};
use super::wave::{Run, WAVE, WaveAccess, for_each_lane, lanes};

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
        let mut walk = self.walk(group, allocation, kind, access);
        for (block, mask) in pieces(offset, len) {
            walk.visit(block, mask);
        }
        let (readable, race) = walk.finish();
        if let Err(conflict) = race {
            let lane = run.lane_of(conflict.offset - offset, access.bytes);
            let address = run.address + u64::from(lane - run.first) * u64::from(access.bytes);
            let fault = refusal::race(allocation, conflict, kind, address, u64::from(access.bytes));
            return Err(Box::new(LaneFault { lane, fault }));
        }
        Ok(readable.then_some(Place { allocation, offset }))
    }

    /// The checks of `access` on the bytes of `allocation`.
    #[inline]
    fn walk<'a>(
        &'a self,
        group: &'a mut Group,
        allocation: &'a Allocation,
        kind: AccessKind,
        access: &WaveAccess<'_>,
    ) -> Walk<'a> {
        let reads = kind != AccessKind::Write;
        let recorder = if self.checks.races {
            Some(allocation.shadow.recorder(&self.order, group, access.touch(kind), access.pc))
        } else {
            None
        };
        Walk {
            block: 0,
            mask: 0,
            init: (reads && self.checks.uninitialised).then_some(&allocation.init),
            recorder,
            readable: true,
        }
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
        let mut walk = self.walk(group, allocation, kind, access);
        if walk.is_empty() {
            return Ok(Some(allocation));
        }
        for_each_lane(access.exec, |lane| {
            let offset = addresses[lane] - allocation.base;
            let (block, first) = (offset / BLOCK, offset % BLOCK);
            walk.add(block, mask(first, size));
            if first + size > BLOCK {
                walk.add(block + 1, mask(0, first + size - BLOCK));
            }
        });
        let (readable, race) = walk.finish();
        if let Err(conflict) = race {
            let distance = |lane: &usize| (allocation.base + conflict.offset).wrapping_sub(addresses[*lane]);
            let lane = lanes(access.exec).find(|lane| distance(lane) < size).unwrap_or(0);
            let fault = refusal::race(allocation, conflict, kind, addresses[lane], size);
            return Err(Box::new(LaneFault { lane: number(lane), fault }));
        }
        Ok(readable.then_some(allocation))
    }

    /// All checks but races, for one lane.
    fn place(&self, kind: AccessKind, access: &WaveAccess<'_>, address: u64) -> Result<Place<'_>, AccessFault> {
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

/// Goes over the blocks of an access.
struct Walk<'a> {
    /// The block whose bytes wait to be visited, and those bytes.
    block: u64,
    mask: u64,
    init: Option<&'a Init>,
    recorder: Option<Recorder<'a>>,
    /// Every byte visited so far has been written by somebody.
    readable: bool,
}

impl Walk<'_> {
    /// Is there nothing to check?
    fn is_empty(&self) -> bool {
        self.init.is_none() && self.recorder.is_none()
    }

    /// Checks bytes of a block.
    #[inline]
    fn visit(&mut self, block: u64, mask: u64) {
        if let Some(init) = self.init {
            self.readable &= init.has(block, mask);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.touch(block, mask);
        }
    }

    /// Checks bytes of a block, together with those that come next if they are in the same block.
    #[inline]
    fn add(&mut self, block: u64, mask: u64) {
        if block == self.block {
            self.mask |= mask;
            return;
        }
        if self.mask != 0 {
            self.visit(self.block, self.mask);
        }
        (self.block, self.mask) = (block, mask);
    }

    /// Whether all bytes were readable, and the first race.
    #[inline]
    fn finish(mut self) -> (bool, Result<(), Conflict>) {
        if self.mask != 0 {
            self.visit(self.block, self.mask);
        }
        (self.readable, self.recorder.map_or(Ok(()), Recorder::finish))
    }
}

/// A lane's index as its number.
fn number(lane: usize) -> u32 {
    u32::try_from(lane).unwrap_or(u32::MAX)
}
