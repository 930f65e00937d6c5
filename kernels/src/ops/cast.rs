//! Conversion between floating-point formats, rounding to nearest, ties to even.

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

operands!(Cast { x, out } {});

impl<B: Buffer> Cast<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &DType::FLOATS, 2)?;
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
