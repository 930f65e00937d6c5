//! Which registers an instruction reads, writes and replaces.

use crate::isa::inst::{SdwaUnused, SpecialSource, scalar};
use crate::isa::table::Ty;
use crate::isa::{Format, Inst, Mods, Op, Operand};
use crate::waits::{Facts, RegisterSet};

/// What an instruction does to registers, with those that it does not name: EXEC, SCC, M0.
#[derive(Clone, Copy, Debug)]
pub struct Effects {
    /// Registers on which something that it does depends.
    pub reads: RegisterSet,
    /// Registers that it may change.
    pub writes: RegisterSet,
    /// Registers of which it leaves no old bit: scalar ones in full, vector ones in the lanes that are on.
    pub replaces: RegisterSet,
}

impl Effects {
    /// The effects of an instruction.
    pub fn of(inst: &Inst) -> Self {
        let facts = Facts::of(inst);
        let (mut reads, mut writes) = (facts.reads, facts.writes);
        if is_vector(inst.format) || reads_exec(inst.op) {
            reads = reads.or(&exec());
        }
        if reads_m0(inst) {
            reads = reads.or(&RegisterSet::of(Operand::Scalar(scalar::M0), 1));
        }
        for source in inst.src {
            reads = match source {
                Operand::Special(SpecialSource::Scc) => reads.or(&RegisterSet::SCC),
                Operand::Special(SpecialSource::Execz) => reads.or(&exec()),
                Operand::Special(SpecialSource::Vccz) => reads.or(&RegisterSet::of(Operand::VCC, 2)),
                _ => reads,
            };
        }
        if reads_scc(inst.op) {
            reads = reads.or(&RegisterSet::SCC);
        }
        let mut replaces = writes;
        if writes_scc(inst) {
            (writes, replaces) = (writes.or(&RegisterSet::SCC), replaces.or(&RegisterSet::SCC));
        }
        if keeps_part(inst) {
            let kept = facts.writes;
            (reads, replaces) = (reads.or(&kept), replaces.without(&kept));
        }
        Effects { reads, writes, replaces }
    }
}

/// The mask of the lanes that are on.
pub(super) fn exec() -> RegisterSet {
    RegisterSet::of(Operand::Scalar(scalar::EXEC), 2)
}

/// Whether an instruction works lane by lane.
pub fn is_vector(format: Format) -> bool {
    !matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem)
}

fn reads_exec(op: Op) -> bool {
    matches!(
        op,
        Op::s_cbranch_execz
            | Op::s_cbranch_execnz
            | Op::s_and_saveexec_b64
            | Op::s_or_saveexec_b64
            | Op::s_xor_saveexec_b64
            | Op::s_andn2_saveexec_b64
            | Op::s_orn2_saveexec_b64
            | Op::s_nand_saveexec_b64
            | Op::s_nor_saveexec_b64
            | Op::s_xnor_saveexec_b64
            | Op::s_andn1_saveexec_b64
            | Op::s_orn1_saveexec_b64
            | Op::s_andn1_wrexec_b64
            | Op::s_andn2_wrexec_b64
    )
}

/// LDS takes M0 on no operation that kernels of gfx942 use, but those that count, load to LDS, or send messages.
fn reads_m0(inst: &Inst) -> bool {
    matches!(
        inst.format,
        Format::Ds | Format::Mubuf | Format::Mtbuf | Format::Global | Format::Flat | Format::Scratch
    ) || matches!(inst.op, Op::s_sendmsg | Op::s_sendmsghalt)
}

fn reads_scc(op: Op) -> bool {
    matches!(
        op,
        Op::s_addc_u32
            | Op::s_subb_u32
            | Op::s_cselect_b32
            | Op::s_cselect_b64
            | Op::s_cmov_b32
            | Op::s_cmov_b64
            | Op::s_cmovk_i32
            | Op::s_cbranch_scc0
            | Op::s_cbranch_scc1
    )
}

/// Scalar operations set SCC, but for these.
fn writes_scc(inst: &Inst) -> bool {
    match inst.format {
        Format::Sopc => true,
        Format::Sop1 => !matches!(
            inst.op,
            Op::s_mov_b32
                | Op::s_mov_b64
                | Op::s_cmov_b32
                | Op::s_cmov_b64
                | Op::s_brev_b32
                | Op::s_brev_b64
                | Op::s_ff0_i32_b32
                | Op::s_ff0_i32_b64
                | Op::s_ff1_i32_b32
                | Op::s_ff1_i32_b64
                | Op::s_flbit_i32_b32
                | Op::s_flbit_i32_b64
                | Op::s_flbit_i32
                | Op::s_flbit_i32_i64
                | Op::s_sext_i32_i8
                | Op::s_sext_i32_i16
                | Op::s_bitset0_b32
                | Op::s_bitset0_b64
                | Op::s_bitset1_b32
                | Op::s_bitset1_b64
                | Op::s_bitreplicate_b64_b32
                | Op::s_getpc_b64
        ),
        Format::Sop2 => !matches!(
            inst.op,
            Op::s_cselect_b32
                | Op::s_cselect_b64
                | Op::s_bfm_b32
                | Op::s_bfm_b64
                | Op::s_mul_i32
                | Op::s_mul_hi_u32
                | Op::s_mul_hi_i32
                | Op::s_pack_ll_b32_b16
                | Op::s_pack_lh_b32_b16
                | Op::s_pack_hh_b32_b16
        ),
        Format::Sopk => !matches!(
            inst.op,
            Op::s_movk_i32
                | Op::s_cmovk_i32
                | Op::s_mulk_i32
                | Op::s_getreg_b32
                | Op::s_setreg_b32
                | Op::s_setreg_imm32_b32
        ),
        _ => false,
    }
}

/// Whether something of what an instruction writes may stay as it was: a half of a register, some lanes, all of it.
pub(crate) fn keeps_part(inst: &Inst) -> bool {
    let half = |ty: Ty| matches!(ty, Ty::B16 | Ty::F16);
    match inst.format {
        Format::Sop1 | Format::Sopk => {
            matches!(inst.op, Op::s_cmov_b32 | Op::s_cmov_b64 | Op::s_cmovk_i32)
        }
        Format::Sdwa => !matches!(inst.mods, Mods::Sdwa(_, sdwa) if sdwa.dst_unused != SdwaUnused::Preserve),
        Format::Dpp => true,
        // Loads of halves, and of bytes into halves.
        Format::Ds | Format::Global | Format::Flat | Format::Scratch | Format::Mubuf | Format::Mtbuf => {
            inst.op.mnemonic().contains("d16")
        }
        Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p => {
            half(inst.operand_types()[0]) || inst.op == Op::v_writelane_b32
        }
        _ => false,
    }
}
