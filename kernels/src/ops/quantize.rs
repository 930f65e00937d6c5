//! Encoding of f32 in a simple block format.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out = encode(x)`, bit for bit as the format's page says.
#[derive(Debug)]
pub struct Quantize<'a, B> {
    /// f32 `[rows, n]`.
    pub x: View<'a, B>,
    /// Blocks of q8_0, q4_0, q4_1, q5_0 or q5_1, `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands!(Quantize { x, out } {});

impl<B: Buffer> Quantize<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &[DType::F32], 2)?;
        checker.output("out", &self.out, &DType::QUANTIZABLE, 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
