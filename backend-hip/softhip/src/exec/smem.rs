//! Scalar memory.

use super::core::cx::{Cx, Handler, Step};
use super::core::trap::Trap;
use super::core::uop::{Scalar, Uop};
use super::core::wave::Poisoning;
use crate::isa::inst::Mods;
use crate::isa::table::memory::{MemoryOp, Rmw};
use crate::isa::table::rule::Mem;
use crate::isa::{Op, table};
use crate::memory::{Addresses, LaneFault, Lanes, WAVE, WaveAccess};
use crate::report::Segment;

/// Where an access is, as `base + offset + offset register`. The two lowest bits are ignored.
fn offset(c: &Cx<'_>, u: &Uop) -> u64 {
    let Mods::Smem(mods) = u.inst.mods else { unreachable!("the instruction has the SMEM encoding") };
    let register = if u.inst.src[1].is_some() { u64::from(c.read32(u.scalar[1])) } else { 0 };
    register.wrapping_add_signed(i64::from(mods.offset.unwrap_or(0)))
}

/// The address of an access by a pair of registers.
fn address(c: &Cx<'_>, u: &Uop) -> u64 {
    c.read64(u.scalar[0]).wrapping_add(offset(c, u)) & !3
}

/// As [`buffer`] for a pair of registers, which has no end.
#[expect(clippy::unnecessary_wraps, reason = "one signature for both kinds of addresses")]
fn flat(c: &Cx<'_>, u: &Uop, _: u64) -> Result<Option<u64>, &'static str> {
    Ok(Some(address(c, u)))
}

/// The address of an access of `bytes` bytes through a buffer resource; `None` beyond the resource's end.
///
/// Its size is in bytes, or in units of its stride if that is not 0.
fn buffer(c: &Cx<'_>, u: &Uop, bytes: u64) -> Result<Option<u64>, &'static str> {
    let Scalar::Register(first) = u.scalar[0] else { return Err("resource") };
    let resource: [u32; 4] = *c.wave.s[usize::from(first)..].first_chunk().ok_or("resource")?;
    let base = u64::from(resource[0]) | (u64::from(resource[1] & 0xffff) << 32);
    let stride = u64::from((resource[1] >> 16) & 0x3fff);
    let size = u64::from(resource[2]) * stride.max(1);
    let offset = offset(c, u) & !3;
    Ok((offset.saturating_add(bytes) <= size).then(|| base.wrapping_add(offset)))
}

/// How an instruction finds its address.
type Addressing = fn(&Cx<'_>, &Uop, u64) -> Result<Option<u64>, &'static str>;

/// Loads `N` dwords. Those which the memory does not have poison their registers, see [`super::poison`].
fn load<const N: usize>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let address = address(c, u);
    load_at::<N>(c, u, address)
}

fn load_at<const N: usize>(c: &mut Cx<'_>, u: &Uop, address: u64) -> Step {
    let mut words = [0; N];
    let load = match c.memory.load_masked(c.group, address, u.offset, &mut words) {
        Ok(load) => load,
        Err(fault) => return c.fault(Trap::access(Segment::Scalar, *fault)),
    };
    c.counters.bytes_read += 4 * N as u64;
    let first = usize::from(u.sdst);
    let Some(registers) = c.wave.s.get_mut(first..first + N) else { return c.unsupported(u, "destination") };
    registers.copy_from_slice(&words);
    if let Some(fault) = load.fault {
        let registers = u128::from(!load.valid & (u32::MAX >> (32 - N))) << first;
        c.wave.poison |= registers;
        c.wave.poisonings.push(Poisoning { registers, fault, load: u.inst });
    }
    Step::Next
}

/// Loads `N` dwords of a buffer. Each dword beyond its end is 0, as the hardware does.
fn buffer_load<const N: usize>(c: &mut Cx<'_>, u: &Uop) -> Step {
    match buffer(c, u, 4 * N as u64) {
        Ok(Some(address)) => load_at::<N>(c, u, address),
        Ok(None) => buffer_load_by_dwords::<N>(c, u),
        Err(what) => c.unsupported(u, what),
    }
}

#[cold]
fn buffer_load_by_dwords<const N: usize>(c: &mut Cx<'_>, u: &Uop) -> Step {
    c.counters.out_of_range += 1;
    for i in 0..N as u64 {
        let inside = match buffer(c, u, 4 * (i + 1)) {
            Ok(address) => address.map(|address| address + 4 * i),
            Err(what) => return c.unsupported(u, what),
        };
        let mut piece = u.clone();
        piece.sdst += i as u8;
        match inside {
            Some(address) => match load_at::<1>(c, &piece, address) {
                Step::Next => {}
                step => return step,
            },
            None => c.write32(&piece, 0),
        }
    }
    Step::Next
}

/// One lane's access at an address.
fn one<'a>(address: &'a [u64; WAVE], bytes: u32, u: &Uop) -> WaveAccess<'a> {
    let addresses = Addresses::Each(address);
    WaveAccess { exec: 1, addresses, bytes, align: 4, pc: u.offset, atomic: false }
}

fn refused(c: &mut Cx<'_>, fault: LaneFault) -> Step {
    c.fault(Trap::access(Segment::Scalar, fault.fault))
}

/// The dwords of the data operand.
fn data<const N: usize>(c: &Cx<'_>, u: &Uop) -> Option<[u32; N]> {
    match u.scalar[2] {
        Scalar::Register(first) => c.wave.s.get(usize::from(first)..)?.first_chunk().copied(),
        Scalar::Constant(_) => Some([0; N]),
        Scalar::Flag(_) => None,
    }
}

