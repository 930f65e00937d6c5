//! Scalar memory.

use super::core::cx::{Cx, Handler, Step};
use super::core::trap::Trap;
use super::core::uop::Uop;
use super::core::wave::Poisoning;
use crate::isa::inst::Mods;
use crate::isa::{Op, Operand};
use crate::report::Segment;

/// `base + offset + offset register`; the two lowest bits are ignored.
fn address(c: &Cx<'_>, u: &Uop) -> u64 {
    let base = c.read64(u.scalar[0]);
    let Mods::Smem(mods) = u.inst.mods else { unreachable!("the instruction has the SMEM encoding") };
    let register = if u.inst.src[1].is_some() { u64::from(c.read32(u.scalar[1])) } else { 0 };
    let offset = i64::from(mods.offset.unwrap_or(0));
    base.wrapping_add(register).wrapping_add_signed(offset) & !3
}

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

/// Loads `N` dwords of a buffer, whose size is checked as the hardware does: beyond it, 0 is read.
fn buffer_load<const N: usize>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let Operand::Scalar(first) = u.inst.src[0] else { return c.unsupported(u, "resource") };
    let first = usize::from(first);
    let resource = [c.wave.s[first], c.wave.s[first + 1], c.wave.s[first + 2], c.wave.s[first + 3]];
    let base = u64::from(resource[0]) | (u64::from(resource[1] & 0xffff) << 32);
    let stride = u64::from((resource[1] >> 16) & 0x3fff);
    let size = u64::from(resource[2]) * stride.max(1);
    let Mods::Smem(mods) = u.inst.mods else { unreachable!("the instruction has the SMEM encoding") };
    let register = if u.inst.src[1].is_some() { u64::from(c.read32(u.scalar[1])) } else { 0 };
    let offset = register.wrapping_add_signed(i64::from(mods.offset.unwrap_or(0))) & !3;
    if offset.saturating_add(4 * N as u64) > size {
        return c.unsupported(u, "offset past the end of the buffer resource");
    }
    load_at::<N>(c, u, base.wrapping_add(offset))
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
        Op::s_dcache_inv | Op::s_dcache_wb | Op::s_dcache_inv_vol | Op::s_dcache_wb_vol => |_, _| Step::Next,
        // Time is the number of instructions that the wave has executed: equal runs read equal clocks.
        Op::s_memtime | Op::s_memrealtime => |c, u| {
            let time = c.wave.executed;
            c.write64(u, time);
            Step::Next
        },
        _ => return None,
    };
    Some(handler)
}
