//! Vector registers named by M0: the mode in which compilers reach arrays that live in registers.
//!
//! While the mode is on, the low byte of M0 is added to the numbers of those VGPR operands that bits 15:12 of M0
//! select: the three sources, and the destination.

use super::core::cx::{Cx, Handler, Step};
use super::core::trap::Trap;
use super::core::uop::Uop;
use crate::isa::inst::scalar;
use crate::isa::{Op, Operand};
use crate::report::Problem;

const M0: usize = scalar::M0 as usize;

fn set_index(c: &mut Cx<'_>, u: &Uop) {
    let index = c.read32(u.scalar[0]) & 0xff;
    c.wave.s[M0] = (c.wave.s[M0] & !0xff) | index;
}

fn set_operands(c: &mut Cx<'_>, u: &Uop) {
    c.wave.s[M0] = (c.wave.s[M0] & !0xf000) | (u32::from(u.inst.imm() & 15) << 12);
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::s_set_gpr_idx_on => |c, u| {
            set_index(c, u);
            set_operands(c, u);
            c.wave.gpr_index = true;
            Step::Next
        },
        Op::s_set_gpr_idx_off => |c, _| {
            c.wave.gpr_index = false;
            Step::Next
        },
        Op::s_set_gpr_idx_idx => |c, u| {
            set_index(c, u);
            Step::Next
        },
        Op::s_set_gpr_idx_mode => |c, u| {
            set_operands(c, u);
            Step::Next
        },
        _ => return None,
    };
    Some(handler)
}

/// The instruction with its registers moved.
#[cold]
pub(super) fn moved(c: &mut Cx<'_>, u: &Uop) -> Result<Uop, Step> {
    let m0 = c.wave.s[M0];
    let (by, select) = ((m0 & 0xff) as u16, m0 >> 12);
    let mut moved = u.clone();
    let vgprs = c.program.vgprs() as u16;
    let mut outside = false;
    let mut shift = |slot: &mut u16, raw: &mut u16, operand: Operand| {
        if matches!(operand, Operand::Vgpr(_)) {
            if *slot == *raw {
                *slot += by;
            }
            *raw += by;
            outside |= *raw >= vgprs;
        }
    };
    for i in 0..3 {
        if (select >> i) & 1 != 0 {
            shift(&mut moved.src[i], &mut moved.raw_src[i], u.inst.src[i]);
        }
    }
    if (select >> 3) & 1 != 0 {
        shift(&mut moved.dst, &mut moved.raw_dst, u.inst.dst);
    }
    if outside {
        let reason =
            format!("M0 = {m0:#x} moves a register of {} beyond v{}", u.inst.op.mnemonic(), vgprs - 1);
        return Err(c.fault(Trap::new(Problem::Instruction { words: c.program.words(&u.inst), reason })));
    }
    Ok(moved)
}
