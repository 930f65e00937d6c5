//! Program control: branches, barriers, the end, and access to hardware registers.

use super::core::cx::{Cx, Handler, Step};
use super::core::mode::Mode;
use super::core::trap::Trap;
use super::core::uop::Uop;
use crate::isa::Op;
use crate::isa::inst::scalar;
use crate::report::Problem;

/// Hardware register numbers.
const HWREG_MODE: u32 = 1;
const HWREG_STATUS: u32 = 2;
const HWREG_HW_ID: u32 = 4;
const HWREG_GPR_ALLOC: u32 = 5;
const HWREG_LDS_ALLOC: u32 = 6;
const HWREG_XCC_ID: u32 = 20;

fn branch_if(c: &mut Cx<'_>, u: &Uop, condition: bool) -> Step {
    if condition { branch(c, u) } else { Step::Next }
}

fn branch(c: &mut Cx<'_>, u: &Uop) -> Step {
    if u.target == u32::MAX {
        let target = u.inst.branch_target().unwrap_or(0);
        return outside(c, u, target);
    }
    c.wave.pc = u.target;
    Step::Next
}

/// A jump to what is no instruction.
fn outside(c: &mut Cx<'_>, u: &Uop, target: u64) -> Step {
    let reason = format!("jump to {target:#x}, which is no instruction of the code object");
    c.fault(Trap::new(Problem::Instruction { words: c.program.words(&u.inst), reason }))
}

fn jump(c: &mut Cx<'_>, u: &Uop, target: u64) -> Step {
    match c.program.index_of(target) {
        Some(index) => {
            c.wave.pc = index;
            Step::Next
        }
        None => outside(c, u, target),
    }
}

/// A field of a hardware register: its shift and mask.
fn field(u: &Uop) -> (u32, u32, u32) {
    let imm = u32::from(u.inst.imm());
    let (id, offset, size) = (imm & 63, (imm >> 6) & 31, (imm >> 11) + 1);
    let mask = if size >= 32 { u32::MAX } else { (1 << size) - 1 };
    (id, offset, mask)
}

fn set_register(c: &mut Cx<'_>, u: &Uop, value: u32) -> Step {
    let (id, offset, mask) = field(u);
    if id != HWREG_MODE {
        return c.unsupported(u, "hardware register");
    }
    let mask = mask << offset;
    let bits = (c.wave.mode.bits() & !mask) | ((value << offset) & mask);
    c.wave.mode = Mode::new(bits);
    Step::Next
}

fn get_register(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (id, offset, mask) = field(u);
    let value = match id {
        HWREG_MODE => c.wave.mode.bits(),
        HWREG_STATUS => u32::from(c.wave.scc),
        // The software device has one compute unit and one die, and nobody may depend on which.
        HWREG_HW_ID | HWREG_XCC_ID => 0,
        HWREG_GPR_ALLOC => (c.program.vgprs() / 4).saturating_sub(1) << 8,
        HWREG_LDS_ALLOC => (c.lds.len().div_ceil(512) as u32) << 12,
        _ => return c.unsupported(u, "hardware register"),
    };
    c.write32(u, (value >> offset) & mask);
    Step::Next
}

/// Messages to the host's driver and to the shader processor that have no effect on the wave.
fn send_message(c: &mut Cx<'_>, u: &Uop) -> Step {
    const INTERRUPT: u16 = 1;
    const SAVE_WAVE: u16 = 4;
    const STALL_WAVE_GEN: u16 = 5;
    match u.inst.imm() & 15 {
        INTERRUPT | SAVE_WAVE | STALL_WAVE_GEN => Step::Next,
        _ => c.unsupported(u, "message"),
    }
}

/// The handler of a control operation.
pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::s_nop
        | Op::s_waitcnt
        | Op::s_setprio
        | Op::s_wakeup
        | Op::s_icache_inv
        | Op::s_incperflevel
        | Op::s_decperflevel
        | Op::s_ttracedata => |_, _| Step::Next,
        Op::s_sleep => |_, _| Step::Yield,
        Op::s_endpgm | Op::s_endpgm_saved => |_, _| Step::End,
        Op::s_barrier => |_, _| Step::Barrier,
        Op::s_branch => branch,
        Op::s_cbranch_scc0 => |c, u| branch_if(c, u, !c.wave.scc),
        Op::s_cbranch_scc1 => |c, u| branch_if(c, u, c.wave.scc),
        Op::s_cbranch_vccz => |c, u| branch_if(c, u, c.wave.pair(scalar::VCC) == 0),
        Op::s_cbranch_vccnz => |c, u| branch_if(c, u, c.wave.pair(scalar::VCC) != 0),
        Op::s_cbranch_execz => |c, u| branch_if(c, u, c.wave.exec() == 0),
        Op::s_cbranch_execnz => |c, u| branch_if(c, u, c.wave.exec() != 0),
        // No debugger is attached.
        Op::s_cbranch_cdbgsys
        | Op::s_cbranch_cdbguser
        | Op::s_cbranch_cdbgsys_or_user
        | Op::s_cbranch_cdbgsys_and_user => |_, _| Step::Next,
        Op::s_setvskip => |c, u| {
            let bit = c.read32(u.scalar[1]) & 31;
            c.wave.vskip = (c.read32(u.scalar[0]) >> bit) & 1 != 0;
            Step::Next
        },
        Op::s_sendmsg => send_message,
        Op::s_sethalt => |c, u| if u.inst.imm() & 1 == 0 { Step::Next } else { c.unsupported(u, "halt") },
        Op::s_trap => |c, u| c.fault(Trap::new(Problem::Trap { number: u.inst.imm().into() })),
        Op::s_getpc_b64 => |c, u| {
            c.write64(u, u.inst.next_pc());
            Step::Next
        },
        Op::s_setpc_b64 => |c, u| {
            let target = c.read64(u.scalar[0]);
            jump(c, u, target)
        },
        Op::s_swappc_b64 => |c, u| {
            let target = c.read64(u.scalar[0]);
            c.write64(u, u.inst.next_pc());
            jump(c, u, target)
        },
        Op::s_call_b64 => |c, u| {
            c.write64(u, u.inst.next_pc());
            branch(c, u)
        },
        Op::s_getreg_b32 => get_register,
        Op::s_setreg_b32 => |c, u| {
            let value = c.read32(u.scalar[0]);
            set_register(c, u, value)
        },
        Op::s_setreg_imm32_b32 => |c, u| {
            let value = c.read32(u.scalar[0]);
            set_register(c, u, value)
        },
        _ => return None,
    };
    Some(handler)
}
