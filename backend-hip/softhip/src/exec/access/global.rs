//! Loads and stores of global memory.

use super::narrow::{Half, Width};
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{commit, transform};
use crate::exec::core::trap::Trap;
use crate::exec::core::uop::Uop;
use crate::exec::core::wide::{Job, widest};
use crate::isa::{Mods, Op};
use crate::memory::{Addresses, Lanes, WAVE, WaveAccess};
use crate::report::Segment;

/// Bytes of a cache line.
const LINE: u64 = 128;

/// The lanes' addresses, in one of two forms.
#[expect(clippy::large_enum_variant, reason = "lives on the stack for one instruction")]
pub(in crate::exec) enum Place {
    Wide([u64; WAVE]),
    Based { base: u64, offsets: Lanes },
}

impl Place {
    pub fn view(&self) -> Addresses<'_> {
        match self {
            Self::Wide(addresses) => Addresses::Wide(addresses),
            Self::Based { base, offsets } => Addresses::Based { base: *base, offsets },
        }
    }
}

/// The byte offset of a FLAT-encoded instruction.
pub(in crate::exec) fn immediate(u: &Uop) -> i64 {
    match u.inst.mods {
        Mods::Flat(mods) => mods.offset.into(),
        _ => 0,
    }
}

/// Whether the access is of device or system scope, so that it orders workgroups.
pub(in crate::exec) fn device_scope(u: &Uop) -> bool {
    matches!(u.inst.mods, Mods::Flat(mods) if mods.cache.sc1)
}

/// 64-bit addresses from a register pair.
pub(in crate::exec) fn wide_addresses(c: &Cx<'_>, u: &Uop) -> [u64; WAVE] {
    let (low, high) = (&c.wave.v[usize::from(u.src[0])], &c.wave.v[usize::from(u.src[0]) + 1]);
    let offset = immediate(u);
    let mut addresses = [0; WAVE];
    for lane in 0..WAVE {
        let address = u64::from(low[lane]) | (u64::from(high[lane]) << 32);
        addresses[lane] = address.wrapping_add_signed(offset);
    }
    addresses
}

fn place(c: &Cx<'_>, u: &Uop) -> Place {
    if u.inst.src[2].is_some() {
        let base = c.read64(u.scalar[2]).wrapping_add_signed(immediate(u));
        Place::Based { base, offsets: c.wave.v[usize::from(u.src[0])] }
    } else {
        Place::Wide(wide_addresses(c, u))
    }
}

/// Counts the bytes and the cache lines of an access.
pub(in crate::exec) fn count(c: &mut Cx<'_>, place: &Place, exec: u64, bytes: u32, writes: bool) {
    let moved = u64::from(exec.count_ones()) * u64::from(bytes);
    if writes {
        c.counters.bytes_written += moved;
    } else {
        c.counters.bytes_read += moved;
    }
    c.counters.cache_lines += lines(place, exec, bytes);
}

/// Distinct lines of 128 bytes that the lanes touch.
fn lines(place: &Place, exec: u64, bytes: u32) -> u64 {
    let mut addresses: [u64; WAVE] = match place {
        Place::Wide(addresses) => *addresses,
        Place::Based { base, offsets } => offsets.map(|offset| base.wrapping_add(offset.into())),
    };
    if exec != u64::MAX {
        // An inactive lane touches what the active one before it does, or the first one.
        let mut previous = addresses[exec.trailing_zeros() as usize];
        for (lane, address) in addresses.iter_mut().enumerate() {
            if (exec >> lane) & 1 != 0 {
                previous = *address;
            }
            *address = previous;
        }
    }
    widest(Lines { addresses: &addresses, bytes }).unwrap_or_else(|| {
        let mut lines: Vec<u64> = addresses.iter().flat_map(|&address| line_span(address, bytes)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.len() as u64
    })
}

/// The first and the last line of an access.
const fn line_span(address: u64, bytes: u32) -> [u64; 2] {
    [address / LINE, address.wrapping_add(bytes as u64 - 1) / LINE]
}

/// Counts lines that ascend with the lanes, less than 4 GiB apart; `None` if they do not.
struct Lines<'a> {
    addresses: &'a [u64; WAVE],
    bytes: u32,
}

