//! Decoding: machine words to [`Inst`].
//!
//! Accepts what the LLVM 19 disassembler accepts for gfx942 without remark, and nothing else.

mod buffer;
mod lanes;
mod mai;
mod memory;
mod operand;
mod salu;
mod smem;
mod vop;
mod vop3;

use super::inst::{Format, Inst, Mods, Operand};
use super::op::Op;
use super::table::Row;

/// Why bytes are not an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The code ends inside the instruction.
    #[error("code ends inside the instruction at {pc:#x}: {have} of {need} bytes of {first:08x}")]
    Truncated {
        /// Address of the instruction.
        pc: u64,
        /// Bytes needed.
        need: usize,
        /// Bytes there.
        have: usize,
        /// First word, 0 when there is none.
        first: u32,
    },
    /// No gfx942 instruction has this opcode.
    #[error("no gfx942 instruction at {pc:#x}: {first:08x} {second:08x}")]
    Unknown {
        /// Address of the instruction.
        pc: u64,
        /// First word.
        first: u32,
        /// Second word, 0 at the end of the code.
        second: u32,
    },
    /// The opcode exists but a field holds what it must not.
    #[error("{op} at {pc:#x} is malformed ({field}): {first:08x} {second:08x}", op = op.mnemonic())]
    Malformed {
        /// Address of the instruction.
        pc: u64,
        /// The operation.
        op: Op,
        /// The offending field.
        field: &'static str,
        /// First word.
        first: u32,
        /// Second word, 0 at the end of the code.
        second: u32,
    },
}

/// Decodes the instruction that starts with `words[0]` at address `pc`.
///
/// `words` may hold more than one instruction; at most two words are read.
pub fn decode(words: &[u32], pc: u64) -> Result<Inst, DecodeError> {
    let Some(&first) = words.first() else {
        return Err(DecodeError::Truncated { pc, need: 4, have: 0, first: 0 });
    };
    let code = Code { pc, first, second: words.get(1).copied() };
    match first >> 26 {
        0x30 => smem::decode(code),
        0x34 => vop3::decode(code),
        0x36 => memory::decode_ds(code),
        0x37 => memory::decode_flat(code),
        0x38 => buffer::decode_mubuf(code),
        0x3a => buffer::decode_mtbuf(code),
        0..=0x1f => vop::decode(code),
        0x20..=0x2f => salu::decode(code),
        _ => Err(code.unknown()),
    }
}

/// Decodes instruction after instruction. A word that starts none is an error and is stepped over.
pub fn disassemble(words: &[u32], pc: u64) -> impl Iterator<Item = Result<Inst, DecodeError>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = words.get(at..).filter(|rest| !rest.is_empty())?;
        let inst = decode(rest, pc.wrapping_add(4 * at as u64));
        at += inst.map_or(1, |inst| usize::from(inst.size) / 4);
        Some(inst)
    })
}

/// The words an instruction is decoded from.
#[derive(Clone, Copy)]
struct Code {
    pc: u64,
    first: u32,
    second: Option<u32>,
}

impl Code {
    /// Bits `low .. low + count` of the first word.
    const fn first_bits(self, low: u32, count: u32) -> u32 {
        bits(self.first, low, count)
    }

    /// The second word of a 64-bit encoding or the literal.
    fn second(self) -> Result<u32, DecodeError> {
        self.second.ok_or(DecodeError::Truncated { pc: self.pc, need: 8, have: 4, first: self.first })
    }

    fn unknown(self) -> DecodeError {
        DecodeError::Unknown { pc: self.pc, first: self.first, second: self.second.unwrap_or(0) }
    }

    fn malformed(self, op: Op, field: &'static str) -> DecodeError {
        DecodeError::Malformed { pc: self.pc, op, field, first: self.first, second: self.second.unwrap_or(0) }
    }

    /// Fails unless `good`.
    fn require(self, good: bool, op: Op, field: &'static str) -> Result<(), DecodeError> {
        if good { Ok(()) } else { Err(self.malformed(op, field)) }
    }

    /// An instruction without operands yet.
    const fn start<R>(self, row: &Row<R>, format: Format, size: u8) -> Inst {
        Inst {
            pc: self.pc,
            op: row.op,
            format,
            size,
            dst: Operand::None,
            dst2: Operand::None,
            src: [Operand::None; 3],
            mods: Mods::None,
        }
    }
}

/// Bits `low .. low + count` of a word.
const fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

/// One bit of a word.
const fn flag(word: u32, bit: u32) -> bool {
    word >> bit & 1 != 0
}

/// The low 8 bits of a word: a register number or a byte field.
const fn byte(word: u32) -> u8 {
    word.to_le_bytes()[0]
}

/// The low 16 bits of a word.
const fn half(word: u32) -> u16 {
    let [low, high, ..] = word.to_le_bytes();
    u16::from_le_bytes([low, high])
}
