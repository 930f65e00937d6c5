//! The device's address space: which allocation an address belongs to.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;

use super::allocation::Allocation;
use super::cells::index;
use super::fault::AllocationKind;
use super::mapped::Reservation;
use super::site::Site;

/// Bits of an address below its slot number: a slot is 4 GiB.
const SLOT_BITS: u32 = 32;
/// Bytes in a slot. A larger allocation has several, one after the other.
const SLOT_BYTES: u64 = 1 << SLOT_BITS;
/// Device addresses begin here (16 TiB), above where hosts place programs and small heaps, ...
const FIRST_SLOT: u64 = 0x1000;
/// ... and end here (64 TiB), below where 64-bit hosts place heaps and stacks. So an address tells
/// which side it belongs to.
const LAST_SLOT: u64 = 0x4000;
/// The last slot given away and the one behind it, where an allocation that lies across their border ends.
const SLOTS: usize = index(LAST_SLOT - FIRST_SLOT + 1);

/// A table from address to allocation, as it was at one moment. Launches hold the table of their start.
#[derive(Debug, Clone)]
pub(super) struct Space {
    slots: Vec<Option<Arc<Allocation>>>,
    /// Host and mapped memory by base address, live or freed, no two with a byte in common; it lives outside of the slots.
    pinned: BTreeMap<u64, Arc<Allocation>>,
    /// What has bytes, of slots and of pinned memory, by base address: few among many that were freed.
    live: BTreeMap<u64, Arc<Allocation>>,
    /// Bases of live arguments that took the place of freed ones. They come and go with every launch, and are not in `live`.
    revived: Vec<u64>,
    /// Addresses that are kept for memory to come, by the first.
    pub(super) reserved: BTreeMap<u64, Reservation>,
}

impl Space {
    pub(super) fn new() -> Self {
        Self {
            slots: vec![None; SLOTS],
            pinned: BTreeMap::new(),
            live: BTreeMap::new(),
            revived: Vec::new(),
            reserved: BTreeMap::new(),
        }
    }

    /// The allocation, live or freed, whose slot `address` is in.
    #[inline]
    pub(super) fn slot_of(&self, address: u64) -> Option<&Arc<Allocation>> {
        let slot = (address >> SLOT_BITS).wrapping_sub(FIRST_SLOT);
        self.slots.get(index(slot))?.as_ref()
    }

    /// The live allocation that holds all of `address..address + len`, and the offset in it.
    #[inline]
    pub(super) fn resolve(&self, address: u64, len: u64) -> Option<(&Arc<Allocation>, u64)> {
        if let Some(allocation) = self.slot_of(address) {
            // An address before the allocation, in its first slot, is beyond every limit.
            let offset = address.wrapping_sub(allocation.base);
            return fits(offset, len, allocation.limit).then_some((allocation, offset));
        }
        let (base, allocation) = self.pinned.range(..=address).next_back()?;
        let offset = address - base;
        fits(offset, len, allocation.limit).then_some((allocation, offset))
    }

    /// The allocation, live or freed, nearest to `address`, if one is within a slot's length.
    pub(super) fn nearest(&self, address: u64) -> Option<&Arc<Allocation>> {
        // No other allocation has the byte.
        if let Some(allocation) = self.slot_of(address).filter(|allocation| allocation.distance(address) == 0)
        {
            return Some(allocation);
        }
        let around = [address.checked_sub(SLOT_BYTES), Some(address), address.checked_add(SLOT_BYTES)];
        let slots = around.into_iter().flatten().filter_map(|a| self.slot_of(a));
        let below = self.pinned.range(..=address).next_back();
        let above = self.pinned.range(address..).next();
        let pinned = below.into_iter().chain(above).map(|(_, allocation)| allocation);
        slots
            .chain(pinned)
            .filter(|allocation| allocation.distance(address) < SLOT_BYTES)
            .min_by_key(|allocation| (allocation.distance(address), allocation.is_freed()))
    }

