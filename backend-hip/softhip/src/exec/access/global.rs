//! Loads and stores of global memory.

use super::ds;
use super::narrow::{Half, Width};
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::{commit, transform};
use crate::exec::core::trap::Trap;
use crate::exec::core::uop::Uop;
use crate::isa::inst::scalar;
use crate::isa::table::memory::MemoryOp;
use crate::isa::table::rule::Mem;
use crate::isa::{Mods, Op, table};
use crate::memory::{Addresses, Lanes, Run, WAVE, WaveAccess};
use crate::report::Segment;
use crate::wide::{Job, widest};

/// Bytes of a cache line.
const LINE: u64 = 128;

/// The addresses of the active lanes.
#[expect(clippy::large_enum_variant, reason = "lives on the stack for one instruction")]
pub(in crate::exec) enum Place {
    Run(Run),
    Each([u64; WAVE]),
}

impl Place {
    /// From addresses of all lanes.
    pub fn of(exec: u64, addresses: &[u64; WAVE]) -> Self {
        Run::of_addresses(exec, addresses).map_or(Self::Each(*addresses), Self::Run)
    }

    pub fn view(&self) -> Addresses<'_> {
        match self {
            Self::Run(run) => Addresses::Run(*run),
            Self::Each(addresses) => Addresses::Each(addresses),
        }
    }
}

/// The byte offset of a FLAT-encoded instruction.
pub(in crate::exec) fn immediate(u: &Uop) -> i64 {
    match u.inst.mods {
        Mods::Flat(mods) => mods.offset.into(),
        _ => unreachable!("the instruction has a FLAT encoding"),
    }
}

