//! Gated SiLU: the activation of SwiGLU.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, Source, View, ViewMut};

/// `out = gate · sigmoid(gate) · up`.
#[derive(Debug)]
pub struct SiluMul<'a, B> {
    /// Argument of the activation, f32 `[rows, n]`.
    pub gate: Source<'a, B>,
    /// Factor, f32 `[rows, n]`.
    pub up: View<'a, B>,
    /// Result, f32 `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands!(SiluMul { gate, up, out } {  });

impl<B: Buffer> SiluMul<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &[DType::F32], 2)?;
        let gate = self.gate.view(&self.out);
        checker.input("gate", &gate, &[DType::F32], 2)?;
        checker.input("up", &self.up, &[DType::F32], 2)?;
        checker.same_shape("out", &self.out.layout, "gate", &gate.layout)?;
        checker.same_shape("up", &self.up.layout, "gate", &gate.layout)
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
