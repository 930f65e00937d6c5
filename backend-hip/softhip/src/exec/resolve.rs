//! From a decoded instruction to places in a wave's files.
//!
//! The vector file holds, in this order: VGPRs, AGPRs, temporaries, and one slot per distinct constant of the
//! program. A constant is so an operand like any other; a scalar register that a vector operation reads is
//! first copied to all lanes of a temporary.

use std::collections::HashMap;

use super::core::file::VectorFile;
use super::core::uop::{Flag, Kind, Missing, Scalar, Uop};
use super::core::wave::SINK;
use super::fidelity::{Fidelity, in_format};
use super::handlers;
use super::modifiers;
use super::program::Registers;
use crate::isa::inst::{SpecialSource, scalar};
use crate::isa::table::memory::MemoryOp;
use crate::isa::table::{self, Ty};
use crate::isa::{Format, Inst, Op, Operand};
use crate::memory::{PRIVATE_APERTURE, SHARED_APERTURE};

/// Temporaries: two registers for each source, its copy from a scalar register; two for each source after
/// flushing denormals; two for each source after modifiers; four for the result before modifiers.
pub(super) const TEMPORARIES: u16 = 22;

/// Where things stand in the vector file.
#[derive(Debug)]
pub(super) struct Layout {
    registers: Registers,
    constants: HashMap<(u32, u32), u16>,
    pool: Vec<u32>,
}

/// A vector source's place.
enum Place {
    Slot(u16),
    Splat,
}

impl Layout {
    pub(super) fn new(registers: Registers) -> Self {
        let registers = Registers { vgprs: registers.vgprs.min(256), agprs: registers.agprs.min(256) };
        Self { registers, constants: HashMap::new(), pool: Vec::new() }
    }

    pub(super) fn registers(&self) -> Registers {
        self.registers
    }

    fn temporaries(&self) -> u16 {
        self.registers.vgprs + self.registers.agprs
    }

    /// The temporary that holds source `i`'s copy from a scalar register.
    fn splat_slot(&self, i: u16) -> u16 {
        self.temporaries() + 2 * i
    }

    /// The temporary that holds source `i` after modifiers.
    pub(super) fn modified_slot(&self, i: u16) -> u16 {
        self.temporaries() + 6 + 2 * i
    }

    /// The temporary that holds source `i` with its denormals flushed.
    pub(super) fn flushed_slot(&self, i: u16) -> u16 {
        self.temporaries() + 12 + 2 * i
    }

    /// The temporary that holds the result before modifiers.
    pub(super) fn result_slot(&self) -> u16 {
        self.temporaries() + 18
    }

    pub(super) fn file(&self) -> VectorFile {
        VectorFile::new(usize::from(self.temporaries() + TEMPORARIES), &self.pool)
    }

    /// The slots of a constant of two registers.
    fn constant(&mut self, low: u32, high: u32) -> u16 {
        let next = self.temporaries() + TEMPORARIES + self.pool.len() as u16;
        *self.constants.entry((low, high)).or_insert_with(|| {
            self.pool.extend([low, high]);
            next
        })
    }

    fn register(&self, operand: Operand, count: u8) -> Result<u16, Missing> {
        let (file, first, have, base) = match operand {
            Operand::Agpr(n) => ('a', u16::from(n), self.registers.agprs, self.registers.vgprs),
            Operand::Vgpr(n) => ('v', u16::from(n), self.registers.vgprs, 0),
            _ => return Ok(self.result_slot()),
        };
        let end = first + u16::from(count.max(1));
        if end > have {
            return Err(Missing { file, index: u32::from(end) - 1, count: have.into() });
        }
        Ok(base + first)
    }

    fn source(&mut self, operand: Operand, ty: Ty) -> Result<Place, Missing> {
        Ok(match operand {
            Operand::Scalar(scalar::NULL) | Operand::None => Place::Slot(self.constant(0, 0)),
            Operand::Scalar(_)
            | Operand::Special(SpecialSource::Scc | SpecialSource::Vccz | SpecialSource::Execz) => {
                Place::Splat
            }
            Operand::Vgpr(_) | Operand::Agpr(_) => Place::Slot(self.register(operand, ty.dwords())?),
            constant => {
                let value = constant_value(constant, ty);
                Place::Slot(self.constant(value as u32, (value >> 32) as u32))
            }
        })
    }

    /// Resolves one instruction.
    pub(super) fn resolve(&mut self, inst: Inst) -> Uop {
        let types = inst.operand_types();
        let mut uop = handlers::bare(inst);
        for (i, scalar) in uop.scalar.iter_mut().enumerate() {
            *scalar = scalar_source(inst.src[i], types[i + 1]);
        }
        uop.sdst = scalar_destination(&inst);
        let resolved = self.vector_operands(&mut uop, types);
        super::usage::record(&mut uop);
        (uop.raw_src, uop.raw_dst) = (uop.src, uop.dst);
        uop.missing = resolved.err();
        handlers::choose(&mut uop);
        modifiers::redirect(self, &mut uop);
        uop
    }

