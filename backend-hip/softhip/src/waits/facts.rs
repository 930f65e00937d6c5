//! What an instruction reads, writes, counts and waits for.

use super::registers::RegisterSet;
use crate::isa::inst::{SpecialSource, scalar};
use crate::isa::table::memory::MemoryOp;
use crate::isa::table::rule::{Ds, Mai, Mem};
use crate::isa::table::{self, Ty};
use crate::isa::{Format, Inst, Mods, Op, Operand};

/// The counters that an instruction increments, and in which order they come down again.
///
/// CDNA3 ISA, "Data dependency resolution": vector memory returns in order, LDS returns in order, scalar loads and
/// messages return in any order. FLAT instructions increment both counters and come down early on one of them.
/// `expcnt` belongs to exports and GDS; gfx942 has neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// None.
    None,
    /// `vmcnt`, in order: global, scratch and buffer instructions, loads and stores alike.
    Vector,
    /// `lgkmcnt`, in order among themselves: LDS.
    Local,
    /// `lgkmcnt`, in any order: scalar memory, messages.
    Scalar,
    /// Both, in any order.
    Flat,
}

/// What an instruction does to LDS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LdsEffect {
    /// Nothing.
    None,
    /// Reads it.
    Read,
    /// Writes it, and may read it.
    Write,
    /// Writes it when the data arrive from memory.
    Dma,
}

/// Upper bounds of the counters that `s_waitcnt` waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Outstanding vector memory instructions, at most.
    pub vm: u8,
    /// Outstanding LDS, scalar memory and message instructions, at most.
    pub lgkm: u8,
}

impl Wait {
    /// The largest value of `vmcnt`: more instructions are not outstanding at once.
    pub const VM_MAX: u8 = 63;
    /// The largest value of `lgkmcnt`.
    pub const LGKM_MAX: u8 = 15;
    /// Waits for nothing.
    pub const NONE: Self = Self { vm: Self::VM_MAX, lgkm: Self::LGKM_MAX };

    /// The counters of an `s_waitcnt` immediate.
    pub const fn decode(imm: u16) -> Self {
        let vm = imm & 15 | imm >> 14 << 4;
        let lgkm = imm >> 8 & 15;
        Self { vm: vm as u8, lgkm: lgkm as u8 }
    }
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("s_waitcnt")?;
        if self.vm < Self::VM_MAX {
            write!(f, " vmcnt({})", self.vm)?;
        }
        if self.lgkm < Self::LGKM_MAX {
            write!(f, " lgkmcnt({})", self.lgkm)?;
        }
        Ok(())
    }
}

/// Kinds of instructions, as the rules on hazards name them: a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Class(u32);

impl Class {
    /// A vector ALU instruction that is no matrix product.
    pub const VALU: Self = Self(1);
    /// Transcendental functions.
    pub const TRANS: Self = Self(1 << 1);
    /// Every VALU instruction but these.
    pub const NOT_TRANS: Self = Self(1 << 2);
    /// Dot products.
    pub const DOT: Self = Self(1 << 3);
    /// VALU, not a dot product.
    pub const NOT_DOT: Self = Self(1 << 4);
    /// VALU with a source from other lanes.
    pub const DPP: Self = Self(1 << 5);
    /// VALU whose result is moved within its register (`op_sel`, `dst_sel`).
    pub const SHIFTED_RESULT: Self = Self(1 << 6);
    /// `v_readlane`, `v_readfirstlane`.
    pub const READ_LANE: Self = Self(1 << 7);
    /// `v_readlane`, `v_writelane`, `v_readfirstlane`.
    pub const ANY_LANE: Self = Self(1 << 8);
    /// `v_div_fmas`.
    pub const DIV_FMAS: Self = Self(1 << 9);
    /// VALU that reads VCCZ or EXECZ as a number.
    pub const READS_ZERO_FLAG: Self = Self(1 << 10);
    /// `v_fma_f64`, `v_fmac_f64`.
    pub const FMA_F64: Self = Self(1 << 11);
    /// Matrix products of f16, bf16, xf32, 8-bit numbers, dense or sparse.
    pub const XDL: Self = Self(1 << 12);
    /// Matrix products of f32.
    pub const SGEMM: Self = Self(1 << 13);
    /// `v_mfma_f64_4x4x4`.
    pub const DGEMM_4: Self = Self(1 << 14);
    /// `v_mfma_f64_16x16x4`.
    pub const DGEMM_16: Self = Self(1 << 15);
    /// Vector memory: global, flat, scratch, buffer.
    pub const VMEM: Self = Self(1 << 16);
    /// LDS.
    pub const LDS: Self = Self(1 << 17);
    /// Scalar ALU.
    pub const SALU: Self = Self(1 << 18);
    /// Instructions that take M0 without an interlock.
    pub const READS_M0: Self = Self(1 << 19);
    /// `s_setreg`.
    pub const SET_REGISTER: Self = Self(1 << 20);
    /// `s_getreg`.
    pub const GET_REGISTER: Self = Self(1 << 21);
    /// Vector memory that stores more than 64 bits per lane, without a scalar offset register.
    pub const WIDE_STORE: Self = Self(1 << 22);

