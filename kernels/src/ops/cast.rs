//! Conversion between floating-point formats, rounding to nearest, ties to even.
//!
//! # Formula
//!
//! `out[r, i] = round(x[r, i])`
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | f32, f16 or bf16 | `[rows, n]` | |
//! | `out` | f32, f16 or bf16 | `[rows, n]` | any pair, equal types too |
//!
//! # Errors
//!
//! Another type on either side; `out` not shaped as `x`.
//!
//! # Bound
//!
//! None: equal bits. To f32 nothing is rounded. Between f16 and bf16 the value passes through f32, which holds both, so it is
//! rounded once.
//!
//! # Edge cases
//!
//! * Ties go to the neighbour whose last bit is 0.
//! * Overflow gives an infinity: f16 from `±65520` on, bf16 from `±(2^128 − 2^119)` on.
//! * Subnormal results are kept, not flushed: the smallest f16 is `2^-24`, the smallest bf16 `2^-133`; half of it rounds to
//!   0, anything above to the smallest.
//! * Zeros and infinities keep their sign.
//! * A NaN stays a NaN, with a payload and sign that are free. It never rounds to an infinity.
//!
//! # References
//!
//! IEEE 754-2019, 4.3.1 and 5.4.2. [`quant::float`](crate::quant::float) has the formats.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out = round(x)`.
#[derive(Debug)]
pub struct Cast<'a, B> {
    /// f32, f16 or bf16 `[rows, n]`.
    pub x: View<'a, B>,
    /// f32, f16 or bf16 `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Cast: Bitwise { x, out } {}
    floats {}
    rows: Independent { x 0, out 0 }
    columns: Independent { x 1, out 1 }
}

impl<B: Buffer> Cast<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &DType::FLOATS, 2)?;
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
