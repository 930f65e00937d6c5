//! DS: loads, stores and atomics of LDS.

use super::atomic::Rmw;
use super::landing::Landing;
use super::lds::Touch;
use super::narrow::Width;
use super::together::{Access, Load, Store, Together};
use super::{active, banks};
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::commit;
use crate::exec::core::trap::Trap;
use crate::exec::core::uop::Uop;
use crate::exec::unwritten;
use crate::isa::inst::{Ds, scalar};
use crate::isa::table::memory::{Atomic, MemoryOp};
use crate::isa::table::rule;
use crate::isa::{Mods, Op, table};
use crate::memory::{AccessKind, Lanes, WAVE};
use crate::report::LdsProblem;
use crate::wide::widest;

fn fields(u: &Uop) -> Ds {
    match u.inst.mods {
        Mods::Ds(mods) => mods,
        _ => unreachable!("a DS handler runs DS instructions"),
    }
}

/// The active lanes' byte addresses, with the instruction's offset added.
fn addresses_of(c: &Cx<'_>, u: &Uop, offset: u32) -> [u64; WAVE] {
    widened(&c.wave.v[usize::from(u.src[0])], offset)
}

/// The sum has 32 bits: compilers count on a negative address and a larger offset.
fn widened(addresses: &Lanes, offset: u32) -> [u64; WAVE] {
    addresses.map(|address| address.wrapping_add(offset).into())
}

/// The access as one of all lanes together, if it can be; counts its bank conflicts in any case.
fn together(c: &mut Cx<'_>, u: &Uop, addresses: &[u64; WAVE], exec: u64, bytes: u32) -> Option<Together> {
    let lanes = Together::of(addresses, exec, bytes, c.lds.len());
    c.counters.bank_conflicts += match &lanes {
        Some(lanes) => c.lds.bank_conflicts(lanes, u.offset),
        None => banks::conflicts(&addresses.map(|address| address as u32), exec, bytes),
    };
    lanes
}

/// Loads whole dwords or a narrow value per active lane into the registers from `first` on. What nothing has written is followed
/// from there.
pub(in crate::exec) fn load_lanes(
    c: &mut Cx<'_>,
    u: &Uop,
    addresses: &[u64; WAVE],
    exec: u64,
    width: Width,
    first: usize,
) -> Result<(), Trap> {
    match load_any(c, u, addresses, exec, width, first)? {
        Some((lanes, trap)) => unwritten::mark(c, u, lanes, first..first + width.registers(), trap),
        None => Ok(()),
    }
}

/// As [`load_lanes`]. The lanes that have loaded what nothing has written, and what the first of them is reported as.
pub(in crate::exec) fn load_any(
    c: &mut Cx<'_>,
    u: &Uop,
    addresses: &[u64; WAVE],
    exec: u64,
    width: Width,
    first: usize,
) -> Result<Option<(u64, Trap)>, Trap> {
    if let Some(lanes) = together(c, u, addresses, exec, width.bytes)
        && c.lds.pass::<false>(&lanes, c.wave.id, u.offset)
    {
        c.lds.load(&lanes, &mut c.wave.v[first..first + width.registers()], width);
        return Ok(None);
    }
    let (kind, wave) = (AccessKind::Read, c.wave.id);
    let mut missing: Option<(u64, Trap)> = None;
    for lane in active(exec) {
        let at = addresses[lane];
        let touch = Touch { kind, wave, at, size: width.bytes, offset: u.offset, lane: lane as u8, equal: 0 };
        let Err(fault) = c.lds.touch(touch) else { continue };
        if !matches!(fault.problem, LdsProblem::Uninitialised { .. }) {
            return Err(Trap::local(lane, fault));
        }
        missing.get_or_insert_with(|| (0, Trap::local(lane, fault))).0 |= 1 << lane;
    }
    for lane in active(exec) {
        let at = addresses[lane];
        if width.bytes < 4 {
            let register = &mut c.wave.v[first][lane];
            *register = width.place(c.lds.read(at, width.bytes), *register);
        } else {
            for i in 0..width.registers() {
                c.wave.v[first + i][lane] = c.lds.read(at + 4 * i as u64, 4);
            }
        }
    }
    Ok(missing)
}

