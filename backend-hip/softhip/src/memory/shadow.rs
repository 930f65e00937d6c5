//! Who touched which byte during the current launch: the race detector between workgroups.
//!
//! Each block of 64 bytes has a record: the launch and the *actor* that touched it first, and masks of the
//! bytes which that actor read, wrote, or accessed atomically. An actor is a workgroup between two of its
//! own synchronisations by atomics ([`Group`]). Records of further actors that touch other bytes of the
//! block go to a list, so attribution is exact to the byte. Bytes that a second workgroup reads move to the
//! mask `multi`: any later write to them by anyone is a race, and thousands of readers cost nothing.
//!
//! A race is two accesses to one byte by different workgroups, at least one a plain write (or one plain and
//! one atomic), with no order between them. Launches do not overlap, so a record of an earlier launch is
//! stale and counts as empty; order between launches is the scheduler's business.
//!
//! Records of one page of 4 KiB are updated under the page's spin lock, once per wave access and page. An
//! access whose bits are all recorded already needs no lock: whatever conflicts with it later sees them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytemuck::allocation::try_zeroed_slice_box;

use super::blocks::BLOCK;
use super::cells::index;
use super::fault::{AccessKind, RaceSide};
use super::group::{Group, Order};

/// Blocks per lock.
const PAGE_BLOCKS: u64 = 64;
/// Words of a record: header, program counters, and the masks read, write, atomic, multi.
const RECORD: usize = 6;
/// Set in the header when the list holds records of this block.
const LISTED: u64 = 1 << 63;

/// The races of one allocation.
#[derive(Debug)]
pub(super) struct Shadow {
    locks: Box<[AtomicU32]>,
    /// The last launch that touched each page.
    pages: Box<[AtomicU32]>,
    words: Box<[AtomicU64]>,
    list: Mutex<List>,
}

/// Records of blocks that several actors share.
#[derive(Debug, Default)]
struct List {
    launch: u32,
    blocks: HashMap<u64, Vec<Record>>,
}

/// What one actor did to one block.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    actor: u32,
    read_pc: u32,
    write_pc: u32,
    read: u64,
    write: u64,
    atomic: u64,
}

/// A race that an access completes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    /// Offset of the first byte in conflict.
    pub(super) offset: u64,
    pub(super) other: RaceSide,
}

/// One access to one block.
#[derive(Debug, Clone, Copy)]
struct Touch {
    kind: AccessKind,
    block: u64,
    mask: u64,
    pc: u32,
}

impl Record {
    fn new(actor: u32, touch: Touch) -> Self {
        let mut record = Self { actor, ..Self::default() };
        record.add(touch);
        record
    }

    fn add(&mut self, touch: Touch) {
        match touch.kind {
            AccessKind::Read => {
                self.read |= touch.mask;
                self.read_pc = touch.pc;
            }
            AccessKind::Write => {
                self.write |= touch.mask;
                self.write_pc = touch.pc;
            }
            AccessKind::Atomic => {
                self.atomic |= touch.mask;
                self.write_pc = touch.pc;
            }
        }
    }

    /// The bytes of `touch` on which this record conflicts with it, and what this record did there.
    fn conflict(&self, touch: Touch) -> Option<(u64, AccessKind, u32)> {
        let (write, atomic, read) = (self.write & touch.mask, self.atomic & touch.mask, self.read & touch.mask);
        let plain = touch.kind != AccessKind::Atomic;
        if write != 0 {
            Some((write, AccessKind::Write, self.write_pc))
        } else if atomic != 0 && plain {
            Some((atomic, AccessKind::Atomic, self.write_pc))
        } else if read != 0 && touch.kind != AccessKind::Read {
            Some((read, AccessKind::Read, self.read_pc))
        } else {
            None
        }
    }
}

/// A page's lock, held.
struct PageLock<'a>(&'a AtomicU32);

impl<'a> PageLock<'a> {
    fn acquire(lock: &'a AtomicU32) -> Self {
        let mut spins = 0u32;
        while lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spins += 1;
            if spins.is_multiple_of(64) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        Self(lock)
    }
}

