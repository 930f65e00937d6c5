//! Decoding of a weight format to floats.
//!
//! # Formula
//!
//! `out[r, i] = decode(x)[r, i]`, where the page of each format in [`quant`](crate::quant) says to what f32 its bytes decode. A
//! shorter `out` takes the nearest number of its own, ties to even.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | any weight format | `[rows, n]` | `n` fills whole blocks |
//! | `out` | float | `[rows, n]` | |
//!
//! # Errors
//!
//! `x` of `u32`; `n` not a multiple of the block length; `out` not shaped as `x`.
//!
//! # Bound
//!
//! None: equal bits. Every format decodes by exact products and at most one rounding per value, so that a fused
//! multiply-add gives the same f32 as a separate one. See [`quant`](crate::quant), *Exactness*.
//!
//! # Edge cases
//!
//! * Every byte pattern is a block. An infinite or NaN scale decodes to infinities and NaN in its own block only; which
//!   NaN is free.
//! * The sign of a zero counts.
//! * Subnormal results, which only f32, bf16 and mxfp4 hold, are kept.
//! * f32 is copied to f32.
//!
//! # References
//!
//! `dequantize_row_*` in ggml's `ggml-quants.c`; `gguf.quants.dequantize` of the Python package `gguf`.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out = decode(x)`, bit for bit as the format's page says.
#[derive(Debug)]
pub struct Dequantize<'a, B> {
    /// Blocks of any weight format, `[rows, n]`.
    pub x: View<'a, B>,
    /// Floats `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Dequantize: Bitwise { x, out } {}
    floats { out }
    rows: Independent { x 0, out 0 }
    columns: Independent { x 1, out 1 }
}

impl<B: Buffer> Dequantize<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &DType::WEIGHTS, 2)?;
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