/// The bytes that a lane's store would not change, one bit each.
fn equal_bytes(c: &Cx<'_>, lane: usize, at: u64, width: Width, first: usize, shift: u32) -> u16 {
    if at.saturating_add(width.bytes.into()) > c.lds.len() {
        return 0;
    }
    (0..width.bytes).fold(0, |equal, byte| {
        let new = (c.wave.v[first + byte as usize / 4][lane] >> shift) >> (8 * (byte % 4)) & 0xff;
        equal | u16::from(c.lds.read(at + u64::from(byte), 1) == new) << byte
    })
}

/// Stores per active lane from the registers at `first`.
pub(in crate::exec) fn store_lanes(
    c: &mut Cx<'_>,
    u: &Uop,
    addresses: &[u64; WAVE],
    exec: u64,
    width: Width,
    first: usize,
) -> Result<(), Trap> {
    let shift = width.shift();
    if let Some(lanes) = together(c, u, addresses, exec, width.bytes)
        && c.lds.pass::<true>(&lanes, c.wave.id, u.offset)
    {
        c.lds.store(&lanes, &c.wave.v[first..first + width.registers()], shift);
        return Ok(());
    }
    let (kind, wave) = (AccessKind::Write, c.wave.id);
    for lane in active(exec) {
        let at = addresses[lane];
        let equal = equal_bytes(c, lane, at, width, first, shift);
        let touch = Touch { kind, wave, at, size: width.bytes, offset: u.offset, lane: lane as u8, equal };
        c.lds.touch(touch).map_err(|fault| Trap::local(lane, fault))?;
    }
    for lane in active(exec) {
        let at = addresses[lane];
        if width.bytes < 4 {
            c.lds.write(at, width.bytes, c.wave.v[first][lane] >> shift);
        } else {
            for i in 0..width.registers() {
                c.lds.write(at + 4 * i as u64, 4, c.wave.v[first + i][lane]);
            }
        }
    }
    Ok(())
}

/// A copy of the addresses, if the `registers` that are loaded are among those of the addresses.
fn overwritten(c: &Cx<'_>, u: &Uop, registers: usize) -> Option<Lanes> {
    let (addresses, first) = (usize::from(u.src[0]), usize::from(u.dst));
    (first..first + registers).contains(&addresses).then(|| c.wave.v[addresses])
}

/// Loads from `offset` beyond the addresses in a register, or in a copy of it if it is [`overwritten`].
#[inline]
fn load_at(
    c: &mut Cx<'_>,
    u: &Uop,
    copy: Option<&Lanes>,
    offset: u32,
    width: Width,
    first: usize,
) -> Result<(), Trap> {
    let (exec, wave, at) = (c.wave.exec(), c.wave.id, usize::from(u.src[0]));
    let registers = first..first + width.registers();
    let (addresses, to): (&Lanes, &mut [Lanes]) = match copy {
        Some(copy) => (copy, &mut c.wave.v[registers]),
        None => match c.wave.v.get_disjoint_mut([at..at + 1, registers]) {
            Ok([addresses, to]) => (&addresses[0], to),
            Err(_) => unreachable!("registers that are loaded are apart from the addresses"),
        },
    };
    let access = Access { lds: c.lds, addresses, offset, exec, width, wave, instruction: u.offset };
    if let Some(conflicts) = widest(Load(access, to)) {
        c.counters.bank_conflicts += conflicts;
        return Ok(());
    }
    let addresses = widened(copy.unwrap_or(&c.wave.v[at]), offset);
    load_lanes(c, u, &addresses, exec, width, first)
}

