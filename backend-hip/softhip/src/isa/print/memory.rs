//! Scalar, vector, buffer and local memory.

use std::fmt::{self, Display, Formatter};

use super::Line;
use super::operand::Typed;
use crate::isa::inst::{Buffer, Cache, Ds, Flat, Format, Mods, Smem};
use crate::isa::table::rule::{self, DsOffset, Mem};
use crate::isa::table::{Ty, buffer, ds, smem};

pub fn print(out: &mut Line<'_, '_>) -> fmt::Result {
    match out.inst.mods {
        Mods::Smem(mods) => scalar(out, mods),
        Mods::Ds(mods) => local(out, mods),
        Mods::Flat(mods) => flat(out, mods),
        Mods::Buffer(mods) => buffer(out, mods),
        _ => Ok(()),
    }
}

fn scalar(out: &mut Line<'_, '_>, mods: Smem) -> fmt::Result {
    let inst = out.inst;
    let rule = smem::SMEM.iter().find(|row| row.op == inst.op).map(|row| row.rule);
    match rule {
        Some(Mem::Cache) => return Ok(()),
        Some(Mem::Time) => return out.dst(),
        Some(Mem::Load(_)) => out.dst()?,
        Some(Mem::Probe) => out.word(Typed { operand: inst.src[2], ty: Ty::B32 })?,
        _ => out.src(2)?,
    }
    out.src(0)?;
    out.src(1)?;
    if let Some(offset) = mods.offset {
        let sign = if offset < 0 { "-" } else { "" };
        let size = offset.unsigned_abs();
        if inst.src[1].is_some() {
            write!(out.f, " offset:{sign}{size:#x}")?;
        } else {
            out.word(format_args!("{sign}{size:#x}"))?;
        }
    }
    out.flag("glc", mods.glc)
}

fn local(out: &mut Line<'_, '_>, mods: Ds) -> fmt::Result {
    let rule = ds::DS.iter().find(|row| row.op == out.inst.op).map(|row| row.rule);
    out.dst()?;
    for i in 0..3 {
        out.src(i)?;
    }
    match rule.map(rule::Ds::offset) {
        Some(DsOffset::Two) => {
            if mods.offset0 != 0 {
                write!(out.f, " offset0:{}", mods.offset0)?;
            }
            if mods.offset1 != 0 {
                write!(out.f, " offset1:{}", mods.offset1)?;
            }
        }
        Some(DsOffset::Pattern) if mods.offset() != 0 => write!(out.f, " offset:{}", Swizzle(mods.offset()))?,
        Some(DsOffset::None) => {}
        _ if mods.offset() != 0 => write!(out.f, " offset:{}", mods.offset())?,
        _ => {}
    }
    out.flag("gds", mods.gds)
}

fn flat(out: &mut Line<'_, '_>, mods: Flat) -> fmt::Result {
    let inst = out.inst;
    let (vaddr, saddr) = (inst.src[0], inst.src[2]);
    let (vaddr_ty, saddr_ty) = match inst.format {
        Format::Scratch => (Ty::B32, Ty::S32),
        _ if saddr.is_some() => (Ty::B32, Ty::S64),
        _ => (Ty::B64, Ty::S64),
    };
    out.dst()?;
    out.word(Typed { operand: vaddr, ty: vaddr_ty })?;
    out.src(1)?;
    if inst.format != Format::Flat {
        out.word(Typed { operand: saddr, ty: saddr_ty })?;
    }
    if mods.offset != 0 {
        write!(out.f, " offset:{}", mods.offset)?;
    }
    cache(out, mods.cache)
}