impl Job for Lines<'_> {
    type Out = Option<u64>;
    #[inline(always)]
    fn run(self) -> Option<u64> {
        // Relative to the first lane's line, in words that are half as wide.
        let start = self.addresses[0] & !(LINE - 1);
        let far = self.addresses.iter().fold(0, |far, address| far | (address.wrapping_sub(start) >> 31));
        let first: [u32; WAVE] =
            self.addresses.map(|address| address.wrapping_sub(start) as u32 / LINE as u32);
        let last: [u32; WAVE] = self
            .addresses
            .map(|address| (address.wrapping_sub(start) as u32).wrapping_add(self.bytes - 1) / LINE as u32);
        let mut lines = 1 + u32::from(first[0] != last[0]);
        let mut descends = 0;
        for lane in 1..WAVE {
            descends |= u32::from(first[lane] < last[lane - 1]);
            lines += u32::from(first[lane] != last[lane - 1]) + u32::from(last[lane] != first[lane]);
        }
        // Lanes that repeat an access of two lines descend, too, and are counted by sorting.
        (far == 0 && descends == 0).then_some(lines.into())
    }
}

/// Loads through any kind of addresses.
pub(in crate::exec) fn load_from(
    c: &mut Cx<'_>,
    u: &Uop,
    place: &Place,
    exec: u64,
    width: Width,
    segment: Segment,
) -> Step {
    if exec == 0 {
        return Step::Next;
    }
    count(c, place, exec, width.bytes, false);
    let access = WaveAccess {
        exec,
        addresses: place.view(),
        bytes: width.bytes,
        align: 1,
        pc: u.offset,
        atomic: device_scope(u),
    };
    let first = usize::from(u.dst);
    let result = if width.is_plain() {
        let registers = &mut c.wave.v[first..first + width.registers()];
        c.memory.load(c.group, &access, registers)
    } else {
        let mut loaded = [[0; WAVE]];
        let result = c.memory.load(c.group, &access, &mut loaded);
        let old = c.wave.v[first];
        let placed: Lanes = std::array::from_fn(|lane| width.place(loaded[0][lane], old[lane]));
        commit(&mut c.wave.v[first], &placed, if result.is_ok() { exec } else { 0 });
        result
    };
    match result {
        Ok(()) => Step::Next,
        Err(fault) => c.fault(Trap::lane(segment, *fault)),
    }
}

/// Stores through any kind of addresses.
pub(in crate::exec) fn store_to(
    c: &mut Cx<'_>,
    u: &Uop,
    place: &Place,
    exec: u64,
    width: Width,
    segment: Segment,
) -> Step {
    if exec == 0 {
        return Step::Next;
    }
    count(c, place, exec, width.bytes, true);
    let access = WaveAccess {
        exec,
        addresses: place.view(),
        bytes: width.bytes,
        align: 1,
        pc: u.offset,
        atomic: device_scope(u),
    };
    let first = usize::from(u.src[1]);
    let result = if width.half == Some(Half::High) {
        let mut shifted = [c.wave.v[first]];
        transform(&mut shifted, 0, 0, |x: u32| x >> 16);
        c.memory.store(c.group, &access, &shifted)
    } else {
        c.memory.store(c.group, &access, &c.wave.v[first..first + width.registers()])
    };
    match result {
        Ok(()) => Step::Next,
        Err(fault) => c.fault(Trap::lane(segment, *fault)),
    }
}

fn load(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (place, exec) = (place(c, u), c.wave.exec());
    load_from(c, u, &place, exec, u.width, Segment::Global)
}

fn store(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (place, exec) = (place(c, u), c.wave.exec());
    store_to(c, u, &place, exec, u.width, Segment::Global)
}

fn atomic(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (place, exec) = (place(c, u), c.wave.exec());
    super::atomic::global(c, u, &place, exec, Segment::Global)
}

/// The handler of a GLOBAL operation.
pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    let name = op.mnemonic().strip_prefix("global_")?;
    if name.starts_with("load_lds") {
        None
    } else if name.starts_with("load_") {
        Some(load)
    } else if name.starts_with("store_") {
        Some(store)
    } else {
        super::atomic::Rmw::of(op).map(|_| atomic as Handler)
    }
}
