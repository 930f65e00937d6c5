//! MUBUF and MTBUF.

use super::operand::{self, Allowed};
use super::{Code, DecodeError, bits, byte, flag, half};
use crate::isa::inst::{Buffer, Cache, Format, Inst, Mods};
use crate::isa::op::Op;
use crate::isa::table::rule::Mem;
use crate::isa::table::{self, Row, Ty};

pub fn decode_mubuf(code: Code) -> Result<Inst, DecodeError> {
    let row = table::MUBUF.get(code.first_bits(18, 7)).ok_or_else(|| code.unknown())?;
    let cache = Cache { sc0: flag(code.first, 14), sc1: flag(code.first, 15), nt: flag(code.first, 17) };
    let mods = Buffer { lds: flag(code.first, 16), cache, ..Buffer::default() };
    decode(code, row, Format::Mubuf, mods)
}

pub fn decode_mtbuf(code: Code) -> Result<Inst, DecodeError> {
    let row = table::MTBUF.get(code.first_bits(15, 4)).ok_or_else(|| code.unknown())?;
    let second = code.second()?;
    let cache = Cache { sc0: flag(code.first, 14), sc1: flag(second, 21), nt: flag(second, 22) };
    let mods = Buffer { format: byte(code.first_bits(19, 7)), cache, ..Buffer::default() };
    decode(code, row, Format::Mtbuf, mods)
}

fn decode(code: Code, row: &Row<Mem>, format: Format, mut mods: Buffer) -> Result<Inst, DecodeError> {
    let second = code.second()?;
    let op = row.op;
    let mut inst = code.start(row, format, 8);
    mods.offen = flag(code.first, 12);
    mods.idxen = flag(code.first, 13);
    let acc = flag(second, 23);
    let addressed = mods.offen || mods.idxen;
    let lds_fits = match row.rule {
        Mem::StoreLds(_) => mods.lds,
        Mem::LoadOrLds(_) => true,
        _ => !mods.lds,
    };
    code.require(lds_fits, op, "lds")?;
    code.require(!mods.lds || !acc, op, "acc")?;
    if matches!(row.rule, Mem::Cache | Mem::StoreLds(_)) {
        code.require(!addressed && !acc, op, "address or acc")?;
    }
    if row.rule == Mem::Cache {
        let scoped = matches!(op, Op::buffer_wbl2 | Op::buffer_inv);
        code.require(scoped || !mods.cache.sc0 && !mods.cache.sc1, op, "cache policy")?;
        mods.cache.nt = false;
        inst.mods = Mods::Buffer(mods);
        return Ok(inst);
    }
    mods.offset = half(code.first_bits(0, 12));
    if addressed {
        let ty = if mods.offen && mods.idxen { Ty::B64 } else { Ty::B32 };
        inst.src[0] = operand::vector(code, op, bits(second, 0, 8), ty, false)?;
    }
    let data = bits(second, 8, 8);
    if row.src[1] != Ty::X {
        inst.src[1] = operand::vector(code, op, data, row.src[1], acc)?;
    }
    let returns = match row.rule {
        Mem::Load(_) => true,
        Mem::LoadOrLds(_) => !mods.lds,
        Mem::Atomic(_) => mods.cache.sc0,
        _ => false,
    };
    if returns {
        inst.dst = operand::vector(code, op, data, row.dst, acc)?;
    }
    inst.src[2] = operand::scalar(code, op, bits(second, 16, 5) * 4, Ty::B128)?;
    mods.soffset = operand::source(code, op, bits(second, 24, 8), Ty::B32, Allowed::ScalarInline)?;
    inst.mods = Mods::Buffer(mods);
    Ok(inst)
}
