//! Scalar ALU and program control.

use std::fmt::{self, Display, Formatter};

use super::Line;
use crate::isa::inst::Format;
use crate::isa::op::Op;
use crate::isa::table::rule::Salu;
use crate::isa::table::salu;

pub fn print(out: &mut Line<'_, '_>) -> fmt::Result {
    let inst = out.inst;
    let imm = inst.imm();
    out.dst()?;
    // The hardware register of `s_setreg` stands before its source.
    let hwreg_first = matches!(inst.op, Op::s_setreg_b32 | Op::s_setreg_imm32_b32);
    if hwreg_first {
        out.word(Hwreg(imm))?;
    }
    out.src(0)?;
    if inst.format == Format::Sopk {
        return match rule(inst.format, inst.op) {
            Salu::Branch => out.word(imm),
            Salu::Hwreg if hwreg_first => Ok(()),
            Salu::Hwreg => out.word(Hwreg(imm)),
            _ => out.word(format_args!("{imm:#x}")),
        };
    }
    out.src(1)?;
    match rule(inst.format, inst.op) {
        Salu::None | Salu::Hwreg => Ok(()),
        Salu::Imm if imm <= 64 => out.word(imm),
        Salu::Imm => out.word(format_args!("{imm:#x}")),
        Salu::Waitcnt => out.word(Waitcnt(imm)),
        Salu::Sendmsg => out.word(Sendmsg(imm)),
        Salu::GprIdx => out.word(GprIdx(imm)),
        Salu::Endpgm if imm == 0 => Ok(()),
        Salu::Endpgm | Salu::Branch => out.word(imm),
    }
}

/// The meaning of the immediate. Only three formats have one.
fn rule(format: Format, op: Op) -> Salu {
    let rows = match format {
        Format::Sopk => salu::SOPK,
        Format::Sopc => salu::SOPC,
        Format::Sopp => salu::SOPP,
        _ => &[],
    };
    rows.iter().find(|row| row.op == op).map_or(Salu::None, |row| row.rule)
}

/// Counters of `s_waitcnt`; those at their maximum do not wait and are left out.
struct Waitcnt(u16);

impl Display for Waitcnt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let vm = self.0 & 15 | self.0 >> 14 << 4;
        let exp = self.0 >> 4 & 7;
        let lgkm = self.0 >> 8 & 15;
        let all = (vm, exp, lgkm) == (63, 7, 15);
        let mut gap = "";
        for (name, value, max) in [("vmcnt", vm, 63), ("expcnt", exp, 7), ("lgkmcnt", lgkm, 15)] {
            if value != max || all {
                write!(f, "{gap}{name}({value})")?;
                gap = " ";
            }
        }
        Ok(())
    }
}

/// A hardware register with the bits `offset .. offset + size`, left out when it is all 32.
struct Hwreg(u16);

impl Display for Hwreg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let id = self.0 & 63;
        let offset = self.0 >> 6 & 31;
        let size = (self.0 >> 11) + 1;
        let name = match id {
            1 => "HW_REG_MODE",
            2 => "HW_REG_STATUS",
            3 => "HW_REG_TRAPSTS",
            4 => "HW_REG_HW_ID",
            5 => "HW_REG_GPR_ALLOC",
            6 => "HW_REG_LDS_ALLOC",
            7 => "HW_REG_IB_STS",
            15 => "HW_REG_SH_MEM_BASES",
            16 => "HW_REG_TBA_LO",
            17 => "HW_REG_TBA_HI",
            18 => "HW_REG_TMA_LO",
            19 => "HW_REG_TMA_HI",
            20 => "HW_REG_XCC_ID",
            21 => "HW_REG_SQ_PERF_SNAPSHOT_DATA",
            22 => "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
            23 => "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
            24 => "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
            _ => "",
        };
        f.write_str("hwreg(")?;
        if name.is_empty() {
            write!(f, "{id}")?;
        } else {
            f.write_str(name)?;
        }
        if (offset, size) != (0, 32) {
            write!(f, ", {offset}, {size}")?;
        }
        f.write_str(")")
    }
}

/// The operands that `s_set_gpr_idx` indexes.
struct GprIdx(u16);

impl Display for GprIdx {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0 > 15 {
            return write!(f, "{:#x}", self.0);
        }
        f.write_str("gpr_idx(")?;
        let mut gap = "";
        for (bit, name) in ["SRC0", "SRC1", "SRC2", "DST"].into_iter().enumerate() {
            if self.0 >> bit & 1 != 0 {
                write!(f, "{gap}{name}")?;
                gap = ",";
            }
        }
        f.write_str(")")
    }
}

/// A message: its id, operation and stream; the other bits are ignored where a name is known.
struct Sendmsg(u16);

impl Display for Sendmsg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let id = self.0 & 15;
        let operation = self.0 >> 4 & 7;
        let stream = self.0 >> 8 & 3;
        let name = match (id, operation, stream) {
            (1, 0, 0) => "MSG_INTERRUPT",
            (3, 0, 0) => "MSG_GS_DONE, GS_OP_NOP",
            (4, 0, 0) => "MSG_SAVEWAVE",
            (5, 0, 0) => "MSG_STALL_WAVE_GEN",
            (6, 0, 0) => "MSG_HALT_WAVES",
            (7, 0, 0) => "MSG_ORDERED_PS_DONE",
            (8, 0, 0) => "MSG_EARLY_PRIM_DEALLOC",
            (9, 0, 0) => "MSG_GS_ALLOC_REQ",
            (10, 0, 0) => "MSG_GET_DOORBELL",
            (15, 1, 0) => "MSG_SYSMSG, SYSMSG_OP_ECC_ERR_INTERRUPT",
            (15, 2, 0) => "MSG_SYSMSG, SYSMSG_OP_REG_RD",
            (15, 4, 0) => "MSG_SYSMSG, SYSMSG_OP_TTRACE_PC",
            (2 | 3, 1..=3, _) => {
                let message = if id == 2 { "MSG_GS" } else { "MSG_GS_DONE" };
                let operation = ["GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"][usize::from(operation) - 1];
                return write!(f, "sendmsg({message}, {operation}, {stream})");
            }
            _ if self.0 & !0x37f != 0 => return write!(f, "{}", self.0),
            _ => return write!(f, "sendmsg({id}, {operation}, {stream})"),
        };
        write!(f, "sendmsg({name})")
    }
}
