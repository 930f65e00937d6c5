//! Encoding of floats in a simple block format.
//!
//! # Formula
//!
//! `out[r] = encode(x[r])`, block by block, where the page of each format in [`quant`](crate::quant) gives the formula.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[rows, n]` | |
//! | `out` | `q4_0`, `q4_1`, `q5_0`, `q5_1` or `q8_0` | `[rows, n]` | `n` a multiple of 32 |
//!
//! # Errors
//!
//! `out` of another type; `n` not a multiple of 32; `out` not shaped as `x`.
//!
//! # Bound
//!
//! None: equal bytes, scales and codes alike. A code is a decision (`x·(1/d)` on one side of a half or the other), so the
//! arithmetic before it is part of the contract: f32, each operation rounded on its own, `1/d` rounded before it is
//! multiplied by, no fused multiply-add where a format adds its offset to the product. An implementation that divides by
//! `d`, or fuses, moves a value near a tie to the next code; such a block is wrong.
//!
//! # Edge cases
//!
//! * A block of zeros has codes that decode to zeros; `q4_0` and `q5_0` then store the scale `−0`.
//! * A constant block of `q4_1` and `q5_1` has scale 0 and codes 0.
//! * A NaN is passed over by the comparisons that find a block's peak or extent, and takes code 0 itself.
//! * An infinite peak, or one so small that `1/d` overflows, gives codes that saturate. See
//!   [`quant`](crate::quant), *Exactness*.
//! * A scale beyond f16 is stored as an infinity, one below half of its smallest number as 0; the codes do not know.
//!
//! # References
//!
//! `quantize_row_*_ref` in ggml's `ggml-quants.c`; `gguf.quants.quantize` of the Python package `gguf`.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out = encode(x)`, bit for bit as the format's page says.
#[derive(Debug)]
pub struct Quantize<'a, B> {
    /// Floats `[rows, n]`.
    pub x: View<'a, B>,
    /// Blocks of `q8_0`, `q4_0`, `q4_1`, `q5_0` or `q5_1`, `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Quantize: Bitwise { x, out } {}
    floats { x }
    rows: Independent { x 0, out 0 }
    columns: Independent { x 1, out 1 }
}

impl<B: Buffer> Quantize<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &DType::FLOATS, 2)?;
        checker.output("out", &self.out, &DType::QUANTIZABLE, 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
