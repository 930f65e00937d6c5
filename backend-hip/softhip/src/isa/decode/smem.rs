//! SMEM.

use super::operand;
use super::{Code, DecodeError, bits, flag};
use crate::isa::inst::{Format, Inst, Mods, Operand, Smem, scalar};
use crate::isa::table::rule::Mem;
use crate::isa::table::{self, Ty};

pub fn decode(code: Code) -> Result<Inst, DecodeError> {
    let second = code.second()?;
    let row = table::SMEM.get(code.first_bits(18, 8)).ok_or_else(|| code.unknown())?;
    let mut inst = code.start(row, Format::Smem, 8);
    let op = row.op;
    let data = code.first_bits(6, 7);
    let glc = flag(code.first, 16);
    let (imm, soe) = (flag(code.first, 17), flag(code.first, 14));
    if matches!(row.rule, Mem::Cache | Mem::Time) {
        code.require(!imm, op, "imm")?;
    }
    if matches!(row.rule, Mem::Load(_) | Mem::Store(_) | Mem::Atomic(_) | Mem::Time) {
        let plain = data < u32::from(scalar::M0) || data == u32::from(scalar::NULL);
        code.require(plain, op, "sdata is m0 or exec")?;
    }
    match row.rule {
        Mem::Cache => {
            inst.mods = Mods::Smem(Smem::default());
            return Ok(inst);
        }
        Mem::Time => {
            inst.dst = operand::scalar(code, op, data, row.dst)?;
            inst.mods = Mods::Smem(Smem::default());
            return Ok(inst);
        }
        Mem::Load(_) => inst.dst = operand::scalar(code, op, data, row.dst)?,
        Mem::Atomic(_) => {
            inst.src[2] = operand::scalar(code, op, data, row.src[2])?;
            if glc {
                inst.dst = operand::scalar(code, op, data, row.dst)?;
            }
        }
        Mem::Probe => inst.src[2] = Operand::Literal(data),
        Mem::Store(_) => inst.src[2] = operand::scalar(code, op, data, row.src[2])?,
        Mem::Discard | Mem::LoadLds(_) | Mem::LoadOrLds(_) | Mem::StoreLds(_) => {}
    }
    inst.src[0] = operand::scalar(code, op, code.first_bits(0, 6) * 2, row.src[0])?;
    if soe {
        inst.src[1] = operand::scalar(code, op, bits(second, 25, 7), Ty::B32)?;
    } else if !imm {
        inst.src[1] = operand::scalar(code, op, bits(second, 0, 7), Ty::B32)?;
    }
    // 21 bits, signed.
    let offset = (second << 11).cast_signed() >> 11;
    inst.mods = Mods::Smem(Smem {
        offset: imm.then_some(offset),
        glc: glc && !matches!(row.rule, Mem::Discard | Mem::Probe),
    });
    Ok(inst)
}
