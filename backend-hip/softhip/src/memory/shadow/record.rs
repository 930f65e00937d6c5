//! What one actor did to one block, and where the records are kept.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::memory::fault::AccessKind;

/// Words of a block's record: header (launch, actor) and the masks read, written, shared.
pub(super) const RECORD: usize = 4;
pub(super) const HEADER: usize = 0;
pub(super) const READ: usize = 1;
pub(super) const WRITTEN: usize = 2;
pub(super) const SHARED: usize = 3;
/// Set in the header when the list holds records of this block.
pub(super) const LISTED: u64 = 1 << 63;

/// Records of blocks that several actors share, or that atomics access.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) launch: u32,
    pub(super) blocks: HashMap<u64, Vec<Record>, BuildHasherDefault<BlockHasher>>,
}

/// Spreads block numbers by a multiplication: they are no enemy's choice, and lookups are frequent.
#[derive(Debug, Default)]
pub(in crate::memory) struct BlockHasher(u64);

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
pub(super) struct Record {
    pub(super) actor: u32,
    /// Packed places of the last read and the last write or atomic.
    pub(super) pcs: u32,
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) atomic: u64,
}

/// One access to one block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Touch {
    pub(super) kind: AccessKind,
    pub(super) block: u64,
    pub(super) mask: u64,
    pub(super) pc: PackedPc,
    /// Races that cannot change a result are noted: the access writes what is there already, or it may be the first load
    /// of a loop of compare-and-swaps.
    pub(super) tolerant: bool,
}

/// The place of an access in a pair of places: dwords of code in 16 bits, reads below, writes and atomics above.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedPc {
    pub(super) bits: u32,
    /// The half that belongs to the other kind of access.
    pub(super) keep: u32,
}

impl PackedPc {
    pub(super) fn new(kind: AccessKind, pc: u32) -> Self {
        let dword = (pc / 4).min(0xFFFF);
        match kind {
            AccessKind::Read => Self { bits: dword, keep: 0xFFFF_0000 },
            AccessKind::Write | AccessKind::Atomic => Self { bits: dword << 16, keep: 0xFFFF },
        }
    }

    /// `pair` with this place.
    #[inline]
    pub(super) fn put_into(self, pair: u32) -> u32 {
        (pair & self.keep) | self.bits
    }

    /// The place of the last access of a kind; code beyond 256 KiB is not distinguished.
    pub(super) fn find(pair: u32, kind: AccessKind) -> Option<u32> {
        let dword = if kind == AccessKind::Read { pair & 0xFFFF } else { pair >> 16 };
        (dword != 0xFFFF).then_some(4 * dword)
    }
}

impl Record {
    pub(super) fn new(actor: u32, touch: Touch) -> Self {
        let mut record = Self { actor, ..Self::default() };
        record.add(touch);
        record
    }

    pub(super) fn add(&mut self, touch: Touch) {
        let mask = match touch.kind {
            AccessKind::Read => &mut self.read,
            AccessKind::Write => &mut self.written,
            AccessKind::Atomic => &mut self.atomic,
        };
        *mask |= touch.mask;
        self.pcs = touch.pc.put_into(self.pcs);
    }

    /// The bytes of `touch` on which this record conflicts with it, and what this record did there. `own` are the bytes
    /// that the other side has written itself: to read them gives the common value, or there was a fault before.
    pub(super) fn conflict(&self, touch: Touch, own: u64) -> Option<(u64, AccessKind)> {
        let [mut written, atomic, read] =
            [self.written, self.atomic, self.read].map(|mask| mask & touch.mask);
        if touch.kind == AccessKind::Read {
            written &= !own;
        }
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

impl Record {
    /// Whether a conflict with a tolerant access cannot change a result.
    pub(super) fn is_harmless(&self, touch: Touch) -> bool {
        let [written, atomic, read] = [self.written, self.atomic, self.read].map(|mask| mask & touch.mask);
        match touch.kind {
            // Both write the same, and nobody else looks.
            AccessKind::Write => touch.tolerant && atomic == 0 && read & !written == 0,
            // If a compare-and-swap follows, what is read does not matter.
            AccessKind::Read => touch.tolerant && written == 0,
            AccessKind::Atomic => false,
        }
    }
}

/// Are two headers of one launch?
#[inline]
pub(super) fn same_launch(a: u64, b: u64) -> bool {
    ((a ^ b) & !LISTED) >> 32 == 0
}

/// The record words of one block.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a>(pub(super) &'a [AtomicU64; RECORD]);

impl Slot<'_> {
    #[inline]
    pub(super) fn get(self, word: usize) -> u64 {
        self.0[word].load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn put(self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn header(launch: u32, actor: u32) -> u64 {
        (u64::from(launch) << 32) | u64::from(actor)
    }

    /// Empties a record of an earlier launch.
    #[inline]
    pub(super) fn restart(self, header: u64) {
        self.put(READ, 0);
        self.put(WRITTEN, 0);
        self.put(SHARED, 0);
        self.put(HEADER, header);
    }

    /// The first actor's record.
    #[expect(clippy::cast_possible_truncation, reason = "takes the low half of the header")]
    pub(super) fn first(self, pcs: &AtomicU32) -> Record {
        Record {
            actor: self.get(HEADER) as u32,
            pcs: pcs.load(Ordering::Relaxed),
            read: self.get(READ),
            written: self.get(WRITTEN),
            atomic: 0,
        }
    }
}
