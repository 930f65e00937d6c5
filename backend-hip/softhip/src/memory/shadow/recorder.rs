//! Recording the accesses of one wave instruction.

#![expect(
    clippy::inline_always,
    reason = "most blocks are recorded already, which is told by two comparisons"
)]

use std::sync::atomic::{AtomicU64, Ordering};

use super::page::PageLock;
use super::record::{HEADER, PackedPc, READ, RECORD, SHARED, Slot, Touch, WRITTEN, same_launch};
use super::{Conflict, PAGE_BLOCKS, Shadow};
use crate::memory::allocation::Allocation;
use crate::memory::cells::index;
use crate::memory::fault::AccessKind;
use crate::memory::group::{Group, Order};

/// Records the blocks that one access touches.
pub(in crate::memory) struct Recorder<'a> {
    shadow: &'a Shadow,
    records: &'a [[AtomicU64; RECORD]],
    order: &'a Order,
    group: &'a mut Group,
    kind: AccessKind,
    pc: PackedPc,
    /// Header of a block that this actor alone has touched.
    mine: u64,
    /// The mask of such a block that the access adds to.
    own: usize,
    /// The page whose lock is held, if there are others to keep off; `u64::MAX` at first.
    page: u64,
    lock: Option<PageLock<'a>>,
    conflict: Option<Box<Conflict>>,
    /// See [`Touch::tolerant`].
    tolerant: bool,
    /// Plain accesses of the only thread, of which nothing is kept.
    alone: bool,
    /// A race that cannot change a result.
    harmless: Option<Box<Conflict>>,
    /// Keeps what written blocks hold.
    keeper: Option<&'a Allocation>,
}

impl<'a> Recorder<'a> {
    #[inline]
    pub(super) fn new(
        shadow: &'a Shadow,
        order: &'a Order,
        group: &'a mut Group,
        kind: AccessKind,
        pc: u32,
        keeper: Option<&'a Allocation>,
    ) -> Self {
        let mine = Slot::header(order.launch(), group.actor());
        Self {
            shadow,
            records: shadow.records.as_chunks::<RECORD>().0,
            order,
            group,
            kind,
            pc: PackedPc::new(kind, pc),
            mine,
            own: if kind == AccessKind::Read { READ } else { WRITTEN },
            page: u64::MAX,
            lock: None,
            conflict: None,
            tolerant: false,
            alone: order.is_alone() && kind != AccessKind::Atomic && keeper.is_none(),
            harmless: None,
            keeper,
        }
    }

    /// Records that the bytes `mask` of `block` are touched. After a conflict nothing more is recorded.
    #[inline(always)]
    pub(in crate::memory) fn touch(&mut self, block: u64, mask: u64) {
        let slot = Slot(&self.records[index(block)]);
        // Is everything about the access recorded already: by this actor, or as bytes that many read?
        let header = slot.get(HEADER);
        let reads = self.kind == AccessKind::Read;
        let known = slot.get(self.own);
        if header == self.mine && known & mask == mask {
            if reads || (self.kind == AccessKind::Write && slot.get(SHARED) & mask == 0) {
                return;
            }
        } else if header == self.mine && self.alone && slot.get(SHARED) & mask == 0 {
            // The actor has entered the page before, and nobody else changes the record meanwhile.
            slot.put(self.own, known | mask);
            self.put_pc(block);
            return;
        } else if reads && same_launch(header, self.mine) && slot.get(SHARED) & mask == mask {
            return;
        }
        self.touch_anew(slot, block, mask);
    }

    #[inline]
    fn put_pc(&self, block: u64) {
        let pcs = &self.shadow.pcs[index(block)];
        pcs.store(self.pc.put_into(pcs.load(Ordering::Relaxed)), Ordering::Relaxed);
    }

    fn touch_anew(&mut self, slot: Slot<'_>, block: u64, mask: u64) {
        if block / PAGE_BLOCKS != self.page {
            self.enter(block / PAGE_BLOCKS);
        }
        if let Some(allocation) = self.keeper {
            allocation.undo.keep(self.order.launch(), block, allocation.contents());
        }
        let header = slot.get(HEADER);
        if self.kind != AccessKind::Atomic {
            let pcs = &self.shadow.pcs[index(block)];
            if !same_launch(header, self.mine) {
                slot.restart(self.mine);
                slot.put(self.own, mask);
                pcs.store(self.pc.put_into(u32::MAX), Ordering::Relaxed);
                return;
            }
            if header == self.mine && slot.get(SHARED) & mask == 0 {
                slot.put(self.own, slot.get(self.own) | mask);
                self.put_pc(block);
                return;
            }
        }
        self.touch_shared(slot, Touch { kind: self.kind, block, mask, pc: self.pc, tolerant: self.tolerant });
    }

    /// Takes the lock of a page, and gives back that of the page before.
    #[inline(never)]
    fn enter(&mut self, page: u64) {
        self.lock = None;
        let words = self.shadow.page(page);
        self.lock = (!self.order.is_alone()).then(|| words.lock());
        self.page = page;
        self.shadow.touch(page, self.order.launch());
        self.group.note_plain(self.kind);
    }

    #[cold]
    fn touch_shared(&mut self, slot: Slot<'_>, touch: Touch) {
        if self.conflict.is_none() {
            match self.shadow.record_shared(self.order, self.group, slot, touch) {
                Ok(None) => {}
                Ok(Some(conflict)) => {
                    self.harmless.get_or_insert_with(|| Box::new(conflict));
                }
                Err(conflict) => self.conflict = Some(Box::new(conflict)),
            }
        }
    }

    /// From now on, races that cannot change a result are no conflicts.
    pub(in crate::memory) fn tolerate(mut self) -> Self {
        self.tolerant = true;
        self
    }

    /// As [`finish`](Self::finish); otherwise, the first race that cannot change a result.
    pub(in crate::memory) fn finish_tolerant(self) -> Result<Option<Conflict>, Conflict> {
        match self.conflict {
            Some(conflict) => Err(*conflict),
            None => Ok(self.harmless.map(|conflict| *conflict)),
        }
    }

    /// The first conflict of all that was touched.
    #[inline]
    pub(in crate::memory) fn finish(self) -> Result<(), Conflict> {
        self.conflict.map_or(Ok(()), |conflict| Err(*conflict))
    }
}
