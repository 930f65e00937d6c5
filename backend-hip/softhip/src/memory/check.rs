//! The checks of an access: every byte of every active lane, before any of them is touched.

use super::allocation::Allocation;
use super::blocks::{BLOCK, mask, pieces, stripes};
use super::fault::{AccessFault, AccessKind, FaultKind, LaneFault};
use super::group::Group;
use super::launch::LaunchMemory;
use super::place::Place;
use super::refusal;
use super::run::Run;
use super::shadow::{Conflict, Recorder};
use super::stretch::{self, Stretch};
use super::wave::{Extent, WAVE, WaveAccess, lanes};

/// Up to this distance between the lanes, looking at the whole range first pays.
const QUICK_SPAN: u64 = 64 * BLOCK;

impl LaunchMemory {
    pub(super) fn initialised(&self, allocation: &Allocation, offset: u64, len: u64) -> bool {
        !self.checks.uninitialised || allocation.init.covers(offset, len)
    }

    #[inline]
    pub(super) fn recorder<'a>(
        &'a self,
        allocation: &'a Allocation,
        group: &'a mut Group,
        kind: AccessKind,
        pc: u32,
    ) -> Recorder<'a> {
        let keeper = (self.revocable && kind == AccessKind::Write).then_some(allocation);
        allocation.shadow.recorder(&self.order, group, kind, pc, keeper)
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
        if !self.needs_record(allocation, kind, offset, len) {
            return Ok(());
        }
        let mut recorder = self.recorder(allocation, group, kind, pc);
        for (block, mask) in pieces(offset, len) {
            recorder.touch(block, mask);
        }
        recorder.finish()
    }

    /// Checks a run. `None`: something is wrong, and the check by lanes will say what.
    #[inline]
    pub(super) fn check_run(
        &self,
        group: &mut Group,
        kind: AccessKind,
        access: &WaveAccess<'_>,
        run: Run,
    ) -> Result<Option<Place<'_>>, Box<LaneFault>> {
        let span = run.span(access.bytes);
        let Some((allocation, offset)) = self.space.resolve(run.address(), span) else { return Ok(None) };
        let permitted = kind == AccessKind::Read || allocation.writable;
        if !permitted || (run.address() | run.step()) & u64::from(access.align - 1) != 0 {
            return Ok(None);
        }
        let blocks = RunBlocks { run, bytes: access.bytes, offset };
        if kind != AccessKind::Write && !self.run_initialised(allocation, blocks) {
            return Ok(None);
        }
        if let Err(conflict) = self.race_of_run(group, allocation, kind, blocks, access.pc) {
            let lane = run.lane_of(conflict.offset - offset, access.bytes);
            let size = u64::from(access.bytes);
            let fault = refusal::race(allocation, conflict, kind, run.address_of(lane), size);
            return Err(Box::new(LaneFault { lane, fault }));
        }
        Ok(Some(Place { allocation, offset }))
    }

    #[inline]
    fn run_initialised(&self, allocation: &Allocation, blocks: RunBlocks) -> bool {
        if !self.checks.uninitialised || allocation.init.is_complete() {
            return true;
        }
        let span = blocks.run.span(blocks.bytes);
        // Mostly all bytes between the lanes are initialised too, and one look at the range is enough.
        if blocks.is_contiguous() || span <= QUICK_SPAN {
            let covered = allocation.init.covers(blocks.offset, span);
            if covered || blocks.is_contiguous() {
                return covered;
            }
        }
        let mut readable = true;
        blocks.for_each(|block, mask| readable &= allocation.init.has(block, mask));
        readable
    }

    #[inline]
    fn race_of_run(
        &self,
        group: &mut Group,
        allocation: &Allocation,
        kind: AccessKind,
        blocks: RunBlocks,
        pc: u32,
    ) -> Result<(), Conflict> {
        let span = blocks.run.span(blocks.bytes);
        if blocks.is_contiguous() {
            return self.race(group, allocation, kind, blocks.offset, span, pc);
        }
        if !self.needs_record(allocation, kind, blocks.offset, span) {
            return Ok(());
        }
        let mut recorder = self.recorder(allocation, group, kind, pc);
        blocks.for_each(|block, mask| recorder.touch(block, mask));
        recorder.finish()
    }

    /// Whether the race detector has to see an access: not if there is one workgroup only or kernels cannot write there, and not
    /// if it reads what is known as read by many.
    #[inline]
    pub(super) fn needs_record(
        &self,
        allocation: &Allocation,
        kind: AccessKind,
        offset: u64,
        len: u64,
    ) -> bool {
        self.checks.races
            && self.records
            && allocation.writable
            && !(kind == AccessKind::Read && allocation.shadow.is_shared(self.order.launch(), offset, len))
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
        let Extent { low, high, bits } = Extent::of(access.exec, addresses);
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
        if !self.needs_record(allocation, access.touch(kind), low - base, high - low + size) {
            return Ok(Some(allocation));
        }
        let mut recorder = self.recorder(allocation, group, access.touch(kind), access.pc);
        each_block(access, addresses, base, |block, mask| {
            allocation.cells.prefetch(block * BLOCK);
            recorder.touch(block, mask);
        });
        if let Err(conflict) = recorder.finish() {
            let distance = |lane: &usize| (allocation.base + conflict.offset).wrapping_sub(addresses[*lane]);
            let lane = lanes(access.exec).find(|lane| distance(lane) < size).unwrap_or(0);
            let fault = refusal::race(allocation, conflict, kind, addresses[lane], size);
            return Err(Box::new(LaneFault { lane: number(lane), fault }));
        }
        Ok(Some(allocation))
    }

    /// All checks but races, for one lane.
    pub(super) fn place(
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

/// The blocks of a run that begins at `offset` of an allocation.
#[derive(Debug, Clone, Copy)]
struct RunBlocks {
    run: Run,
    bytes: u32,
    offset: u64,
}

impl RunBlocks {
    #[inline]
    fn is_contiguous(self) -> bool {
        self.run.is_contiguous(self.bytes)
    }

    /// Calls `visit` with every block, and the bytes in it.
    #[inline]
    fn for_each(self, visit: impl FnMut(u64, u64)) {
        let Self { run, bytes, offset } = self;
        if run.step() < BLOCK {
            return stripes(offset, run.span(bytes), run.step(), bytes.into(), visit);
        }
        let mut blocks = Blocks::new(bytes, visit);
        run.for_each(|_, distance| blocks.add(offset + distance));
        blocks.finish();
    }
}

/// Calls `visit` with every block that lanes within the allocation at `base` touch, and the bytes in it.
#[inline]
fn each_block(access: &WaveAccess<'_>, addresses: &[u64; WAVE], base: u64, visit: impl FnMut(u64, u64)) {
    let mut blocks = Blocks::new(access.bytes, visit);
    let size = u64::from(access.bytes);
    stretch::for_each(access.exec, addresses, size, |Stretch { start, end, .. }| {
        pieces(start - base, end - start).for_each(|(block, mask)| blocks.add_to(block, mask));
    });
    blocks.finish();
}

/// Collects accesses of equal size into blocks: neighbours in one block come together.
struct Blocks<V> {
    size: u64,
    block: u64,
    waiting: u64,
    visit: V,
}

impl<V: FnMut(u64, u64)> Blocks<V> {
    #[inline]
    fn new(bytes: u32, visit: V) -> Self {
        Self { size: bytes.into(), block: u64::MAX, waiting: 0, visit }
    }

    #[inline]
    fn add(&mut self, offset: u64) {
        let bytes = mask(0, self.size);
        let (block, first) = (offset / BLOCK, offset % BLOCK);
        self.add_to(block, bytes << first);
        if first + self.size > BLOCK {
            self.add_to(block + 1, bytes >> (BLOCK - first));
        }
    }

    #[inline]
    fn add_to(&mut self, block: u64, bytes: u64) {
        if block != self.block {
            if self.waiting != 0 {
                (self.visit)(self.block, self.waiting);
            }
            (self.block, self.waiting) = (block, 0);
        }
        self.waiting |= bytes;
    }

    #[inline]
    fn finish(mut self) {
        if self.waiting != 0 {
            (self.visit)(self.block, self.waiting);
        }
    }
}

/// A lane's index as its number.
pub(super) fn number(lane: usize) -> u32 {
    u32::try_from(lane).expect("a wave has 64 lanes")
}
