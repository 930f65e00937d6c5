//! Printing: [`Inst`] as the LLVM 19 disassembler writes it.

mod control;
mod memory;
mod operand;
mod valu;

use std::fmt::{self, Display, Formatter};

use super::inst::{Format, Inst, Operand};
use super::table::{self, Ty};

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut out = Line { f, inst: self, types: table::operand_types(self.op), operands: 0 };
        out.text(self.op.mnemonic())?;
        match self.format {
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp => {
                control::print(&mut out)
            }
            Format::Vop1
            | Format::Vop2
            | Format::Vopc
            | Format::Vop3
            | Format::Vop3p
            | Format::Sdwa
            | Format::Dpp
            | Format::Mai => valu::print(&mut out),
            Format::Smem
            | Format::Ds
            | Format::Flat
            | Format::Global
            | Format::Scratch
            | Format::Mubuf
            | Format::Mtbuf => memory::print(&mut out),
        }
    }
}

/// A line being written: the mnemonic is there, operands follow.
struct Line<'a, 'b> {
    f: &'a mut Formatter<'b>,
    inst: &'a Inst,
    types: [Ty; 4],
    operands: usize,
}

impl Line<'_, '_> {
    /// Writes text as it is.
    fn text(&mut self, text: impl Display) -> fmt::Result {
        write!(self.f, "{text}")
    }

    /// Writes the separator before an operand.
    fn separate(&mut self) -> fmt::Result {
        self.operands += 1;
        self.f.write_str(if self.operands == 1 { " " } else { ", " })
    }

    /// Writes an operand given as text.
    fn word(&mut self, word: impl Display) -> fmt::Result {
        self.separate()?;
        self.text(word)
    }

    /// Writes an operand of a type; nothing if there is none.
    fn operand(&mut self, operand: Operand, ty: Ty) -> fmt::Result {
        if !operand.is_some() {
            return Ok(());
        }
        self.word(operand::Typed { operand, ty })
    }

    /// Writes the destination.
    fn dst(&mut self) -> fmt::Result {
        self.operand(self.inst.dst, self.types[0])
    }

    /// Writes source `i`.
    fn src(&mut self, i: usize) -> fmt::Result {
        self.operand(self.inst.src[i], self.types[i + 1])
    }

    /// Writes ` name` if the flag is set.
    fn flag(&mut self, name: &str, set: bool) -> fmt::Result {
        if set { write!(self.f, " {name}") } else { Ok(()) }
    }
}
