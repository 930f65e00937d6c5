//! DS, FLAT, GLOBAL, SCRATCH.

use super::operand;
use super::{Code, DecodeError, bits, byte, flag, half};
use crate::isa::inst::{Cache, Ds, Flat, Format, Inst, Mods, Operand, scalar};
use crate::isa::table::rule::{self, Mem};
use crate::isa::table::{self, Ty};

pub fn decode_ds(code: Code) -> Result<Inst, DecodeError> {
    let second = code.second()?;
    let row = table::DS.get(code.first_bits(17, 8)).ok_or_else(|| code.unknown())?;
    let op = row.op;
    let mut inst = code.start(row, Format::Ds, 8);
    let acc = flag(code.first, 25);
    let registers = |at, ty, acc| match ty {
        Ty::X => {
            code.require(bits(second, at, 8) == 0, op, "unused register")?;
            Ok(Operand::None)
        }
        ty => operand::vector(code, op, bits(second, at, 8), ty, acc),
    };
    // GWS names its data in the address field.
    let gws = row.rule == rule::Ds::Gws;
    code.require(!gws || !acc || row.src[0] != Ty::X, op, "acc")?;
    inst.src[0] = registers(0, row.src[0], gws && acc)?;
    inst.src[1] = registers(8, row.src[1], acc)?;
    inst.src[2] = registers(16, row.src[2], acc)?;
    inst.dst = registers(24, row.dst, acc)?;
    // gfx942 has no global data share: the bit must be set for GWS, clear for permutes, and
    // is ignored elsewhere.
    let gds = flag(code.first, 16);
    let permute = row.rule == rule::Ds::Permute;
    code.require(if gws { gds } else { !gds || !permute }, op, "gds")?;
    code.require(row.rule != rule::Ds::Nop || code.first_bits(0, 17) == 0 && !acc, op, "unused field")?;
    inst.mods = Mods::Ds(Ds { offset0: byte(code.first), offset1: byte(code.first >> 8), gds: gws });
    Ok(inst)
}

pub fn decode_flat(code: Code) -> Result<Inst, DecodeError> {
    let second = code.second()?;
    let opcode = code.first_bits(18, 7);
    let (format, row) = match code.first_bits(14, 2) {
        0 => (Format::Flat, table::FLAT.get(opcode)),
        1 => (Format::Scratch, table::SCRATCH.get(opcode)),
        2 => (Format::Global, table::GLOBAL.get(opcode)),
        _ => return Err(code.unknown()),
    };
    let row = row.ok_or_else(|| code.unknown())?;
    let op = row.op;
    let mut inst = code.start(row, format, 8);
    let acc = flag(second, 23);
    let cache = Cache { sc0: flag(code.first, 16), sc1: flag(code.first, 25), nt: flag(code.first, 17) };

    let saddr = bits(second, 16, 7);
    code.require(format != Format::Flat || saddr == 0, op, "saddr")?;
    let sve = flag(code.first, 13);
    code.require(format == Format::Scratch || !sve, op, "sve")?;
    code.require(!matches!(row.rule, Mem::LoadLds(_)) || !acc, op, "acc")?;
    let with_saddr = format != Format::Flat && saddr != SADDR_OFF;
    if with_saddr {
        let ty = if format == Format::Global { Ty::S64 } else { Ty::S32 };
        inst.src[2] = operand::scalar(code, op, saddr, ty)?;
    }
    // A scratch address register is used only when the SVE bit says so.
    let with_vaddr = format != Format::Scratch || sve;
    if with_vaddr {
        let ty = if format == Format::Scratch || with_saddr { Ty::B32 } else { Ty::B64 };
        inst.src[0] = operand::vector(code, op, bits(second, 0, 8), ty, false)?;
    }
    if row.src[1] != Ty::X {
        inst.src[1] = operand::vector(code, op, bits(second, 8, 8), row.src[1], acc)?;
    }
    if row.dst != Ty::X && (!matches!(row.rule, Mem::Atomic(_)) || cache.sc0) {
        inst.dst = operand::vector(code, op, bits(second, 24, 8), row.dst, acc)?;
    }
    let field = code.first_bits(0, 13);
    let offset = match format {
        Format::Flat => half(field).cast_signed(),
        _ => (half(field << 3)).cast_signed() >> 3,
    };
    inst.mods = Mods::Flat(Flat { offset, cache });
    Ok(inst)
}

/// `saddr` value that means "no scalar address": the high half of EXEC.
const SADDR_OFF: u32 = scalar::EXEC as u32 + 1;
