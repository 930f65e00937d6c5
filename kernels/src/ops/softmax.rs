//! Softmax of rows.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, Source, ViewMut};

/// `out[r, i] = exp(scale·x[r, i] − max) / Σ_j exp(scale·x[r, j] − max)`.
#[derive(Debug)]
pub struct Softmax<'a, B> {
    /// Logits, f32 `[rows, n]`.
    pub x: Source<'a, B>,
    /// Probabilities, f32 `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// Factor on the logits.
    pub scale: f32,
}

operands!(Softmax { x, out } { scale });

impl<B: Buffer> Softmax<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &[DType::F32], 2)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &[DType::F32], 2)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        checker.param("scale", self.scale.is_finite(), "finite", self.scale)
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