    pub(super) fn insert(&mut self, allocation: Arc<Allocation>) {
        if allocation.is_freed() {
            self.live.remove(&allocation.base);
        } else {
            self.live.insert(allocation.base, Arc::clone(&allocation));
        }
        let slot = (allocation.base >> SLOT_BITS).wrapping_sub(FIRST_SLOT);
        let slots = index(slot)..index(slot.saturating_add(allocation.slots()));
        if let Some(entries) = self.slots.get_mut(slots) {
            entries.fill(Some(allocation));
        } else {
            // The host may have given the bytes of freed allocations to this one. Of those that begin before its end, the last overlap it.
            let end = allocation.base + allocation.size;
            while let Some((&base, old)) = self.pinned.range(..end).next_back()
                && base + old.size > allocation.base
            {
                self.pinned.remove(&base);
            }
            self.pinned.insert(allocation.base, allocation);
        }
    }

    /// Puts arguments where freed ones of the same size were. `false`: there were none.
    pub(super) fn revive(&mut self, base: u64, site: &mut Option<Site>, data: &[u8]) -> bool {
        let slot = (base >> SLOT_BITS).wrapping_sub(FIRST_SLOT);
        let Some(Some(entry)) = self.slots.get_mut(index(slot)) else { return false };
        let Some(allocation) = Arc::get_mut(entry) else { return false };
        let revived = allocation.revive(site, data);
        if revived {
            self.revived.push(base);
        }
        revived
    }

    /// Frees revived arguments that nobody else holds, and answers their size. `None`: there are none at `base`.
    pub(super) fn bury_revived(&mut self, base: u64, site: &mut Option<Site>) -> Option<u64> {
        let at = self.revived.iter().position(|&revived| revived == base)?;
        let slot = (base >> SLOT_BITS).wrapping_sub(FIRST_SLOT);
        let allocation = Arc::get_mut(self.slots.get_mut(index(slot))?.as_mut()?)?;
        allocation.bury(site.take());
        self.revived.swap_remove(at);
        Some(allocation.size)
    }

    /// Replaces an allocation by its tombstone.
    pub(super) fn free(&mut self, allocation: Arc<Allocation>, site: Option<Site>) {
        let base = allocation.base;
        self.live.remove(&base);
        self.revived.retain(|&revived| revived != base);
        let slot = (base >> SLOT_BITS).wrapping_sub(FIRST_SLOT);
        let is_small = allocation.slots() == 1;
        // A small one stands only in its slot. Most launches free their arguments so, once no launch looks at them any more.
        if is_small && let Some(Some(entry)) = self.slots.get_mut(index(slot)) {
            drop(allocation);
            match Arc::get_mut(entry) {
                Some(allocation) => allocation.bury(site),
                None => *entry = Arc::new(entry.tombstone(site)),
            }
        } else {
            self.insert(Arc::new(allocation.tombstone(site)));
        }
    }

    /// Removes memory outside of the slots, as if it had never been.
    pub(super) fn remove(&mut self, base: u64) {
        self.live.remove(&base);
        self.pinned.remove(&base);
    }

    /// The reserved addresses of which `address` is one.
    pub(super) fn reservation(&self, address: u64) -> Option<&Reservation> {
        let (base, found) = self.reserved.range(..=address).next_back()?;
        (address - base < found.info.size).then_some(found)
    }

    /// Is there no allocation, live or freed, in `start..end`? Freed pinned memory is no obstacle.
    pub(super) fn is_vacant(&self, start: u64, end: u64) -> bool {
        let slot = |address: u64| (address >> SLOT_BITS).wrapping_sub(FIRST_SLOT);
        let first = slot(start);
        if first < SLOTS as u64 {
            let last = slot(end - 1);
            return start.is_multiple_of(ALIGNMENT)
                && (first..=last).all(|slot| self.slots.get(index(slot)).is_some_and(Option::is_none));
        }
        let meets_slots = start >> SLOT_BITS < FIRST_SLOT && (end - 1) >> SLOT_BITS >= FIRST_SLOT;
        let before = self.live.range(..end).next_back();
        !meets_slots && before.is_none_or(|(base, allocation)| base + allocation.size <= start)
    }

