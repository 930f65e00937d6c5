//! FLAT and SCRATCH: private memory, and addresses that may mean any of the three segments.

use super::global::{self, Place};
use super::narrow::{Half, Width};
use super::{active, ds};
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::commit;
use crate::exec::core::trap::Trap;
use crate::exec::core::uop::Uop;
use crate::isa::table::memory::MemoryOp;
use crate::isa::table::rule::Mem;
use crate::isa::{Op, table};
use crate::memory::{AccessKind, PRIVATE_APERTURE, SHARED_APERTURE, WAVE};
use crate::report::Segment;

/// Offsets into each lane's private segment: register, scalar and immediate, modulo 2^32.
fn offsets(c: &Cx<'_>, u: &Uop) -> [u64; WAVE] {
    let scalar = if u.inst.src[2].is_some() { c.read32(u.scalar[2]) } else { 0 };
    let common = scalar.wrapping_add_signed(global::immediate(u) as i32);
    if u.inst.src[0].is_some() {
        c.wave.v[usize::from(u.src[0])].map(|offset| u64::from(offset.wrapping_add(common)))
    } else {
        [common.into(); WAVE]
    }
}

fn scratch_load_lanes(
    c: &mut Cx<'_>,
    u: &Uop,
    at: &[u64; WAVE],
    exec: u64,
    width: Width,
) -> Result<(), Trap> {
    let first = usize::from(u.dst);
    for lane in active(exec) {
        let touched = c.wave.scratch.touch(AccessKind::Read, lane, at[lane], width.bytes);
        touched.map_err(|fault| Trap::local(lane, fault))?;
    }
    for lane in active(exec) {
        for i in 0..width.registers() {
            let loaded = c.wave.scratch.read(lane, at[lane] + 4 * i as u64, width.bytes.min(4));
            let register = &mut c.wave.v[first + i][lane];
            *register = width.place(loaded, *register);
        }
    }
    Ok(())
}

fn scratch_store_lanes(
    c: &mut Cx<'_>,
    u: &Uop,
    at: &[u64; WAVE],
    exec: u64,
    width: Width,
) -> Result<(), Trap> {
    let first = usize::from(u.src[1]);
    let shift = if width.half == Some(Half::High) { 16 } else { 0 };
    for lane in active(exec) {
        let touched = c.wave.scratch.touch(AccessKind::Write, lane, at[lane], width.bytes);
        touched.map_err(|fault| Trap::local(lane, fault))?;
    }
    for lane in active(exec) {
        for i in 0..width.registers() {
            let value = c.wave.v[first + i][lane] >> shift;
            c.wave.scratch.write(lane, at[lane] + 4 * i as u64, width.bytes.min(4), value);
        }
    }
    Ok(())
}

fn scratch_load(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (at, exec, width) = (offsets(c, u), c.wave.exec(), u.width);
    let registers = width.registers();
    if u.inst.src[0].is_some() || width.bytes < 4 || exec == 0 {
        let result = scratch_load_lanes(c, u, &at, exec, width);
        return c.finish(result);
    }
    if let Some(word) = c.wave.scratch.touch_uniform(AccessKind::Read, exec, at[0], registers) {
        for i in 0..registers {
            let from = *c.wave.scratch.word(word + i);
            commit(&mut c.wave.v[usize::from(u.dst) + i], &from, exec);
        }
        return Step::Next;
    }
    let result = scratch_load_lanes(c, u, &at, exec, width);
    c.finish(result)
}

/// Loads to LDS: lane `i` writes the dword at M0 + offset + 4 * `i`.
fn scratch_load_lds(c: &mut Cx<'_>, u: &Uop) -> Step {
    let exec = c.wave.exec();
    match scratch_load(c, u) {
        Step::Next => global::store_to_lds(c, u, exec, global::immediate(u)),
        step => step,
    }
}

fn scratch_store(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (at, exec, width) = (offsets(c, u), c.wave.exec(), u.width);
    let registers = width.registers();
    if u.inst.src[0].is_some() || width.bytes < 4 || exec == 0 {
        let result = scratch_store_lanes(c, u, &at, exec, width);
        return c.finish(result);
    }
    if let Some(word) = c.wave.scratch.touch_uniform(AccessKind::Write, exec, at[0], registers) {
        for i in 0..registers {
            let from = c.wave.v[usize::from(u.src[1]) + i];
            commit(c.wave.scratch.word(word + i), &from, exec);
        }
        return Step::Next;
    }
    let result = scratch_store_lanes(c, u, &at, exec, width);
    c.finish(result)
}

/// The active lanes by the segment that their address means.
struct Split {
    global: u64,
    shared: u64,
    private: u64,
}

fn split(addresses: &[u64; WAVE], exec: u64) -> Split {
    let mut split = Split { global: 0, shared: 0, private: 0 };
    for lane in active(exec) {
        let segment = match (addresses[lane] >> 32) as u32 {
            SHARED_APERTURE => &mut split.shared,
            PRIVATE_APERTURE => &mut split.private,
            _ => &mut split.global,
        };
        *segment |= 1 << lane;
    }
    split
}

const fn low_half(addresses: &[u64; WAVE]) -> [u64; WAVE] {
    let mut low = *addresses;
    let mut lane = 0;
    while lane < WAVE {
        low[lane] &= 0xffff_ffff;
        lane += 1;
    }
    low
}

fn load(c: &mut Cx<'_>, u: &Uop) -> Step {
    let addresses = global::wide_addresses(c, u);
    let lanes = split(&addresses, c.wave.exec());
    let low = low_half(&addresses);
    let local = ds::load_lanes(c, u, &low, lanes.shared, u.width, usize::from(u.dst))
        .and_then(|()| scratch_load_lanes(c, u, &low, lanes.private, u.width));
    match local {
        Ok(()) => global::load_from(
            c,
            u,
            &Place::of(lanes.global, &addresses),
            lanes.global,
            u.width,
            Segment::Flat,
        ),
        Err(trap) => c.fault(trap),
    }
}

fn store(c: &mut Cx<'_>, u: &Uop) -> Step {
    let addresses = global::wide_addresses(c, u);
    let lanes = split(&addresses, c.wave.exec());
    let low = low_half(&addresses);
    let local = ds::store_lanes(c, u, &low, lanes.shared, u.width, usize::from(u.src[1]))
        .and_then(|()| scratch_store_lanes(c, u, &low, lanes.private, u.width));
    match local {
        Ok(()) => {
            global::store_to(c, u, &Place::of(lanes.global, &addresses), lanes.global, u.width, Segment::Flat)
        }
        Err(trap) => c.fault(trap),
    }
}

fn atomic(c: &mut Cx<'_>, u: &Uop) -> Step {
    let addresses = global::wide_addresses(c, u);
    let lanes = split(&addresses, c.wave.exec());
    if lanes.private | lanes.shared != 0 {
        return c.unsupported(u, "atomic on LDS or private memory through a flat address");
    }
    super::atomic::global(c, u, &Place::of(lanes.global, &addresses), lanes.global, Segment::Flat)
}

/// The handler of a FLAT or SCRATCH operation.
pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    match table::memory(op)? {
        MemoryOp::Scratch(Mem::LoadLds(_)) => Some(scratch_load_lds),
        MemoryOp::Scratch(Mem::Load(_)) => Some(scratch_load),
        MemoryOp::Scratch(Mem::Store(_)) => Some(scratch_store),
        MemoryOp::Flat(Mem::Load(_)) => Some(load),
        MemoryOp::Flat(Mem::Store(_)) => Some(store),
        MemoryOp::Flat(Mem::Atomic(_)) => Some(atomic),
        _ => None,
    }
}