    fn vector_operands(&mut self, uop: &mut Uop, types: [Ty; 4]) -> Result<(), Missing> {
        let inst = uop.inst;
        if !is_vector(inst.format) {
            return Ok(());
        }
        uop.dst = self.register(inst.dst, types[0].dwords())?;
        for i in 0..3u16 {
            let at = usize::from(i);
            let ty = source_type(&inst, types, at);
            if ty == Ty::MASK {
                uop.src[at] = self.constant(0, 0);
                continue;
            }
            match self.source(inst.src[at], ty)? {
                Place::Slot(slot) => uop.src[at] = slot,
                Place::Splat => {
                    uop.src[at] = self.splat_slot(i);
                    uop.scalar[at] = scalar_source(inst.src[at], ty);
                    if ty.dwords() <= 2 {
                        uop.splat |= 1 << i;
                        uop.splat_width[at] = ty.dwords().max(1);
                    }
                }
            }
        }
        if inst.op.accumulates() {
            uop.src[2] = uop.dst;
        }
        Ok(())
    }
}

/// Memory addresses have the width that the instruction's form gives them.
fn source_type(inst: &Inst, types: [Ty; 4], i: usize) -> Ty {
    let ty = types[i + 1];
    match inst.format {
        Format::Global if i == 0 && inst.src[2].is_some() => Ty::B32,
        Format::Mubuf | Format::Mtbuf if i == 0 => match inst.mods {
            crate::isa::Mods::Buffer(mods) if mods.offen && mods.idxen => Ty::B64,
            _ => Ty::B32,
        },
        Format::Global | Format::Scratch | Format::Mubuf | Format::Mtbuf if i == 2 => Ty::MASK,
        // A source of mixed precision has the type that `op_sel_hi` selects.
        _ if modifiers::is_half_of_mix(inst, i) => Ty::F16,
        _ if inst.op == Op::v_readlane_b32 && i == 1 => Ty::MASK,
        _ if inst.op == Op::v_writelane_b32 && i < 2 => Ty::MASK,
        _ => ty,
    }
}

/// What a wave issues for its lanes: arithmetic and memory.
pub(super) fn is_vector(format: Format) -> bool {
    !matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem)
}

fn scalar_destination(inst: &Inst) -> u8 {
    let destination = if let Operand::Scalar(_) = inst.dst2 { inst.dst2 } else { inst.dst };
    match destination {
        Operand::Scalar(scalar::NULL) => SINK,
        Operand::Scalar(register) => register,
        _ => SINK,
    }
}

/// A scalar operand's place.
pub(super) fn scalar_source(operand: Operand, ty: Ty) -> Scalar {
    match operand {
        Operand::Scalar(scalar::NULL) => Scalar::Constant(0),
        Operand::Scalar(register) => Scalar::Register(register),
        Operand::Special(SpecialSource::Scc) => Scalar::Flag(Flag::Scc),
        Operand::Special(SpecialSource::Vccz) => Scalar::Flag(Flag::Vccz),
        Operand::Special(SpecialSource::Execz) => Scalar::Flag(Flag::Execz),
        operand => Scalar::Constant(constant_value(operand, ty)),
    }
}

/// The bits of a constant operand; those of one register are repeated in the second where both are read.
fn constant_value(operand: Operand, ty: Ty) -> u64 {
    let twice = |low: u32| u64::from(low) | (u64::from(low) << 32);
    match (operand, ty) {
        (Operand::Int(n), Ty::PF32 | Ty::PB32) => twice(i32::from(n) as u32),
        (Operand::Int(n), _) => i64::from(n) as u64,
        // In the low half; the high one is 0. Operations on 16-bit integers get the bits of an f32.
        (Operand::Float(value), Ty::F16 | Ty::PF16) => u64::from(value.f16_bits()),
        (Operand::Float(value), Ty::F64 | Ty::B64 | Ty::F64X4) => value.f64_bits(),
        (Operand::Float(value), _) => twice(value.f32_bits()),
        (Operand::Literal(bits), Ty::F64 | Ty::F64X4) => u64::from(bits) << 32,
        (Operand::Literal(bits), _) => u64::from(bits),
        (Operand::Special(SpecialSource::SharedBase), Ty::B64) => u64::from(SHARED_APERTURE) << 32,
        (Operand::Special(SpecialSource::PrivateBase), Ty::B64) => u64::from(PRIVATE_APERTURE) << 32,
        (Operand::Special(SpecialSource::SharedBase), _) => u64::from(SHARED_APERTURE),
        (Operand::Special(SpecialSource::PrivateBase), _) => u64::from(PRIVATE_APERTURE),
        (Operand::Special(SpecialSource::SharedLimit | SpecialSource::PrivateLimit), _) => {
            u64::from(u32::MAX)
        }
        _ => 0,
    }
}

/// What an instruction is counted as.
pub(super) fn kind(inst: &Inst) -> Kind {
    let memory = table::memory(inst.op);
    let stores = memory.is_some_and(MemoryOp::is_store);
    match inst.format {
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk => Kind::Scalar,
        Format::Sopp => Kind::Control,
        Format::Smem => Kind::ScalarMemory,
        Format::Mai if in_format(inst.op, Format::Mai) == Fidelity::Exact => Kind::ExactMatrix,
        Format::Mai => Kind::Matrix,
        Format::Ds => Kind::Local,
        Format::Scratch if stores => Kind::ScratchStore,
        Format::Scratch => Kind::ScratchLoad,
        Format::Flat | Format::Global | Format::Mubuf | Format::Mtbuf => {
            if memory.and_then(MemoryOp::rmw).is_some() {
                Kind::GlobalAtomic
            } else if stores {
                Kind::GlobalStore
            } else {
                Kind::GlobalLoad
            }
        }
        _ => match in_format(inst.op, inst.format) {
            Fidelity::Exact => Kind::Vector,
            Fidelity::Modelled => Kind::ModelledVector,
            Fidelity::Approximate => Kind::Approximate,
        },
    }
}