    /// All allocations that have bytes, by address but for arguments.
    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.live.values().chain(self.revived.iter().filter_map(|&base| self.slot_of(base)))
    }
}

/// Are the bytes `offset..offset + len` below `limit`?
#[inline]
const fn fits(offset: u64, len: u64, limit: u64) -> bool {
    len <= limit && offset <= limit - len
}

/// Allocates slots in an order permuted by a seed; freed slots are quarantined until every fresh one is used.
///
/// Only every second slot is used: an overrun of either end, by up to 4 GiB, meets no neighbour.
///
/// Arguments of launches come and go with every launch; they have a few slots of their own, so that they do
/// not shorten the quarantine of everything else.
#[derive(Debug)]
pub(super) struct Slots {
    free: VecDeque<u64>,
    arguments: VecDeque<u64>,
}

/// Slots for the arguments of launches.
const ARGUMENT_SLOTS: usize = 64;

impl Slots {
    pub(super) fn new(seed: u64) -> Self {
        let mut slots: Vec<u64> = (FIRST_SLOT + 1..LAST_SLOT).step_by(2).collect();
        let mut state = seed;
        for end in (1..slots.len()).rev() {
            let pick = splitmix64(&mut state) % (end as u64 + 1);
            slots.swap(end, index(pick));
        }
        let arguments = slots.split_off(slots.len() - ARGUMENT_SLOTS);
        Self { free: slots.into(), arguments: arguments.into() }
    }

    fn queue(&mut self, kind: AllocationKind) -> &mut VecDeque<u64> {
        if kind == AllocationKind::Kernarg { &mut self.arguments } else { &mut self.free }
    }

    /// The base address of slots for `size` bytes, or `None` when there are not enough of them one after the other.
    pub(super) fn take(&mut self, kind: AllocationKind, size: u64) -> Option<u64> {
        let queue = self.queue(kind);
        if size <= SLOT_BYTES {
            return queue.pop_front().map(|slot| slot << SLOT_BITS);
        }
        let free: HashSet<u64> = queue.iter().copied().collect();
        let first =
            queue.iter().copied().find(|&first| taken(first, size).all(|slot| free.contains(&slot)))?;
        let taken: HashSet<u64> = taken(first, size).collect();
        queue.retain(|slot| !taken.contains(slot));
        Some(first << SLOT_BITS)
    }

    /// Takes the slots of an allocation that is to be at `base`; `false` when they are not free. An address outside of the slots takes none.
    pub(super) fn reserve(&mut self, base: u64, size: u64) -> bool {
        let first = base >> SLOT_BITS;
        if !(FIRST_SLOT..LAST_SLOT).contains(&first) {
            return true;
        }
        let wanted: HashSet<u64> =
            if size <= SLOT_BYTES { HashSet::from([first]) } else { taken(first, size).collect() };
        let free = self.free.iter().filter(|slot| wanted.contains(slot)).count();
        if free < wanted.len() {
            return false;
        }
        self.free.retain(|slot| !wanted.contains(slot));
        true
    }

    /// Quarantines the slots of an allocation: they are used again only after all slots that are free now.
    pub(super) fn quarantine(&mut self, kind: AllocationKind, base: u64, size: u64) {
        self.queue(kind).extend(taken(base >> SLOT_BITS, size));
    }
}

impl Allocation {
    /// The slots that its bytes are in.
    fn slots(&self) -> u64 {
        (self.base % SLOT_BYTES).saturating_add(self.size).div_ceil(SLOT_BYTES)
    }
}

/// How far behind the beginning of its slot an allocation begins that is to lie across the slot's end, the middle of its bytes there: so
/// offsets in it change the upper word of addresses. One that is longer than half a slot, or too short, begins with the slot.
pub(super) const fn across(size: u64) -> u64 {
    let before = size / 2 / ALIGNMENT * ALIGNMENT;
    if before == 0 || size > SLOT_BYTES / 2 { 0 } else { SLOT_BYTES - before }
}