fn buffer(out: &mut Line<'_, '_>, mods: Buffer) -> fmt::Result {
    let inst = out.inst;
    let rows = if inst.format == Format::Mubuf { buffer::MUBUF } else { buffer::MTBUF };
    let rule = rows.iter().find(|row| row.op == inst.op).map(|row| row.rule);
    if rule == Some(Mem::Cache) {
        return cache(out, mods.cache);
    }
    // A returning atomic names its data once.
    if inst.src[1].is_some() {
        out.src(1)?;
    } else {
        out.dst()?;
    }
    let store_lds = matches!(rule, Some(Mem::StoreLds(_)));
    if !store_lds {
        let ty = if mods.offen && mods.idxen { Ty::B64 } else { Ty::B32 };
        out.word(Typed { operand: inst.src[0], ty })?;
    }
    out.src(2)?;
    out.operand(mods.soffset, Ty::B32)?;
    if inst.format == Format::Mtbuf {
        out.text(TypedFormat(mods.format))?;
    }
    out.flag("idxen", mods.idxen)?;
    out.flag("offen", mods.offen)?;
    if mods.offset != 0 {
        write!(out.f, " offset:{}", mods.offset)?;
    }
    out.flag("lds", mods.lds && store_lds)?;
    cache(out, mods.cache)?;
    out.flag("lds", mods.lds && !store_lds)
}

fn cache(out: &mut Line<'_, '_>, cache: Cache) -> fmt::Result {
    out.flag("sc0", cache.sc0)?;
    out.flag("nt", cache.nt)?;
    out.flag("sc1", cache.sc1)
}

/// Data and number format of a typed buffer instruction, left out when both are the default.
struct TypedFormat(u8);

impl Display for TypedFormat {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        const DATA: [&str; 16] = [
            "INVALID",
            "8",
            "16",
            "8_8",
            "32",
            "16_16",
            "10_11_11",
            "11_11_10",
            "10_10_10_2",
            "2_10_10_10",
            "8_8_8_8",
            "32_32",
            "16_16_16_16",
            "32_32_32",
            "32_32_32_32",
            "RESERVED_15",
        ];
        const NUMBER: [&str; 8] =
            ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"];
        let (data, number) = (usize::from(self.0 & 15), usize::from(self.0 >> 4));
        let names = (data != 1).then(|| DATA[data]);
        let numbers = (number != 0).then(|| NUMBER[number & 7]);
        match (names, numbers) {
            (None, None) => Ok(()),
            (Some(data), None) => write!(f, " format:[BUF_DATA_FORMAT_{data}]"),
            (None, Some(number)) => write!(f, " format:[BUF_NUM_FORMAT_{number}]"),
            (Some(data), Some(number)) => {
                write!(f, " format:[BUF_DATA_FORMAT_{data},BUF_NUM_FORMAT_{number}]")
            }
        }
    }
}

/// The lane pattern of `ds_swizzle_b32`.
struct Swizzle(u16);

impl Display for Swizzle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let pattern = self.0;
        if pattern & 0xff00 == 0x8000 {
            let [a, b, c, d] = [0, 2, 4, 6].map(|low| pattern >> low & 3);
            return write!(f, "swizzle(QUAD_PERM,{a},{b},{c},{d})");
        }
        if pattern & 0x8000 != 0 {
            return write!(f, "{pattern}");
        }
        let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
        let group = 32 - and;
        if and == 31 && or == 0 && xor.is_power_of_two() {
            write!(f, "swizzle(SWAP,{xor})")
        } else if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
            write!(f, "swizzle(REVERSE,{})", xor + 1)
        } else if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
            write!(f, "swizzle(BROADCAST,{group},{or})")
        } else {
            f.write_str("swizzle(BITMASK_PERM,\"")?;
            for bit in (0..5).rev() {
                let of_zero = (or ^ xor) >> bit & 1;
                let of_one = ((and | or) ^ xor) >> bit & 1;
                f.write_str(match (of_zero, of_one) {
                    (0, 0) => "0",
                    (1, 1) => "1",
                    (0, _) => "p",
                    _ => "i",
                })?;
            }
            f.write_str("\")")
        }
    }
}