    /// All matrix products.
    pub const MATRIX: Self = Self(Self::XDL.0 | Self::SGEMM.0 | Self::DGEMM.0);
    /// Matrix products of f64.
    pub const DGEMM: Self = Self(Self::DGEMM_4.0 | Self::DGEMM_16.0);
    /// Matrix products of f32 and f64.
    pub const NOT_XDL: Self = Self(Self::SGEMM.0 | Self::DGEMM.0);
    /// Vector memory and LDS.
    pub const MEMORY: Self = Self(Self::VMEM.0 | Self::LDS.0);
    /// VALU, vector memory and LDS.
    pub const VECTOR: Self = Self(Self::VALU.0 | Self::MEMORY.0);

    /// Whether an instruction of class `self` is of one of the kinds in `other`.
    #[inline]
    pub const fn is(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// All that counts about an instruction here.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Registers that it reads.
    pub reads: RegisterSet,
    /// Registers that it writes.
    pub writes: RegisterSet,
    /// What it counts as.
    pub event: Event,
    /// What it does to LDS.
    pub lds: LdsEffect,
    /// What it waits for.
    pub wait: Option<Wait>,
    /// Wait states that it takes: 1, or more for `s_nop`.
    pub states: u8,
    /// Its kinds.
    pub class: Class,
    /// Passes of a matrix product.
    pub passes: u8,
    /// Wait states for which some rule looks back to it.
    pub life: u8,
}

impl Facts {
    /// The facts about an instruction.
    pub fn of(inst: &Inst) -> Self {
        let (reads, writes) = (reads(inst), writes(inst));
        let class = class(inst);
        let mut facts = Self {
            reads,
            writes,
            event: event(inst),
            lds: lds_effect(inst),
            wait: (inst.op == Op::s_waitcnt).then(|| Wait::decode(inst.imm())),
            states: if inst.op == Op::s_nop { (inst.imm() & 15) as u8 + 1 } else { 1 },
            class,
            passes: passes(inst),
            life: 0,
        };
        facts.life = super::hazards::life(&facts);
        facts
    }
}

/// Registers of source `i`.
pub(super) fn source(inst: &Inst, i: usize) -> RegisterSet {
    let types = inst.operand_types();
    let count = match (inst.format, i) {
        (Format::Global, 0) if inst.src[2].is_some() => 1,
        (Format::Scratch, 0 | 2) => 1,
        (Format::Mubuf | Format::Mtbuf, 0) => match inst.mods {
            Mods::Buffer(mods) if mods.offen && mods.idxen => 2,
            _ => 1,
        },
        (Format::Global, 2) => 2,
        (Format::Mubuf | Format::Mtbuf, 2) => 4,
        _ => types[i + 1].dwords(),
    };
    RegisterSet::of(inst.src[i], count)
}

/// Registers of the destination.
pub(super) fn destination(inst: &Inst) -> RegisterSet {
    RegisterSet::typed(inst.dst, inst.operand_types()[0])
}

/// The operation reads its destination as an accumulator.
fn accumulates(inst: &Inst) -> bool {
    match inst.format {
        Format::Mai => matches!(mai(inst.op), Some(Mai::Smfmac(_))),
        _ => inst.op.accumulates(),
    }
}

fn mai(op: Op) -> Option<Mai> {
    table::mai::MAI.iter().find(|row| row.op == op).map(|row| row.rule)
}

fn reads(inst: &Inst) -> RegisterSet {
    let mut reads = (0..3).fold(RegisterSet::EMPTY, |set, i| set.or(&source(inst, i)));
    if let Mods::Buffer(mods) = inst.mods {
        reads = reads.or(&RegisterSet::of(mods.soffset, 1));
    }
    if accumulates(inst) {
        reads = reads.or(&destination(inst));
    }
    match inst.op {
        Op::v_div_fmas_f32 | Op::v_div_fmas_f64 | Op::s_cbranch_vccz | Op::s_cbranch_vccnz => {
            reads.or(&RegisterSet::of(Operand::VCC, 2))
        }
        Op::s_addk_i32
        | Op::s_mulk_i32
        | Op::s_bitset0_b32
        | Op::s_bitset1_b32
        | Op::s_bitset0_b64
        | Op::s_bitset1_b64
        | Op::v_swap_b32 => reads.or(&destination(inst)),
        _ => reads,
    }
}

fn writes(inst: &Inst) -> RegisterSet {
    let exec = RegisterSet::of(Operand::Scalar(scalar::EXEC), 2);
    let mut writes = destination(inst).or(&RegisterSet::typed(inst.dst2, Ty::MASK));
    if writes_exec(inst.op) {
        writes = writes.or(&exec);
    }
    match inst.op {
        Op::v_swap_b32 => writes.or(&source(inst, 0)),
        Op::s_set_gpr_idx_on | Op::s_set_gpr_idx_idx => {
            writes.or(&RegisterSet::of(Operand::Scalar(scalar::M0), 1))
        }
        _ => writes,
    }
}

fn writes_exec(op: Op) -> bool {
    table::compare(op).is_some_and(|compare| compare.writes_exec)
        || matches!(
            op,
            Op::s_and_saveexec_b64
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

fn is_lds_dma(inst: &Inst) -> bool {
    match table::memory(inst.op) {
        Some(MemoryOp::Buffer(Mem::LoadOrLds(_))) => {
            matches!(inst.mods, Mods::Buffer(mods) if mods.lds)
        }
        Some(MemoryOp::Global(Mem::LoadLds(_)) | MemoryOp::Scratch(Mem::LoadLds(_))) => true,
        _ => false,
    }
}

fn event(inst: &Inst) -> Event {
    match table::memory(inst.op) {
        Some(MemoryOp::Scalar(_) | MemoryOp::Local(Ds::Gws)) => Event::Scalar,
        Some(MemoryOp::Flat(_)) => Event::Flat,
        // Invalidation is not counted, write-back is.
        Some(MemoryOp::Buffer(Mem::Cache)) if inst.op != Op::buffer_wbl2 => Event::None,
        Some(MemoryOp::Global(_) | MemoryOp::Scratch(_) | MemoryOp::Buffer(_) | MemoryOp::TypedBuffer(_)) => {
            Event::Vector
        }
        Some(MemoryOp::Local(Ds::Nop)) => Event::None,
        Some(MemoryOp::Local(_)) => Event::Local,
        None if inst.op == Op::s_sendmsg => Event::Scalar,
        None => Event::None,
    }
}

fn lds_effect(inst: &Inst) -> LdsEffect {
    match table::memory(inst.op) {
        _ if is_lds_dma(inst) => LdsEffect::Dma,
        Some(MemoryOp::Local(rule)) => match rule {
            Ds::Load(_) | Ds::Load2 { .. } | Ds::LoadThread => LdsEffect::Read,
            Ds::Permute | Ds::Swizzle | Ds::Gws | Ds::Nop => LdsEffect::None,
            _ => LdsEffect::Write,
        },
        _ => LdsEffect::None,
    }
}

/// Groups of four cycles that a matrix product takes; 0 for everything else.
fn passes(inst: &Inst) -> u8 {
    match (inst.format == Format::Mai).then(|| mai(inst.op)).flatten() {
        Some(Mai::Mfma(matrix)) => match matrix.m {
            4 => 2,
            16 if matrix.blocks == 1 && matrix.k >= 8 => 4,
            16 => 8,
            _ if matrix.blocks == 1 && matrix.k >= 4 => 8,
            _ => 16,
        },
        Some(Mai::MfmaF64(matrix)) => {
            if matrix.m == 4 {
                4
            } else {
                8
            }
        }
        Some(Mai::Smfmac(matrix)) => {
            if matrix.m == 16 {
                4
            } else {
                8
            }
        }
        Some(Mai::AccRead | Mai::AccWrite) | None => 0,
    }
}

fn class(inst: &Inst) -> Class {
    match inst.format {
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => scalar_class(inst),
        Format::Smem => Class::default(),
        Format::Ds => {
            let thread = matches!(
                table::memory(inst.op),
                Some(MemoryOp::Local(Ds::LoadThread | Ds::StoreThread | Ds::Gws | Ds::Count))
            );
            if thread { Class::LDS.and(Class::READS_M0) } else { Class::LDS }
        }
        Format::Flat | Format::Global | Format::Scratch | Format::Mubuf | Format::Mtbuf => {
            let mut class = Class::VMEM;
            // Not `buffer_load ... lds`: the manual leaves it out.
            let to_lds = is_lds_dma(inst) && matches!(inst.format, Format::Global | Format::Scratch);
            if to_lds || inst.op == Op::buffer_store_lds_dword {
                class = class.and(Class::READS_M0);
            }
            if is_wide_store(inst) {
                class = class.and(Class::WIDE_STORE);
            }
            class
        }
        Format::Mai => match mai(inst.op) {
            Some(Mai::Mfma(matrix)) if matrix.a == table::matrix::Element::F32 => Class::SGEMM,
            Some(Mai::Mfma(_) | Mai::Smfmac(_)) => Class::XDL,
            Some(Mai::MfmaF64(matrix)) if matrix.m == 4 => Class::DGEMM_4,
            Some(Mai::MfmaF64(_)) => Class::DGEMM_16,
            Some(Mai::AccRead | Mai::AccWrite) | None => {
                Class::VALU.and(Class::NOT_TRANS).and(Class::NOT_DOT)
            }
        },
        _ => vector_class(inst),
    }
}

fn scalar_class(inst: &Inst) -> Class {
    match inst.op {
        Op::s_setreg_b32 | Op::s_setreg_imm32_b32 => Class::SALU.and(Class::SET_REGISTER),
        Op::s_getreg_b32 => Class::SALU.and(Class::GET_REGISTER),
        Op::s_movrels_b32
        | Op::s_movrels_b64
        | Op::s_movreld_b32
        | Op::s_movreld_b64
        | Op::s_sendmsg
        | Op::s_sendmsghalt
        | Op::s_ttracedata => Class::SALU.and(Class::READS_M0),
        _ => Class::SALU,
    }
}

/// Vector memory that holds its data for two more states: more than 64 bits, and no scalar offset register.
fn is_wide_store(inst: &Inst) -> bool {
    let stores = table::memory(inst.op).is_some_and(|memory| memory.is_store() || memory.rmw().is_some());
    let scalar_offset = matches!(inst.mods, Mods::Buffer(mods) if matches!(mods.soffset, Operand::Scalar(_)));
    stores && inst.operand_types()[2].dwords() > 2 && !scalar_offset
}

fn vector_class(inst: &Inst) -> Class {
    let mut class = Class::VALU;
    class = class.and(if is_trans(inst.op) { Class::TRANS } else { Class::NOT_TRANS });
    class = class.and(if is_dot(inst.op) { Class::DOT } else { Class::NOT_DOT });
    match inst.mods {
        Mods::Dpp(..) => class = class.and(Class::DPP),
        Mods::Sdwa(_, sdwa)
            if sdwa.dst_sel != crate::isa::inst::SdwaSel::Dword && table::compare(inst.op).is_none() =>
        {
            class = class.and(Class::SHIFTED_RESULT);
        }
        Mods::Vop(mods) if inst.format == Format::Vop3 && mods.op_sel & 8 != 0 => {
            class = class.and(Class::SHIFTED_RESULT);
        }
        _ => {}
    }
    let zero_flag =
        |operand: &Operand| matches!(operand, Operand::Special(SpecialSource::Vccz | SpecialSource::Execz));
    if inst.src.iter().any(zero_flag) {
        class = class.and(Class::READS_ZERO_FLAG);
    }
    if inst.src.contains(&Operand::Special(SpecialSource::LdsDirect)) {
        class = class.and(Class::READS_M0);
    }
    class.and(match inst.op {
        Op::v_readlane_b32 | Op::v_readfirstlane_b32 => Class::READ_LANE.and(Class::ANY_LANE),
        Op::v_writelane_b32 => Class::ANY_LANE,
        Op::v_div_fmas_f32 | Op::v_div_fmas_f64 => Class::DIV_FMAS,
        Op::v_fma_f64 | Op::v_fmac_f64 => Class::FMA_F64,
        _ => Class::default(),
    })
}

fn is_trans(op: Op) -> bool {
    matches!(
        op,
        Op::v_exp_f32
            | Op::v_log_f32
            | Op::v_rcp_f32
            | Op::v_rcp_iflag_f32
            | Op::v_rsq_f32
            | Op::v_rcp_f64
            | Op::v_rsq_f64
            | Op::v_sqrt_f32
            | Op::v_sqrt_f64
            | Op::v_sin_f32
            | Op::v_cos_f32
            | Op::v_rcp_f16
            | Op::v_sqrt_f16
            | Op::v_rsq_f16
            | Op::v_log_f16
            | Op::v_exp_f16
            | Op::v_sin_f16
            | Op::v_cos_f16
            | Op::v_exp_legacy_f32
            | Op::v_log_legacy_f32
    )
}

fn is_dot(op: Op) -> bool {
    matches!(
        op,
        Op::v_dot2c_f32_f16
            | Op::v_dot2c_i32_i16
            | Op::v_dot4c_i32_i8
            | Op::v_dot8c_i32_i4
            | Op::v_dot2_f32_f16
            | Op::v_dot2_i32_i16
            | Op::v_dot2_u32_u16
            | Op::v_dot4_i32_i8
            | Op::v_dot4_u32_u8
            | Op::v_dot8_i32_i4
            | Op::v_dot8_u32_u4
    )
}
