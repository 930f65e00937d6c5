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

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytemuck::allocation::try_zeroed_slice_box;

use super::blocks::BLOCK;
use super::cells::index;
use super::fault::{AccessKind, RaceSide};
use super::group::{Group, Order};

/// Blocks per lock.
const PAGE_BLOCKS: u64 = 64;
/// Words of a block's record: header (launch, actor) and the masks read, written, shared.
const RECORD: usize = 4;
const HEADER: usize = 0;
const READ: usize = 1;
const WRITTEN: usize = 2;
const SHARED: usize = 3;
/// Set in the header when the list holds records of this block.
const LISTED: u64 = 1 << 63;

/// The races of one allocation.
#[derive(Debug)]
pub(super) struct Shadow {
    locks: Box<[AtomicU32]>,
    /// The last launch that touched each page.
    pages: Box<[AtomicU32]>,
    records: Box<[AtomicU64]>,
    /// Per block, where its first actor last read and wrote it, see [`PackedPc`].
    pcs: Box<[AtomicU32]>,
    list: Mutex<List>,
}

/// Records of blocks that several actors share, or that atomics access.
#[derive(Debug, Default)]
struct List {
    launch: u32,
    blocks: HashMap<u64, Vec<Record>, BuildHasherDefault<BlockHasher>>,
}

/// Spreads block numbers by a multiplication: they are no enemy's choice, and lookups are frequent.
#[derive(Debug, Default)]
struct BlockHasher(u64);

impl Hasher for BlockHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

/// What one actor did to one block.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    actor: u32,
    /// Packed places of the last read and the last write or atomic.
    pcs: u32,
    read: u64,
    written: u64,
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
    pc: PackedPc,
}

/// The place of an access in a pair of places: dwords of code in 16 bits, reads below, writes and atomics above.
#[derive(Debug, Clone, Copy)]
struct PackedPc {
    bits: u32,
    /// The half that belongs to the other kind of access.
    keep: u32,
}

impl PackedPc {
    fn new(kind: AccessKind, pc: u32) -> Self {
        let dword = (pc / 4).min(0xFFFF);
        match kind {
            AccessKind::Read => Self { bits: dword, keep: 0xFFFF_0000 },
            AccessKind::Write | AccessKind::Atomic => Self { bits: dword << 16, keep: 0xFFFF },
        }
    }

    /// `pair` with this place.
    #[inline]
    fn put_into(self, pair: u32) -> u32 {
        (pair & self.keep) | self.bits
    }

    /// The place of the last access of a kind; code beyond 256 KiB is not told apart.
    fn find(pair: u32, kind: AccessKind) -> Option<u32> {
        let dword = if kind == AccessKind::Read { pair & 0xFFFF } else { pair >> 16 };
        (dword != 0xFFFF).then_some(4 * dword)
    }
}

impl Record {
    fn new(actor: u32, touch: Touch) -> Self {
        let mut record = Self { actor, ..Self::default() };
        record.add(touch);
        record
    }

    fn add(&mut self, touch: Touch) {
        let mask = match touch.kind {
            AccessKind::Read => &mut self.read,
            AccessKind::Write => &mut self.written,
            AccessKind::Atomic => &mut self.atomic,
        };
        *mask |= touch.mask;
        self.pcs = touch.pc.put_into(self.pcs);
    }

    /// The bytes of `touch` on which this record conflicts with it, and what this record did there.
    fn conflict(&self, touch: Touch) -> Option<(u64, AccessKind)> {
        let [written, atomic, read] = [self.written, self.atomic, self.read].map(|mask| mask & touch.mask);
        if written != 0 {
            Some((written, AccessKind::Write))
        } else if atomic != 0 && touch.kind != AccessKind::Atomic {
            Some((atomic, AccessKind::Atomic))
        } else if read != 0 && touch.kind != AccessKind::Read {
            Some((read, AccessKind::Read))
        } else {
            None
        }
    }
}

/// A page's lock, held.
struct PageLock<'a>(&'a AtomicU32);

impl<'a> PageLock<'a> {
    #[inline]
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
    #[inline]
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// The record words of one block.
#[derive(Clone, Copy)]
struct Slot<'a>(&'a [AtomicU64; RECORD]);

