//! Decoding of a weight format to f32.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out = decode(x)`, bit for bit as the format's page says.
#[derive(Debug)]
pub struct Dequantize<'a, B> {
    /// Blocks of any weight format, `[rows, n]`.
    pub x: View<'a, B>,
    /// f32 `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands!(Dequantize { x, out } {});

impl<B: Buffer> Dequantize<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &DType::WEIGHTS, 2)?;
        checker.output("out", &self.out, &[DType::F32], 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
