//! Who touched which byte during the current launch: the race detector between workgroups.
//!
//! Each block of 64 bytes has a record: the launch and the *actor* that touched it first, and masks of the
//! bytes which that actor read and wrote. An actor is a workgroup between two of its own synchronisations by
//! atomics ([`Group`]). What further actors do to other bytes of the block, and all atomics, go to a list, so
//! attribution is exact to the byte. Bytes that a second workgroup reads move to the mask `shared`: any later
//! write to them by anyone is a race, and thousands of readers cost nothing.
//!
//! A race is two accesses to one byte by different workgroups, at least one a plain write (or one plain and
//! one atomic), with no order between them. Launches do not overlap, so a record of an earlier launch is
//! stale and counts as empty; order between launches is the scheduler's business.
//!
//! Records of one page of 4 KiB are updated under the page's spin lock, once per wave access and page. An
//! access whose bits are all recorded already needs no lock: whatever conflicts with it later sees them.

mod page;
mod record;
mod recorder;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytemuck::allocation::try_zeroed_slice_box;

use super::allocation::Allocation;
use super::blocks::{self, BLOCK};
use super::cells::index;
use super::fault::{AccessKind, RaceSide};
use super::group::{Group, Order};
use page::{PAGE_WORDS, Page};
pub(super) use record::BlockHasher;
use record::{
    HEADER, LISTED, List, PackedPc, READ, RECORD, Record, SHARED, Slot, Touch, WRITTEN, same_launch,
};
pub(super) use recorder::Recorder;

/// Blocks per lock.
const PAGE_BLOCKS: u64 = 64;
/// Bytes per lock.
const PAGE: u64 = PAGE_BLOCKS * BLOCK;

/// Pages of a stretch: long allocations of which little is touched are looked through by stretches.
const STRETCH: u64 = 1 << 10;

/// The races of one allocation.
#[derive(Debug)]
pub(super) struct Shadow {
    /// A [`Page`] each.
    pages: Box<[AtomicU64]>,
    /// The last launch that touched a page of a stretch: side by side, so that to look through them touches few pages of the host.
    stretches: Box<[AtomicU64]>,
    records: Box<[AtomicU64]>,
    /// Bytes of the allocation.
    len: u64,
    /// Per block, where its first actor last read and wrote it, see [`PackedPc`].
    pcs: Box<[AtomicU32]>,
    list: Mutex<List>,
}

/// A race that an access completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Offset of the first byte in conflict.
    pub(super) offset: u64,
    pub(super) other: RaceSide,
}

impl Shadow {
    pub(super) fn empty() -> Self {
        Self {
            pages: Box::default(),
            stretches: Box::default(),
            records: Box::default(),
            len: 0,
            pcs: Box::default(),
            list: Mutex::default(),
        }
    }

    /// For `len` bytes. The records cost memory only once they are used.
    pub(super) fn new(len: u64) -> Option<Self> {
        let blocks = usize::try_from(len.div_ceil(BLOCK)).ok()?;
        let pages = blocks.div_ceil(index(PAGE_BLOCKS));
        Some(Self {
            pages: try_zeroed_slice_box(pages.checked_mul(PAGE_WORDS)?).ok()?,
            stretches: try_zeroed_slice_box(pages.div_ceil(index(STRETCH))).ok()?,
            records: try_zeroed_slice_box(blocks.checked_mul(RECORD)?).ok()?,
            len,
            pcs: try_zeroed_slice_box(blocks).ok()?,
            list: Mutex::default(),
        })
    }

    /// Is every byte around `offset..offset + len`, to whole pages, known as read by several groups of this launch and
    /// written by none? To read such bytes once more needs no record. `false` for ranges too long to be worth a look.
    #[inline]
    pub(super) fn is_shared(&self, launch: u32, offset: u64, len: u64) -> bool {
        let (first, last) = (offset / PAGE, (offset + len - 1) / PAGE);
        last - first < 64
            && (first..=last).all(|page| self.shared_blocks(launch, page) == self.blocks_of(page))
    }