impl Slot<'_> {
    #[inline]
    fn get(self, word: usize) -> u64 {
        self.0[word].load(Ordering::Relaxed)
    }

    #[inline]
    fn put(self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Relaxed);
    }

    #[inline]
    fn header(launch: u32, actor: u32) -> u64 {
        (u64::from(launch) << 32) | u64::from(actor)
    }

    fn launch(self) -> u64 {
        (self.get(HEADER) & !LISTED) >> 32
    }

    /// Empties a record of an earlier launch.
    #[inline]
    fn restart(self, header: u64) {
        self.put(READ, 0);
        self.put(WRITTEN, 0);
        self.put(SHARED, 0);
        self.put(HEADER, header);
    }

    /// The first actor's record.
    #[expect(clippy::cast_possible_truncation, reason = "takes the low half of the header")]
    fn first(self, pcs: &AtomicU32) -> Record {
        Record {
            actor: self.get(HEADER) as u32,
            pcs: pcs.load(Ordering::Relaxed),
            read: self.get(READ),
            written: self.get(WRITTEN),
            atomic: 0,
        }
    }
}

/// Records the blocks that one access touches.
pub(super) struct Recorder<'a> {
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
    /// The page whose lock is held; `u64::MAX` at first.
    page: u64,
    lock: Option<PageLock<'a>>,
    conflict: Option<Conflict>,
}

impl<'a> Recorder<'a> {
    #[inline]
    fn new(shadow: &'a Shadow, order: &'a Order, group: &'a mut Group, kind: AccessKind, pc: u32) -> Self {
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
        }
    }

    /// Records that the bytes `mask` of `block` are touched. After a conflict nothing more is recorded.
    #[inline]
    pub(super) fn touch(&mut self, block: u64, mask: u64) {
        let slot = Slot(&self.records[index(block)]);
        // Is everything about the access recorded already: by this actor, or as bytes that many read?
        let header = slot.get(HEADER);
        let reads = self.kind == AccessKind::Read;
        if header == self.mine && slot.get(self.own) & mask == mask {
            if reads || (self.kind == AccessKind::Write && slot.get(SHARED) & mask == 0) {
                return;
            }
        } else if reads && (header ^ self.mine) & !LISTED <= u64::from(u32::MAX) && slot.get(SHARED) & mask == mask {
            return;
        }
        self.touch_anew(slot, block, mask);
    }

    #[inline]
    fn touch_anew(&mut self, slot: Slot<'_>, block: u64, mask: u64) {
        if block / PAGE_BLOCKS != self.page {
            self.enter(block / PAGE_BLOCKS);
        }
        let header = slot.get(HEADER);
        if self.kind != AccessKind::Atomic {
            let pcs = &self.shadow.pcs[index(block)];
            if (header ^ self.mine) & !LISTED > u64::from(u32::MAX) {
                slot.restart(self.mine);
                slot.put(self.own, mask);
                pcs.store(self.pc.put_into(u32::MAX), Ordering::Relaxed);
                return;
            }
            if header == self.mine && slot.get(SHARED) & mask == 0 {
                slot.put(self.own, slot.get(self.own) | mask);
                pcs.store(self.pc.put_into(pcs.load(Ordering::Relaxed)), Ordering::Relaxed);
                return;
            }
        }
        self.touch_shared(slot, Touch { kind: self.kind, block, mask, pc: self.pc });
    }

    /// Takes the lock of a page, and gives back that of the page before.
    #[inline(never)]
    fn enter(&mut self, page: u64) {
        self.lock = None;
        self.lock = Some(PageLock::acquire(&self.shadow.locks[index(page)]));
        self.page = page;
        self.shadow.pages[index(page)].store(self.order.launch(), Ordering::Relaxed);
        self.group.note_plain(self.kind);
    }

    #[cold]
    fn touch_shared(&mut self, slot: Slot<'_>, touch: Touch) {
        if self.conflict.is_none() {
            self.conflict = self.shadow.record_shared(self.order, self.group, slot, touch).err();
        }
    }

    /// The first conflict of all that was touched.
    #[inline]
    pub(super) fn finish(self) -> Result<(), Conflict> {
        self.conflict.map_or(Ok(()), Err)
    }
}

