//! The gfx942 instruction set: tables, decoder and printer.

pub mod coverage;
mod decode;
pub mod inst;
pub mod op;
mod print;
pub mod table;
mod tested;

pub use decode::{DecodeError, decode, disassemble};
pub use inst::{Format, Inst, Mods, Operand};
pub use op::Op;
pub use tested::{is_tested, untested};