    #[inline]
    fn page(&self, page: u64) -> Page<'_> {
        Page(&self.pages.as_chunks::<PAGE_WORDS>().0[index(page)])
    }

    /// Remembers that a launch touches a page.
    #[inline]
    fn touch(&self, page: u64, launch: u32) {
        self.page(page).last().store(launch.into(), Ordering::Relaxed);
        let stretch = &self.stretches[index(page / STRETCH)];
        if stretch.load(Ordering::Relaxed) != u64::from(launch) {
            stretch.store(launch.into(), Ordering::Relaxed);
        }
    }

    /// How many blocks of a page are wholly shared.
    #[inline]
    fn shared_blocks(&self, launch: u32, page: u64) -> u64 {
        let count = self.page(page).shared().load(Ordering::Relaxed);
        if count >> 32 == u64::from(launch) { count & 0xFFFF_FFFF } else { 0 }
    }

    /// How many blocks a page has.
    #[inline]
    fn blocks_of(&self, page: u64) -> u64 {
        (self.len - page * PAGE).div_ceil(BLOCK).min(PAGE_BLOCKS)
    }

    /// Sets the shared bytes of a block, whose page is locked.
    fn share(&self, slot: Slot<'_>, launch: u32, block: u64, mask: u64) {
        let all = blocks::mask(0, (self.len - block * BLOCK).min(BLOCK));
        let (before, page) = (slot.get(SHARED), block / PAGE_BLOCKS);
        slot.put(SHARED, mask);
        let count = self.shared_blocks(launch, page) + u64::from(mask == all) - u64::from(before == all);
        self.page(page).shared().store((u64::from(launch) << 32) | count, Ordering::Relaxed);
    }

    /// Records accesses of `group`, block by block. Blocks of one page should be neighbours. `keeper` keeps what
    /// newly written blocks hold.
    #[inline]
    pub(super) fn recorder<'a>(
        &'a self,
        order: &'a Order,
        group: &'a mut Group,
        kind: AccessKind,
        pc: u32,
        keeper: Option<&'a Allocation>,
    ) -> Recorder<'a> {
        Recorder::new(self, order, group, kind, pc, keeper)
    }

    /// The block has been touched by more than one actor in this launch, or is about to be, or has atomics.
    #[cold]
    fn record_shared(
        &self,
        order: &Order,
        group: &Group,
        slot: Slot<'_>,
        touch: Touch,
    ) -> Result<Option<Conflict>, Conflict> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.launch != order.launch() {
            list.launch = order.launch();
            list.blocks.clear();
        }
        let pcs = &self.pcs[index(touch.block)];
        if !same_launch(slot.get(HEADER), Slot::header(order.launch(), 0)) {
            slot.restart(Slot::header(order.launch(), group.actor()));
            pcs.store(u32::MAX, Ordering::Relaxed);
        }
        let first = slot.first(pcs);
        let others = list.blocks.get(&touch.block).map_or(&[][..], Vec::as_slice);
        let at = |mask: u64| touch.block * BLOCK + u64::from(mask.trailing_zeros());
        let (mut read_elsewhere, mut changed) = (0, 0);
        let mut harmless = None;
        let own =
            std::iter::once(&first).chain(others).filter(|record| order.same_group(record.actor, group));
        let own = own.fold(0, |own, record| own | record.written);
        for record in std::iter::once(&first).chain(others) {
            changed |= record.written | record.atomic;
            if order.same_group(record.actor, group) {
                continue;
            }
            read_elsewhere |= record.read;
            if let Some((mask, access)) = record.conflict(touch, own)
                && !order.precedes(record.actor, group)
            {
                let workgroup = Some(order.group_of(record.actor));
                let pc = PackedPc::find(record.pcs, access);
                let other = RaceSide { access, workgroup, wave: None, lane: None, pc, value: None };
                let conflict = Conflict { offset: at(mask), other };
                if !record.is_harmless(touch) {
                    return Err(conflict);
                }
                harmless.get_or_insert(conflict);
            }
        }
        let shared = slot.get(SHARED);
        if touch.kind != AccessKind::Read && shared & touch.mask != 0 && !group.has_synchronised() {
            let other = RaceSide {
                access: AccessKind::Read,
                workgroup: None,
                wave: None,
                lane: None,
                pc: None,
                value: None,
            };
            return Err(Conflict { offset: at(shared & touch.mask), other });
        }

        let mut rest = touch;
        if touch.kind == AccessKind::Read {
            // What somebody wrote stays with its records: a later reader must be compared with the writer.
            let common = read_elsewhere & touch.mask & !changed;
            self.share(slot, order.launch(), touch.block, shared | common);
            rest.mask &= !common;
        } else {
            self.share(slot, order.launch(), touch.block, shared & !touch.mask);
        }
        if rest.mask != 0 {
            let records = list.blocks.entry(touch.block).or_default();
            match records.iter_mut().find(|record| record.actor == group.actor()) {
                Some(record) => record.add(rest),
                None => records.push(Record::new(group.actor(), rest)),
            }
            slot.put(HEADER, slot.get(HEADER) | LISTED);
        }
        Ok(harmless)
    }

    /// Forgets that the workgroup has read bytes by plain loads: an atomic of its own on the same bytes stands for them.
    pub(super) fn forget_reads(&self, order: &Order, group: &Group, offset: u64, len: u64) {
        for (block, mask) in blocks::pieces(offset, len) {
            let _locked = self.page(block / PAGE_BLOCKS).lock();
            let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = Slot(&self.records.as_chunks::<RECORD>().0[index(block)]);
            let first = slot.first(&self.pcs[index(block)]);
            if same_launch(slot.get(HEADER), Slot::header(order.launch(), 0))
                && order.same_group(first.actor, group)
            {
                slot.put(READ, first.read & !mask);
            }
            let listed = if list.launch == order.launch() { list.blocks.get_mut(&block) } else { None };
            for record in listed.into_iter().flatten() {
                if order.same_group(record.actor, group) {
                    record.read &= !mask;
                }
            }
        }
    }

    /// Calls `each` with the block and the masks (read, written or atomic) of every block that `launch` touched.
    pub(super) fn touched(&self, launch: u32, mut each: impl FnMut(u64, u64, u64)) {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = self.records.as_chunks::<RECORD>().0.chunks(index(PAGE_BLOCKS));
        let stretches = (0..).step_by(index(STRETCH)).zip(&self.stretches);
        let touched = stretches
            .filter(|(_, last)| last.load(Ordering::Relaxed) == u64::from(launch))
            .flat_map(|(first, _): (u64, _)| (first..first + STRETCH).zip(pages.clone().skip(index(first))));
        for (page, records) in touched {
            if self.page(page).last().load(Ordering::Relaxed) != u64::from(launch) {
                continue;
            }
            for (block, words) in (page * PAGE_BLOCKS..).zip(records) {
                let slot = Slot(words);
                if !same_launch(slot.get(HEADER), Slot::header(launch, 0)) {
                    continue;
                }
                let (mut read, mut written) = (slot.get(READ), slot.get(WRITTEN));
                if slot.get(HEADER) & LISTED != 0 {
                    for record in list.blocks.get(&block).into_iter().flatten() {
                        read |= record.read;
                        written |= record.written | record.atomic;
                    }
                }
                each(block, read, written);
            }
        }
    }
}
