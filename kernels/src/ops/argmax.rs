//! Index of the largest element of each row.
//!
//! # Formula
//!
//! `out[r] = min { i : x[r, i] = max_j x[r, j] }`
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[rows, n]` | |
//! | `out` | `u32` | `[rows]` | |
//!
//! # Errors
//!
//! `out` not as long as `x` has rows; `n` beyond `u32`.
//!
//! # Bound
//!
//! None: equal integers. Comparing rounds nothing.
//!
//! # Edge cases
//!
//! * Of equal elements the one with the lowest index counts. `−0` equals `+0`.
//! * Infinities are ordinary: `+∞` is above every number, and a row of `−∞` alone gives 0.
//! * NaN, of either sign, is below every number, `−∞` included. A row of NaN alone gives 0.
//!
//! # References
//!
//! ggml's `GGML_OP_ARGMAX`, which leaves NaN open; greedy decoding is this op on a row of logits.

use super::{Checker, operands};
use crate::{Buffer, Check, DType, OpError, View, ViewMut};

/// `out[r] = min { i : x[r, i] = max_j x[r, j] }`.
#[derive(Debug)]
pub struct Argmax<'a, B> {
    /// Floats `[rows, n]`.
    pub x: View<'a, B>,
    /// `u32[rows]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Argmax: Bitwise { x, out } {}
    floats { x }
    rows: Independent { x 0, out 0 }
    columns: Summed { x 1 }
}

impl<B: Buffer> Argmax<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &DType::FLOATS, 2)?;
        checker.output("out", &self.out, &[DType::U32], 1)?;
        checker.dim("out", &self.out.layout, 0, self.x.layout.dim(0), "rows of x")?;
        if u32::try_from(self.x.layout.dim(1)).is_err() {
            let want = format!("at most {} columns", u32::MAX);
            return Err(checker.error("x", Check::Shape, want, self.x.layout.dim(1)));
        }
        Ok(())
    }
}