/// What addresses of allocations are multiples of, as the runtime promises.
const ALIGNMENT: u64 = 256;

/// The slots that an allocation which begins in slot `first` keeps from others: those of its bytes, and one after them.
/// Only every second slot is ever given away.
fn taken(first: u64, size: u64) -> impl Iterator<Item = u64> {
    (first..=first + size.div_ceil(SLOT_BYTES)).step_by(2)
}

/// The next number of `SplitMix64`, the generator of Steele, Lea and Flood. Any seed is a good seed.
pub fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pinned memory in `bytes` of the host, which the space only looks up.
    fn pinned(bytes: std::ops::Range<u64>) -> Arc<Allocation> {
        let size = bytes.end - bytes.start;
        Arc::new(Allocation::new(Some(bytes.start), size, AllocationKind::Pinned, None).unwrap())
    }

    #[test]
    fn pinned_memory_takes_the_place_of_what_was_freed_there() {
        let mut space = Space::new();
        for bytes in [0x100..0x200, 0x200..0x280, 0x280..0x300, 0x300..0x400] {
            let allocation = pinned(bytes);
            space.insert(Arc::clone(&allocation));
            space.insert(Arc::new(allocation.tombstone(None)));
        }
        assert_eq!(space.live().count(), 0);
        space.insert(pinned(0x1f0..0x300));
        let bases: Vec<u64> = space.pinned.keys().copied().collect();
        assert_eq!(bases, [0x1f0, 0x300]);
        assert_eq!(space.live().map(|allocation| allocation.base).collect::<Vec<_>>(), [0x1f0]);
        assert!(space.resolve(0x2ff, 1).is_some() && space.resolve(0x300, 1).is_none());
    }

    #[test]
    fn a_seed_permutes_every_slot_once() {
        let order = |seed| {
            let mut slots = Slots::new(seed);
            std::iter::from_fn(|| slots.take(AllocationKind::Device, 1)).collect::<Vec<_>>()
        };
        let a = order(1);
        assert_eq!(a, order(1));
        assert_ne!(a, order(2));
        assert!(a.iter().all(|base| base % SLOT_BYTES == 0));
        let distinct: HashSet<u64> = a.iter().copied().collect();
        assert_eq!(distinct.len(), SLOTS / 2 - ARGUMENT_SLOTS);
    }

    #[test]
    fn a_freed_slot_comes_after_all_fresh_ones() {
        let mut slots = Slots::new(3);
        let first = slots.take(AllocationKind::Device, 1).unwrap();
        slots.quarantine(AllocationKind::Device, first, 1);
        let rest: Vec<u64> = std::iter::from_fn(|| slots.take(AllocationKind::Device, 1)).collect();
        assert_eq!(rest.last(), Some(&first));
        assert_eq!(rest.iter().filter(|&&base| base == first).count(), 1);
    }

    #[test]
    fn large_allocations_have_neighbouring_slots_and_a_gap() {
        let device = AllocationKind::Device;
        for gigabytes in [4, 5, 8, 9, 16, 40] {
            let size = gigabytes << 30;
            let mut slots = Slots::new(gigabytes);
            let bases: Vec<u64> = std::iter::from_fn(|| slots.take(device, size)).collect();
            let mut sorted = bases.clone();
            sorted.sort_unstable();
            assert!(sorted.windows(2).all(|pair| pair[0] + size < pair[1]), "{gigabytes}");
            assert!(sorted.last().is_some_and(|last| last + size <= LAST_SLOT << SLOT_BITS));
            let rest = std::iter::from_fn(|| slots.take(device, 1)).count();
            bases.iter().for_each(|&base| slots.quarantine(device, base, size));
            let all = std::iter::from_fn(|| slots.take(device, 1)).count();
            assert_eq!(rest + all, SLOTS / 2 - ARGUMENT_SLOTS);
        }
    }
}
