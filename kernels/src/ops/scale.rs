//! Product of a tensor with a number.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, Source, ViewMut};

/// `out = factor · x`.
#[derive(Debug)]
pub struct Scale<'a, B> {
    /// f32 `[rows, n]`.
    pub x: Source<'a, B>,
    /// f32 `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// The number.
    pub factor: f32,
}

operands!(Scale { x, out } { factor });

impl<B: Buffer> Scale<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &[DType::F32], 2)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &[DType::F32], 2)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        checker.param("factor", self.factor.is_finite(), "finite", self.factor)
    }
}

/// An element of the exact result.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Its value.
    pub y: f64,
}

impl crate::Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, _numerics: &crate::Numerics) -> f64 {
        0.0
    }
}
