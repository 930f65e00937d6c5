//! The gfx942 instruction set: tables, decoder and printer.

mod decode;
pub mod inst;
pub mod op;
pub mod table;

pub use decode::{DecodeError, decode};
pub use inst::{Format, Inst, Mods, Operand};
pub use op::Op;
