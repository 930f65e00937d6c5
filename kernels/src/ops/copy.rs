//! Copy of a tensor, of any type, between any strides.
//!
//! # Formula
//!
//! `out[r, i] = x[r, i]`, byte for byte.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | any, `u32` included | `[rows, n]` | may be transposed |
//! | `out` | the type of `x` | `[rows, n]` | |
//!
//! # Errors
//!
//! `out` of another type or shape than `x`; a row or a stride that is not whole blocks; a transposed `x` in blocks.
//!
//! # Bound
//!
//! None: equal bytes. Only a NaN of a plain float may change its payload on the way.
//!
//! # Edge cases
//!
//! * The rows of either side may lie apart. Padding between the rows of `out` is not written.
//! * The rows of `x` may overlap, or be one row again and again (stride 0); those of `out` may not.
//! * A transposed `x` of elements without blocks becomes rows: this op transposes a matrix.
//! * Quantised blocks are copied as they are: an unused bit pattern stays what it is.
//!
//! # References
//!
//! ggml's `GGML_OP_CPY` between tensors of one type.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out = x`, byte for byte.
#[derive(Debug)]
pub struct Copy<'a, B> {
    /// Any type, `[rows, n]`.
    pub x: View<'a, B>,
    /// The type of `x`, `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Copy: Bitwise { x, out } {}
    floats {}; transposable { x }
    rows: Independent { x 0, out 0 }
    columns: Independent { x 1, out 1 }
}

/// Every type there is.
const ANY: [DType; 17] = {
    let mut all = [DType::U32; 17];
    let mut i = 0;
    while i < DType::WEIGHTS.len() {
        all[i] = DType::WEIGHTS[i];
        i += 1;
    }
    all
};

impl<B: Buffer> Copy<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &ANY, 2)?;
        checker.output("out", &self.out, &[self.x.layout.dtype()], 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