impl Drop for PageLock<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// The record words of one block.
struct Slot<'a>(&'a [AtomicU64; RECORD]);

impl Slot<'_> {
    fn get(&self, word: usize) -> u64 {
        self.0[word].load(Ordering::Relaxed)
    }

    fn put(&self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Relaxed);
    }

    fn header(launch: u32, actor: u32) -> u64 {
        (u64::from(launch) << 32) | u64::from(actor)
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the fields apart")]
    fn load(&self) -> Record {
        let pcs = self.get(1);
        Record {
            actor: self.get(0) as u32,
            read_pc: pcs as u32,
            write_pc: (pcs >> 32) as u32,
            read: self.get(2),
            write: self.get(3),
            atomic: self.get(4),
        }
    }

    fn save(&self, record: &Record) {
        self.put(1, (u64::from(record.write_pc) << 32) | u64::from(record.read_pc));
        self.put(2, record.read);
        self.put(3, record.write);
        self.put(4, record.atomic);
    }

    /// Is everything about `touch` recorded already, and free of conflict?
    #[inline]
    fn knows(&self, header: u64, launch: u32, actor: u32, touch: Touch) -> bool {
        let mask = touch.mask;
        let mine = header == Self::header(launch, actor);
        match touch.kind {
            AccessKind::Read => {
                (mine && self.get(2) & mask == mask)
                    || (header >> 32 == u64::from(launch)
                        && self.get(5) & mask == mask
                        && (self.get(3) | self.get(4)) & mask == 0)
            }
            AccessKind::Write => mine && self.get(3) & mask == mask && self.get(5) & mask == 0,
            AccessKind::Atomic => mine && self.get(4) & mask == mask && self.get(5) & mask == 0,
        }
    }
}

impl Shadow {
    pub(super) fn empty() -> Self {
        Self { locks: Box::default(), pages: Box::default(), words: Box::default(), list: Mutex::default() }
    }

    /// For `len` bytes. The records cost memory only once they are used.
    pub(super) fn new(len: u64) -> Option<Self> {
        let blocks = usize::try_from(len.div_ceil(BLOCK)).ok()?;
        let pages = blocks.div_ceil(index(PAGE_BLOCKS));
        Some(Self {
            locks: try_zeroed_slice_box(pages).ok()?,
            pages: try_zeroed_slice_box(pages).ok()?,
            words: try_zeroed_slice_box(blocks.checked_mul(RECORD)?).ok()?,
            list: Mutex::default(),
        })
    }

