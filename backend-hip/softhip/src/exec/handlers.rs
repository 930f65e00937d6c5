//! Which function carries an instruction out.

use super::access::narrow::Width;
use super::access::{buffer, ds, flat, global, permute, typed};
use super::core::cx::{Cx, Handler, Step};
use super::core::trap::Trap;
use super::core::uop::{Missing, Scalar, Uop};
use super::core::wave::SINK;
use super::resolve::kind;
use super::{control, gpr_index, matrix, salu, smem, valu};
use crate::isa::table::memory::MemoryOp;
use crate::isa::table::{self, Ty};
use crate::isa::{self, Format, Inst, Mods, Op, Operand};
use crate::report::Problem;

/// The handler of an operation on bare operands; `None` if the executor does not know it.
pub(super) fn handler(op: Op) -> Option<Handler> {
    salu::sop2(op)
        .or_else(|| salu::sop1(op))
        .or_else(|| salu::sopc(op))
        .or_else(|| salu::sopk(op))
        .or_else(|| control::handler(op))
        .or_else(|| gpr_index::handler(op))
        .or_else(|| smem::handler(op))
        .or_else(|| valu::handler(op))
        .or_else(|| matrix::handler(op))
        .or_else(|| permute::handler(op))
        .or_else(|| ds::handler(op))
        .or_else(|| global::handler(op))
        .or_else(|| buffer::handler(op))
        .or_else(|| typed::handler(op))
        .or_else(|| flat::handler(op))
}

/// An instruction whose operands have not been resolved.
pub(super) fn bare(inst: Inst) -> Uop {
    let memory = table::memory(inst.op);
    Uop {
        run: unsupported,
        base: unsupported,
        dst: 0,
        src: [0; 3],
        raw_dst: 0,
        raw_src: [0; 3],
        splat: 0,
        splat_width: [1; 3],
        sdst: SINK,
        select: [0, 7],
        scalar: [Scalar::Constant(0); 3],
        target: u32::MAX,
        clamp: inst.vop_mods().clamp,
        float: is_float(&inst),
        writes_exec: table::compare(inst.op).is_some_and(|compare| compare.writes_exec),
        kind: kind(&inst),
        offset: 0,
        width: memory.and_then(MemoryOp::width).unwrap_or(Width::dwords(1)),
        rmw: memory.and_then(MemoryOp::rmw),
        types: inst.operand_types(),
        reads: 0,
        writes: 0,
        inst,
        missing: None,
        padding: [0; 64],
    }
}

/// Chooses what carries the instruction out.
pub(super) fn choose(u: &mut Uop) {
    u.base = match handler(u.inst.op) {
        _ if u.missing.is_some() => missing_register,
        Some(_) if has_unsupported_operand(&u.inst) => unsupported_operand,
        Some(handler) => handler,
        None => unsupported,
    };
    u.run = u.base;
}

/// Modes that flush denormals concern the operation.
fn is_float(inst: &Inst) -> bool {
    let types = inst.operand_types();
    types.iter().any(|ty| matches!(ty, Ty::F16 | Ty::F32 | Ty::F64 | Ty::PF16 | Ty::PF32))
        && !matches!(inst.op, Op::v_cndmask_b32 | Op::v_pack_b32_f16)
        && inst.format != Format::Mai
}

fn has_unsupported_operand(inst: &Inst) -> bool {
    use crate::isa::inst::SpecialSource::{LdsDirect, PopsExitingWaveId};
    inst.src.iter().any(|operand| matches!(operand, Operand::Special(LdsDirect | PopsExitingWaveId)))
        || matches!(inst.mods, Mods::Ds(mods) if mods.gds)
}

/// Waves of other workgroups can see when the instruction happens.
pub(super) fn orders_workgroups(inst: &Inst) -> bool {
    match inst.mods {
        Mods::Flat(mods) => is_atomic(inst.op) || mods.cache.sc1,
        Mods::Buffer(mods) => is_atomic(inst.op) || (mods.cache.sc1 && inst.src[2].is_some()),
        Mods::Smem(_) => is_atomic(inst.op),
        _ => false,
    }
}

fn is_atomic(op: Op) -> bool {
    table::memory(op).and_then(MemoryOp::rmw).is_some()
}

/// Words that are no instruction; to reach them is a fault.
pub(super) fn undecodable(address: u64) -> Uop {
    let nop = Inst {
        pc: address,
        op: Op::s_nop,
        format: Format::Sopp,
        size: 4,
        dst: Operand::None,
        dst2: Operand::None,
        src: [Operand::None; 3],
        mods: Mods::None,
    };
    Uop { run: not_an_instruction, base: not_an_instruction, ..bare(nop) }
}

#[cold]
fn refuse(c: &mut Cx<'_>, u: &Uop, reason: String) -> Step {
    c.fault(Trap::new(Problem::Instruction { words: c.program.words(&u.inst), reason }))
}

fn not_an_instruction(c: &mut Cx<'_>, u: &Uop) -> Step {
    let words = c.program.words_from(u.inst.pc);
    let reason = match isa::decode(&words, u.inst.pc) {
        Err(error) => error.to_string(),
        Ok(inst) => format!("not an instruction of the kernel: {inst}"),
    };
    c.fault(Trap::new(Problem::Instruction { words, reason }))
}

fn unsupported(c: &mut Cx<'_>, u: &Uop) -> Step {
    refuse(c, u, format!("unsupported operation {}", u.inst.op.mnemonic()))
}

fn unsupported_operand(c: &mut Cx<'_>, u: &Uop) -> Step {
    c.unsupported(u, "operand")
}

fn missing_register(c: &mut Cx<'_>, u: &Uop) -> Step {
    let Some(Missing { file, index, count }) = u.missing else {
        unreachable!("the handler of a missing register")
    };
    refuse(c, u, format!("{file}{index} is used, but the kernel has {count} registers of that kind"))
}

impl Cx<'_> {
    /// Stops at an operation that the executor does not know in this form.
    #[cold]
    pub(super) fn unsupported(&mut self, u: &Uop, what: &'static str) -> Step {
        refuse(self, u, format!("unsupported form of {} ({what})", u.inst.op.mnemonic()))
    }
}
