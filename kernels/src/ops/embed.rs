//! Row lookup in a table, with decoding of quantised rows.

use super::{Checker, operands};
use crate::{Buffer, DType, Indices, OpError, View, ViewMut};

/// `out[r] = decode(table[ids[r]])`.
#[derive(Debug)]
pub struct Embed<'a, B> {
    /// Rows to choose from, any weight format, `[vocab, n]`.
    pub table: View<'a, B>,
    /// Rows chosen, `u32[rows]`, each below `vocab`.
    pub ids: Indices<'a, B>,
    /// Chosen rows, f32 `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands!(Embed { table, ids, out } {});

impl<B: Buffer> Embed<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("table", &self.table, &DType::WEIGHTS, 2)?;
        checker.output("out", &self.out, &[DType::F32], 2)?;
        checker.dim("out", &self.out.layout, 1, self.table.layout.dim(1), "columns of table")?;
        let (rows, vocab) = (self.out.layout.dim(0), self.table.layout.dim(0));
        checker.indices("ids", &self.ids, rows, vocab, "rows of table")
    }
}