/// Stores to `offset` beyond the addresses in a register.
#[inline]
fn store_at(c: &mut Cx<'_>, u: &Uop, offset: u32, width: Width, first: usize) -> Result<(), Trap> {
    let (exec, wave) = (c.wave.exec(), c.wave.id);
    let addresses = &c.wave.v[usize::from(u.src[0])];
    let access = Access { lds: c.lds, addresses, offset, exec, width, wave, instruction: u.offset };
    if let Some(conflicts) = widest(Store(access, &c.wave.v[first..first + width.registers()])) {
        c.counters.bank_conflicts += conflicts;
        return Ok(());
    }
    store_lanes(c, u, &addresses_of(c, u, offset), exec, width, first)
}

fn read(c: &mut Cx<'_>, u: &Uop) -> Step {
    let copy = overwritten(c, u, u.width.registers());
    let result = load_at(c, u, copy.as_ref(), fields(u).offset().into(), u.width, usize::from(u.dst));
    c.finish(result)
}

/// The load to LDS that is still to write what an instruction reads from there.
pub(in crate::exec) fn reads_landing(c: &Cx<'_>, u: &Uop) -> Option<Landing> {
    let Some(MemoryOp::Local(rule)) = table::memory(u.inst.op) else { return None };
    if rule == rule::Ds::LoadThread {
        let addresses = addresses_of_threads(c, u);
        return active(c.wave.exec()).find_map(|lane| c.lds.landings.writing(addresses[lane], 4));
    }
    let (offsets, size) = match rule {
        rule::Ds::Load(_) => ([fields(u).offset().into(); 2], u.width.bytes),
        rule::Ds::Atomic(Atomic { bytes, .. }) => ([fields(u).offset().into(); 2], bytes),
        rule::Ds::Load2 { bytes, stride } => (two_offsets(u, stride * bytes), bytes),
        _ => return None,
    };
    offsets.iter().find_map(|&offset| {
        let addresses = addresses_of(c, u, offset);
        active(c.wave.exec()).find_map(|lane| c.lds.landings.writing(addresses[lane], size))
    })
}

fn write(c: &mut Cx<'_>, u: &Uop) -> Step {
    let result = store_at(c, u, fields(u).offset().into(), u.width, usize::from(u.src[1]));
    c.finish(result)
}

/// The two offsets in bytes of a two-address operation whose steps have `step` bytes.
fn two_offsets(u: &Uop, step: u32) -> [u32; 2] {
    let mods = fields(u);
    [u32::from(mods.offset0) * step, u32::from(mods.offset1) * step]
}

fn read2<const REGISTERS: u32, const STRIDE: u32>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let width = Width::dwords(REGISTERS);
    let copy = overwritten(c, u, 2 * width.registers());
    for (i, offset) in two_offsets(u, STRIDE * width.bytes).into_iter().enumerate() {
        let first = usize::from(u.dst) + i * width.registers();
        if let Err(trap) = load_at(c, u, copy.as_ref(), offset, width, first) {
            return c.fault(trap);
        }
    }
    Step::Next
}

fn write2<const REGISTERS: u32, const STRIDE: u32>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let width = Width::dwords(REGISTERS);
    for (i, offset) in two_offsets(u, STRIDE * width.bytes).into_iter().enumerate() {
        if let Err(trap) = store_at(c, u, offset, width, usize::from(u.src[1 + i])) {
            return c.fault(trap);
        }
    }
    Step::Next
}

/// LDS lays the data of a compare-and-swap out the other way round than global memory.
fn in_order<T>(rmw: Rmw, [first, second]: [T; 2]) -> [T; 2] {
    if matches!(rmw, Rmw::CompareSwap | Rmw::CompareSwapFloat) { [second, first] } else { [first, second] }
}