    #[inline]
    fn slot(&self, block: u64) -> Slot<'_> {
        let records = self.words.as_chunks::<RECORD>().0;
        Slot(&records[index(block)])
    }

    /// Records that `group` touches the bytes `(block, mask)`, or answers the first conflict. Blocks of one page
    /// should be neighbours.
    #[inline]
    pub(super) fn record(
        &self,
        order: &Order,
        group: &mut Group,
        kind: AccessKind,
        pc: u32,
        blocks: impl Iterator<Item = (u64, u64)>,
    ) -> Result<(), Conflict> {
        let mut held: Option<(u64, PageLock<'_>)> = None;
        for (block, mask) in blocks {
            let touch = Touch { kind, block, mask, pc };
            let slot = self.slot(touch.block);
            let header = slot.get(0);
            if slot.knows(header, order.launch(), group.actor(), touch) {
                continue;
            }
            let page = touch.block / PAGE_BLOCKS;
            if held.as_ref().is_none_or(|(locked, _)| *locked != page) {
                drop(held.take());
                held = Some((page, PageLock::acquire(&self.locks[index(page)])));
                self.pages[index(page)].store(order.launch(), Ordering::Relaxed);
            }
            group.note_plain(touch.kind);
            self.record_locked(order, group, &slot, touch)?;
        }
        Ok(())
    }

    fn record_locked(&self, order: &Order, group: &Group, slot: &Slot<'_>, touch: Touch) -> Result<(), Conflict> {
        let header = slot.get(0);
        let mine = Slot::header(order.launch(), group.actor());
        if (header & !LISTED) >> 32 != u64::from(order.launch()) {
            slot.save(&Record::new(group.actor(), touch));
            slot.put(5, 0);
            slot.put(0, mine);
            return Ok(());
        }
        let mut owner = slot.load();
        if header == mine && slot.get(5) & touch.mask == 0 {
            owner.add(touch);
            slot.save(&owner);
            return Ok(());
        }
        self.record_shared(order, group, slot, touch, &mut owner)
    }

    /// The block has been touched by more than one actor in this launch, or is about to be.
    #[cold]
    fn record_shared(
        &self,
        order: &Order,
        group: &Group,
        slot: &Slot<'_>,
        touch: Touch,
        owner: &mut Record,
    ) -> Result<(), Conflict> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.launch != order.launch() {
            list.launch = order.launch();
            list.blocks.clear();
        }
        let others = list.blocks.get(&touch.block).map_or(&[][..], Vec::as_slice);
        let at = |mask: u64| touch.block * BLOCK + u64::from(mask.trailing_zeros());
        let mut read_elsewhere = 0;
        for record in std::iter::once(&*owner).chain(others) {
            if order.same_group(record.actor, group) {
                continue;
            }
            read_elsewhere |= record.read;
            if let Some((mask, access, pc)) = record.conflict(touch)
                && !order.precedes(record.actor, group)
            {
                let workgroup = Some(order.group_of(record.actor));
                return Err(Conflict { offset: at(mask), other: RaceSide { access, workgroup, pc: Some(pc) } });
            }
        }
        let multi = slot.get(5);
        if touch.kind != AccessKind::Read && multi & touch.mask != 0 && !group.has_synchronised() {
            let other = RaceSide { access: AccessKind::Read, workgroup: None, pc: None };
            return Err(Conflict { offset: at(multi & touch.mask), other });
        }

        let mut rest = touch;
        if touch.kind == AccessKind::Read {
            slot.put(5, multi | (read_elsewhere & touch.mask));
            rest.mask &= !read_elsewhere;
        }
        if owner.actor == group.actor() {
            owner.add(rest);
            slot.save(owner);
        } else if rest.mask != 0 {
            let records = list.blocks.entry(touch.block).or_default();
            match records.iter_mut().find(|record| record.actor == group.actor()) {
                Some(record) => record.add(rest),
                None => records.push(Record::new(group.actor(), rest)),
            }
            slot.put(0, slot.get(0) | LISTED);
        }
        Ok(())
    }

    /// Calls `each` with the block and the masks (read, written or atomic) of every block that `launch` touched.
    pub(super) fn touched(&self, launch: u32, mut each: impl FnMut(u64, u64, u64)) {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = self.words.as_chunks::<RECORD>().0.chunks(index(PAGE_BLOCKS));
        for ((page, touched), records) in (0u64..).zip(&self.pages).zip(pages) {
            if touched.load(Ordering::Relaxed) == launch {
                Self::touched_page(launch, page * PAGE_BLOCKS, records, &list, &mut each);
            }
        }
    }

    fn touched_page(
        launch: u32,
        first: u64,
        records: &[[AtomicU64; RECORD]],
        list: &List,
        each: &mut impl FnMut(u64, u64, u64),
    ) {
        for (block, words) in (first..).zip(records) {
            let slot = Slot(words);
            let header = slot.get(0);
            if (header & !LISTED) >> 32 != u64::from(launch) {
                continue;
            }
            let owner = slot.load();
            let mut masks = (owner.read, owner.write | owner.atomic);
            if header & LISTED != 0 {
                for record in list.blocks.get(&block).into_iter().flatten() {
                    masks.0 |= record.read;
                    masks.1 |= record.write | record.atomic;
                }
            }
            each(block, masks.0, masks.1);
        }
    }
}
