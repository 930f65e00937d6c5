//! Which scalar registers an instruction reads and writes.

use super::core::uop::Uop;
use crate::isa::inst::scalar;
use crate::isa::table::Ty;
use crate::isa::{Format, Mods, Op, Operand};

fn bits(operand: Operand, count: u8) -> u128 {
    match operand {
        Operand::Scalar(first) if first < scalar::NULL => ((1 << count) - 1) << first,
        _ => 0,
    }
}

/// Records the masks. EXEC is left out: it always has a value.
pub(super) fn record(u: &mut Uop) {
    let inst = &u.inst;
    let types = inst.operand_types();
    let width = |i: usize| match (inst.format, i) {
        (Format::Global, 2) => 2,
        (Format::Scratch, 2) => 1,
        (Format::Mubuf | Format::Mtbuf, 2) => 4,
        _ => types[i + 1].dwords(),
    };
    for i in 0..3 {
        u.reads |= bits(inst.src[i], width(i));
    }
    if let Mods::Buffer(mods) = inst.mods {
        u.reads |= bits(mods.soffset, 1);
    }
    u.writes = bits(inst.dst, types[0].dwords()) | bits(inst.dst2, Ty::MASK.dwords());
    match inst.op {
        Op::v_div_fmas_f32 | Op::v_div_fmas_f64 | Op::s_cbranch_vccz | Op::s_cbranch_vccnz => {
            u.reads |= bits(Operand::VCC, 2);
        }
        Op::s_addk_i32
        | Op::s_mulk_i32
        | Op::s_bitset0_b32
        | Op::s_bitset1_b32
        | Op::s_bitset0_b64
        | Op::s_bitset1_b64 => u.reads |= u.writes,
        // Moves that may not happen do not heal.
        Op::s_cmov_b32 | Op::s_cmov_b64 | Op::s_cmovk_i32 => u.writes = 0,
        _ => {}
    }
}