/// Read-modify-write of active lanes, in order of lanes.
pub(in crate::exec) fn atomic_lanes(
    c: &mut Cx<'_>,
    u: &Uop,
    addresses: &[u64; WAVE],
    exec: u64,
    size: u32,
    update: impl Fn(&Cx<'_>, usize, u64) -> u64,
) -> Result<(), Trap> {
    let (kind, wave) = (AccessKind::Atomic, c.wave.id);
    for lane in active(exec) {
        let at = addresses[lane];
        let touch = Touch { kind, wave, at, size, offset: u.offset, lane: lane as u8, equal: 0 };
        c.lds.touch(touch).map_err(|fault| Trap::local(lane, fault))?;
    }
    let mut old: [Lanes; 2] = [[0; WAVE]; 2];
    for lane in active(exec) {
        let at = addresses[lane];
        let low = c.lds.read(at, 4);
        let high = if size == 8 { c.lds.read(at + 4, 4) } else { 0 };
        let new = update(c, lane, u64::from(low) | (u64::from(high) << 32));
        c.lds.write(at, 4, new as u32);
        if size == 8 {
            c.lds.write(at + 4, 4, (new >> 32) as u32);
        }
        (old[0][lane], old[1][lane]) = (low, high);
        if matches!(u.rmw, Some(Rmw::CompareSwap | Rmw::CompareSwapFloat)) {
            c.lds.settle_compare_swap(wave, lane, at, size);
        }
    }
    c.group.synchronise_wave();
    if u.inst.dst.is_some() {
        for (i, register) in old.iter().take(size as usize / 4).enumerate() {
            commit(&mut c.wave.v[usize::from(u.dst) + i], register, exec);
        }
    }
    Ok(())
}

fn atomic32(c: &mut Cx<'_>, u: &Uop) -> Step {
    let Some(rmw) = u.rmw else { unreachable!("an atomic has an operation") };
    let addresses = addresses_of(c, u, fields(u).offset().into());
    let (x, y) = (usize::from(u.src[1]), usize::from(u.src[2]));
    let result = atomic_lanes(c, u, &addresses, c.wave.exec(), 4, |c, lane, old| {
        rmw.apply32(old as u32, in_order(rmw, [c.wave.v[x][lane], c.wave.v[y][lane]])).into()
    });
    c.finish(result)
}

fn atomic64(c: &mut Cx<'_>, u: &Uop) -> Step {
    let Some(rmw) = u.rmw else { unreachable!("an atomic has an operation") };
    let addresses = addresses_of(c, u, fields(u).offset().into());
    let (x, y) = (usize::from(u.src[1]), usize::from(u.src[2]));
    let result = atomic_lanes(c, u, &addresses, c.wave.exec(), 8, |c, lane, old| {
        let pair = |at: usize| u64::from(c.wave.v[at][lane]) | (u64::from(c.wave.v[at + 1][lane]) << 32);
        rmw.apply64(old, in_order(rmw, [pair(x), pair(y)]))
    });
    c.finish(result)
}

/// Two exchanges. Both take their data before either puts its result down.
fn exchange2<const REGISTERS: u32, const STRIDE: u32>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (bytes, exec) = (4 * REGISTERS, c.wave.exec());
    let places = two_offsets(u, STRIDE * bytes).map(|offset| addresses_of(c, u, offset));
    let last = REGISTERS as usize - 1;
    let data = [u.src[1], u.src[2]].map(usize::from).map(|first| [c.wave.v[first], c.wave.v[first + last]]);
    for (i, (addresses, [low, high])) in places.iter().zip(&data).enumerate() {
        let piece = Uop { dst: u.dst + i as u16 * REGISTERS as u16, ..u.clone() };
        let exchanged = atomic_lanes(c, &piece, addresses, exec, bytes, |_, lane, _| {
            u64::from(low[lane]) | (u64::from(high[lane]) << 32)
        });
        if let Err(trap) = exchanged {
            return c.fault(trap);
        }
    }
    Step::Next
}

/// Each dword is replaced if the highest bit of its datum is set, by the others.
fn conditional_exchange(c: &mut Cx<'_>, u: &Uop) -> Step {
    let addresses = addresses_of(c, u, fields(u).offset().into());
    let data = usize::from(u.src[1]);
    let result = atomic_lanes(c, u, &addresses, c.wave.exec(), 8, |c, lane, old| {
        let new = |half: usize| {
            let (datum, old) = (c.wave.v[data + half][lane], (old >> (32 * half)) as u32);
            u64::from(if datum >> 31 == 0 { old } else { datum & 0x7fff_ffff }) << (32 * half)
        };
        new(0) | new(1)
    });
    c.finish(result)
}