/// Whether the access is of device or system scope, so that it orders workgroups.
pub(in crate::exec) fn device_scope(u: &Uop) -> bool {
    match u.inst.mods {
        Mods::Flat(mods) => mods.cache.sc1,
        Mods::Buffer(mods) => mods.cache.sc1,
        _ => unreachable!("loads and stores have a FLAT or a buffer encoding"),
    }
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

#[inline]
fn place(c: &Cx<'_>, u: &Uop, exec: u64) -> Place {
    let (first, offset) = (usize::from(u.src[0]), immediate(u));
    if u.inst.src[2].is_some() {
        let (base, offsets) = (c.read64(u.scalar[2]).wrapping_add_signed(offset), &c.wave.v[first]);
        Run::of_offsets(exec, base, offsets)
            .map_or_else(|| Place::Each(offsets.map(|offset| base.wrapping_add(offset.into()))), Place::Run)
    } else {
        Run::of_pairs(exec, &c.wave.v[first], &c.wave.v[first + 1], offset)
            .map_or_else(|| Place::Each(wide_addresses(c, u)), Place::Run)
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
    let addresses = match place {
        Place::Run(run) => return lines_of_run(*run, bytes),
        Place::Each(addresses) => addresses,
    };
    if exec == u64::MAX {
        return lines_of_all(addresses, bytes);
    }
    // An inactive lane touches what the active one before it does, or the first one.
    let mut previous = addresses[exec.trailing_zeros() as usize];
    lines_of_all(
        &std::array::from_fn(|lane| {
            if (exec >> lane) & 1 != 0 {
                previous = addresses[lane];
            }
            previous
        }),
        bytes,
    )
}

fn lines_of_all(addresses: &[u64; WAVE], bytes: u32) -> u64 {
    widest(Lines { addresses, bytes }).unwrap_or_else(|| {
        let mut lines: Vec<u64> = addresses.iter().flat_map(|&address| line_span(address, bytes)).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.len() as u64
    })
}

fn lines_of_run(run: Run, bytes: u32) -> u64 {
    let (address, step, count) = (run.address(), run.step(), run.count());
    let [first, last] = line_span(address, bytes);
    if step <= LINE {
        // No line between the first and the last is stepped over.
        return line_span(address.wrapping_add((count - 1) * step), bytes)[1].wrapping_sub(first) + 1;
    }
    if step.is_multiple_of(LINE) {
        return count * (last - first + 1);
    }
    let mut lines = 0;
    let mut previous = None;
    for lane in 0..count {
        let [first, last] = line_span(address.wrapping_add(lane * step), bytes);
        lines += last - first + u64::from(previous != Some(first));
        previous = Some(last);
    }
    lines
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

fn access<'a>(u: &Uop, place: &'a Place, exec: u64, bytes: u32) -> WaveAccess<'a> {
    WaveAccess { exec, addresses: place.view(), bytes, align: 1, pc: u.offset, atomic: device_scope(u) }
}

/// Loads elements of so many bytes, as they are.
pub(super) fn load_elements(
    c: &mut Cx<'_>,
    u: &Uop,
    place: &Place,
    exec: u64,
    bytes: u32,
    out: &mut [Lanes],
) -> Step {
    if exec == 0 {
        return Step::Next;
    }
    count(c, place, exec, bytes, false);
    let loaded = c.memory.load(c.group, &access(u, place, exec, bytes), out);
    loaded.map_or_else(|fault| c.fault(Trap::lane(Segment::Global, *fault)), |()| Step::Next)
}

/// Stores elements of so many bytes, as they are.
pub(super) fn store_elements(
    c: &mut Cx<'_>,
    u: &Uop,
    place: &Place,
    exec: u64,
    bytes: u32,
    data: &[Lanes],
) -> Step {
    if exec == 0 {
        return Step::Next;
    }
    count(c, place, exec, bytes, true);
    let stored = c.memory.store(c.group, &access(u, place, exec, bytes), data);
    stored.map_or_else(|fault| c.fault(Trap::lane(Segment::Global, *fault)), |()| Step::Next)
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
    let access = access(u, place, exec, width.bytes);
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
    let access = access(u, place, exec, width.bytes);
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
    let exec = c.wave.exec();
    let place = place(c, u, exec);
    load_from(c, u, &place, exec, u.width, Segment::Global)
}

/// Loads to LDS: lane `i` writes the dword at M0 + offset + 4 * `i`.
fn load_lds(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    match load(c, u) {
        Step::Next => store_to_lds(c, u, exec, immediate(u)),
        step => step,
    }
}

/// Stores what an instruction with LDS as its destination has loaded: it stands in the register of results.
pub(in crate::exec) fn store_to_lds(c: &mut Cx<'_>, u: &Uop, exec: u64, offset: i64) -> Step {
    let base = u64::from(c.wave.s[usize::from(scalar::M0)] & 0xffff).wrapping_add_signed(offset);
    let addresses = std::array::from_fn(|lane| base.wrapping_add(4 * lane as u64));
    let stored = ds::store_lanes(c, u, &addresses, exec, Width::dwords(1), usize::from(u.dst));
    if c.memory.checks().waits && c.program.watched().is_some() {
        c.lds.landings.issue(c.wave.id, c.wave.pc - 1, base, exec);
    }
    c.finish(stored)
}

/// Loads what an instruction with LDS as its source stores, to the register of results.
pub(in crate::exec) fn load_from_lds(c: &mut Cx<'_>, u: &Uop, exec: u64, offset: i64) -> Step {
    let base = u64::from(c.wave.s[usize::from(scalar::M0)] & 0xffff).wrapping_add_signed(offset);
    let addresses = std::array::from_fn(|lane| base.wrapping_add(4 * lane as u64));
    let loaded = ds::load_any(c, u, &addresses, exec, Width::dwords(1), usize::from(u.dst));
    // It is stored at once.
    c.finish(loaded.and_then(|missing| missing.map_or(Ok(()), |(_, trap)| Err(trap))))
}

fn store(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    let place = place(c, u, exec);
    store_to(c, u, &place, exec, u.width, Segment::Global)
}

fn atomic(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    let place = place(c, u, exec);
    super::atomic::global(c, u, &place, exec, Segment::Global)
}

/// The handler of a GLOBAL operation.
pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    match table::memory(op)? {
        MemoryOp::Global(Mem::LoadLds(_)) => Some(load_lds),
        MemoryOp::Global(Mem::Load(_)) => Some(load),
        MemoryOp::Global(Mem::Store(_)) => Some(store),
        MemoryOp::Global(Mem::Atomic(_)) => Some(atomic),
        _ => None,
    }
}
