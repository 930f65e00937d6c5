//! Row lookup in a table, with decoding of quantised rows.
//!
//! # Formula
//!
//! `out[r, i] = decode(table)[ids[r], i]`, rounded as by [`dequantize`](super::dequantize) where `out` is shorter than f32
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `table` | any weight format | `[vocab, n]` | `n` fills whole blocks |
//! | `ids` | `u32` | `[rows]` | known to the host |
//! | `out` | float | `[rows, n]` | |
//!
//! # Errors
//!
//! An id that is not below `vocab`; not one id per row of `out`; rows of `out` not as long as those of `table`.
//!
//! # Bound
//!
//! None: equal bits, as for [`dequantize`](super::dequantize).
//!
//! # Edge cases
//!
//! * Ids may repeat and come in any order.
//! * NaN and infinities of a row appear where it is chosen and nowhere else; a row that is not chosen is not looked at.
//! * The rows of `table` may lie apart: its stride counts, not its length, and padding between rows is not read.
//!
//! # References
//!
//! ggml's `GGML_OP_GET_ROWS`.

use super::{Checker, operands};
use crate::{Buffer, DType, Indices, OpError, View, ViewMut};

/// `out[r] = decode(table[ids[r]])`.
#[derive(Debug)]
pub struct Embed<'a, B> {
    /// Rows to choose from, any weight format, `[vocab, n]`.
    pub table: View<'a, B>,
    /// Rows chosen, `u32[rows]`, each below `vocab`.
    pub ids: Indices<'a, B>,
    /// Chosen rows, float `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Embed: Bitwise { table, ids, out } {}
    floats { out }
    rows: Independent { ids 0, out 0 }
    columns: Independent { table 1, out 1 }
}

impl<B: Buffer> Embed<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("table", &self.table, &DType::WEIGHTS, 2)?;
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        checker.dim("out", &self.out.layout, 1, self.table.layout.dim(1), "columns of table")?;
        let (rows, vocab) = (self.out.layout.dim(0), self.table.layout.dim(0));
        checker.indices("ids", &self.ids, rows, vocab, "rows of table")
    }
}