/// The byte that M0 and the instruction name.
fn address_of_m0(c: &Cx<'_>, u: &Uop) -> u64 {
    u64::from(c.wave.s[usize::from(scalar::M0)] & 0xffff) + u64::from(fields(u).offset())
}

/// Changes a counter by the number of active lanes, all of which get its old value.
fn count(c: &mut Cx<'_>, u: &Uop, change: fn(u32, u32) -> u32) -> Step {
    let exec = c.wave.exec();
    if exec == 0 {
        return Step::Next;
    }
    let addresses = [address_of_m0(c, u); WAVE];
    let lane = exec.trailing_zeros() as usize;
    let counted = atomic_lanes(c, u, &addresses, 1 << lane, 4, |_, _, old| {
        change(old as u32, exec.count_ones()).into()
    });
    let register = &mut c.wave.v[usize::from(u.dst)];
    let old = [register[lane % WAVE]; WAVE];
    commit(register, &old, exec);
    c.finish(counted)
}

/// Each lane's dword after the one that M0 and the instruction name.
fn addresses_of_threads(c: &Cx<'_>, u: &Uop) -> [u64; WAVE] {
    let first = address_of_m0(c, u);
    std::array::from_fn(|lane| first + 4 * lane as u64)
}

fn read_thread(c: &mut Cx<'_>, u: &Uop) -> Step {
    let addresses = addresses_of_threads(c, u);
    let result = load_lanes(c, u, &addresses, c.wave.exec(), u.width, usize::from(u.dst));
    c.finish(result)
}

fn write_thread(c: &mut Cx<'_>, u: &Uop) -> Step {
    let addresses = addresses_of_threads(c, u);
    let result = store_lanes(c, u, &addresses, c.wave.exec(), u.width, usize::from(u.src[1]));
    c.finish(result)
}

/// The handler of a DS operation on LDS.
pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    let MemoryOp::Local(rule) = table::memory(op)? else { return None };
    let handler: Handler = match rule {
        rule::Ds::Nop => |_, _| Step::Next,
        rule::Ds::Load(_) => read,
        rule::Ds::Store(_) => write,
        rule::Ds::Load2 { bytes: 4, stride: 1 } => read2::<1, 1>,
        rule::Ds::Load2 { bytes: 4, stride: 64 } => read2::<1, 64>,
        rule::Ds::Load2 { bytes: 8, stride: 1 } => read2::<2, 1>,
        rule::Ds::Load2 { bytes: 8, stride: 64 } => read2::<2, 64>,
        rule::Ds::Store2 { bytes: 4, stride: 1 } => write2::<1, 1>,
        rule::Ds::Store2 { bytes: 4, stride: 64 } => write2::<1, 64>,
        rule::Ds::Store2 { bytes: 8, stride: 1 } => write2::<2, 1>,
        rule::Ds::Store2 { bytes: 8, stride: 64 } => write2::<2, 64>,
        rule::Ds::Exchange2 { bytes: 4, stride: 1 } => exchange2::<1, 1>,
        rule::Ds::Exchange2 { bytes: 4, stride: 64 } => exchange2::<1, 64>,
        rule::Ds::Exchange2 { bytes: 8, stride: 1 } => exchange2::<2, 1>,
        rule::Ds::Exchange2 { bytes: 8, stride: 64 } => exchange2::<2, 64>,
        rule::Ds::ConditionalExchange => conditional_exchange,
        rule::Ds::Count if op == Op::ds_append => |c, u| count(c, u, u32::wrapping_add),
        rule::Ds::Count => |c, u| count(c, u, u32::wrapping_sub),
        rule::Ds::LoadThread => read_thread,
        rule::Ds::StoreThread => write_thread,
        rule::Ds::Atomic(Atomic { bytes: 4, .. }) => atomic32,
        rule::Ds::Atomic(Atomic { bytes: 8, .. }) => atomic64,
        _ => return None,
    };
    Some(handler)
}