impl Shadow {
    pub(super) fn empty() -> Self {
        Self {
            locks: Box::default(),
            pages: Box::default(),
            records: Box::default(),
            pcs: Box::default(),
            list: Mutex::default(),
        }
    }

    /// For `len` bytes. The records cost memory only once they are used.
    pub(super) fn new(len: u64) -> Option<Self> {
        let blocks = usize::try_from(len.div_ceil(BLOCK)).ok()?;
        let pages = blocks.div_ceil(index(PAGE_BLOCKS));
        Some(Self {
            locks: try_zeroed_slice_box(pages).ok()?,
            pages: try_zeroed_slice_box(pages).ok()?,
            records: try_zeroed_slice_box(blocks.checked_mul(RECORD)?).ok()?,
            pcs: try_zeroed_slice_box(blocks).ok()?,
            list: Mutex::default(),
        })
    }

    /// Records accesses of `group`, block by block. Blocks of one page should be neighbours.
    #[inline]
    pub(super) fn recorder<'a>(
        &'a self,
        order: &'a Order,
        group: &'a mut Group,
        kind: AccessKind,
        pc: u32,
    ) -> Recorder<'a> {
        Recorder::new(self, order, group, kind, pc)
    }

    /// The block has been touched by more than one actor in this launch, or is about to be, or has atomics.
    #[cold]
    fn record_shared(&self, order: &Order, group: &Group, slot: Slot<'_>, touch: Touch) -> Result<(), Conflict> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.launch != order.launch() {
            list.launch = order.launch();
            list.blocks.clear();
        }
        let pcs = &self.pcs[index(touch.block)];
        if slot.launch() != u64::from(order.launch()) {
            slot.restart(Slot::header(order.launch(), group.actor()));
            pcs.store(u32::MAX, Ordering::Relaxed);
        }
        let first = slot.first(pcs);
        let others = list.blocks.get(&touch.block).map_or(&[][..], Vec::as_slice);
        let at = |mask: u64| touch.block * BLOCK + u64::from(mask.trailing_zeros());
        let (mut read_elsewhere, mut changed) = (0, 0);
        for record in std::iter::once(&first).chain(others) {
            changed |= record.written | record.atomic;
            if order.same_group(record.actor, group) {
                continue;
            }
            read_elsewhere |= record.read;
            if let Some((mask, access)) = record.conflict(touch)
                && !order.precedes(record.actor, group)
            {
                let workgroup = Some(order.group_of(record.actor));
                let other = RaceSide { access, workgroup, pc: PackedPc::find(record.pcs, access) };
                return Err(Conflict { offset: at(mask), other });
            }
        }
        let shared = slot.get(SHARED);
        if touch.kind != AccessKind::Read && shared & touch.mask != 0 && !group.has_synchronised() {
            let other = RaceSide { access: AccessKind::Read, workgroup: None, pc: None };
            return Err(Conflict { offset: at(shared & touch.mask), other });
        }

        let mut rest = touch;
        if touch.kind == AccessKind::Read {
            // What somebody wrote stays with its records: a later reader must be compared with the writer.
            let common = read_elsewhere & touch.mask & !changed;
            slot.put(SHARED, shared | common);
            rest.mask &= !common;
        } else {
            slot.put(SHARED, shared & !touch.mask);
        }
        if rest.mask != 0 {
            let records = list.blocks.entry(touch.block).or_default();
            match records.iter_mut().find(|record| record.actor == group.actor()) {
                Some(record) => record.add(rest),
                None => records.push(Record::new(group.actor(), rest)),
            }
            slot.put(HEADER, slot.get(HEADER) | LISTED);
        }
        Ok(())
    }

    /// Calls `each` with the block and the masks (read, written or atomic) of every block that `launch` touched.
    pub(super) fn touched(&self, launch: u32, mut each: impl FnMut(u64, u64, u64)) {
        let list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = self.records.as_chunks::<RECORD>().0.chunks(index(PAGE_BLOCKS));
        for ((page, last), records) in (0u64..).zip(&self.pages).zip(pages) {
            if last.load(Ordering::Relaxed) != launch {
                continue;
            }
            for (block, words) in (page * PAGE_BLOCKS..).zip(records) {
                let slot = Slot(words);
                if slot.launch() != u64::from(launch) {
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