/// Stores `N` dwords; what is beyond the end of a buffer is dropped.
fn store<const N: usize>(c: &mut Cx<'_>, u: &Uop, addressing: Addressing) -> Step {
    let Some(words) = data::<N>(c, u) else { return c.unsupported(u, "data") };
    for (i, word) in (0u32..).zip(words) {
        let address = match addressing(c, u, 4 * u64::from(i + 1)) {
            Ok(Some(address)) => address.wrapping_add(4 * u64::from(i)),
            Ok(None) => {
                c.counters.out_of_range += 1;
                break;
            }
            Err(what) => return c.unsupported(u, what),
        };
        c.counters.bytes_written += 4;
        let lanes: [Lanes; 1] = [[word; WAVE]];
        if let Err(fault) = c.memory.store(c.group, &one(&[address; WAVE], 4, u), &lanes) {
            return refused(c, *fault);
        }
    }
    Step::Next
}

/// An atomic on one dword or two; the old value goes to the destination if there is one.
fn atomic(c: &mut Cx<'_>, u: &Uop, addressing: Addressing) -> Step {
    let Some(rmw) = u.rmw else { unreachable!("an atomic has an operation") };
    let wide = u.width.bytes == 8;
    let address = match addressing(c, u, u.width.bytes.into()) {
        Ok(address) => address,
        Err(what) => return c.unsupported(u, what),
    };
    let pair = |low: u32, high: u32| u64::from(low) | (u64::from(high) << 32);
    // Two data only where the operation has them: the registers behind one datum may not exist.
    let two = rmw == Rmw::CompareSwap;
    let values = match (wide, two) {
        (false, false) => data(c, u).map(|[a]: [u32; 1]| [a.into(), 0]),
        (false, true) => data(c, u).map(|[a, b]: [u32; 2]| [a.into(), b.into()]),
        (true, false) => data(c, u).map(|[a, b]: [u32; 2]| [pair(a, b), 0]),
        (true, true) => data(c, u).map(|[a, b, d, e]: [u32; 4]| [pair(a, b), pair(d, e)]),
    };
    let Some(values) = values else { return c.unsupported(u, "data") };
    let Some(address) = address else {
        c.counters.out_of_range += 1;
        write_old(c, u, 0, wide);
        return Step::Next;
    };
    c.counters.bytes_written += u64::from(u.width.bytes);
    let addresses = [address; WAVE];
    let access = WaveAccess { align: u.width.bytes, atomic: true, ..one(&addresses, u.width.bytes, u) };
    let (result, old) = if wide {
        let mut old = [0; WAVE];
        let result = c.memory.atomic_u64(c.group, &access, &mut old, |_, old| rmw.apply64(old, values));
        (result, old[0])
    } else {
        let mut old = [0; WAVE];
        let values = values.map(|value| value as u32);
        let result = c.memory.atomic_u32(c.group, &access, &mut old, |_, old| rmw.apply32(old, values));
        (result, old[0].into())
    };
    if let Err(fault) = result {
        return refused(c, *fault);
    }
    if two {
        c.memory.settle_compare_swap(c.group, &access);
    }
    write_old(c, u, old, wide);
    Step::Next
}

fn write_old(c: &mut Cx<'_>, u: &Uop, old: u64, wide: bool) {
    if u.inst.dst.is_some() {
        if wide { c.write64(u, old) } else { c.write32(u, old as u32) }
    }
}

/// The handler of a scalar memory operation.
pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::s_load_dword => load::<1>,
        Op::s_load_dwordx2 => load::<2>,
        Op::s_load_dwordx4 => load::<4>,
        Op::s_load_dwordx8 => load::<8>,
        Op::s_load_dwordx16 => load::<16>,
        Op::s_buffer_load_dword => buffer_load::<1>,
        Op::s_buffer_load_dwordx2 => buffer_load::<2>,
        Op::s_buffer_load_dwordx4 => buffer_load::<4>,
        Op::s_buffer_load_dwordx8 => buffer_load::<8>,
        Op::s_buffer_load_dwordx16 => buffer_load::<16>,
        Op::s_store_dword => |c, u| store::<1>(c, u, flat),
        Op::s_store_dwordx2 => |c, u| store::<2>(c, u, flat),
        Op::s_store_dwordx4 => |c, u| store::<4>(c, u, flat),
        Op::s_buffer_store_dword => |c, u| store::<1>(c, u, buffer),
        Op::s_buffer_store_dwordx2 => |c, u| store::<2>(c, u, buffer),
        Op::s_buffer_store_dwordx4 => |c, u| store::<4>(c, u, buffer),
        Op::s_dcache_inv | Op::s_dcache_wb | Op::s_dcache_inv_vol | Op::s_dcache_wb_vol => |_, _| Step::Next,
        // What was written to the cache stays written: memory is sequentially consistent. Probing translations has no
        // effect on a program.
        Op::s_dcache_discard | Op::s_dcache_discard_x2 | Op::s_atc_probe | Op::s_atc_probe_buffer => {
            |_, _| Step::Next
        }
        // Time is the number of instructions that the wave has executed: equal runs read equal clocks.
        Op::s_memtime | Op::s_memrealtime => |c, u| {
            let time = c.wave.executed;
            c.write64(u, time);
            Step::Next
        },
        _ => return atomic_handler(op),
    };
    Some(handler)
}

fn atomic_handler(op: Op) -> Option<Handler> {
    match table::memory(op)? {
        MemoryOp::Scalar(Mem::Atomic(_)) if table::operand_types(op)[1] == table::Ty::B128 => {
            Some(|c, u| atomic(c, u, buffer))
        }
        MemoryOp::Scalar(Mem::Atomic(_)) => Some(|c, u| atomic(c, u, flat)),
        _ => None,
    }
}
