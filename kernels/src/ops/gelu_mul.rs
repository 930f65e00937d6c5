//! Gated GELU.

use serde::{Deserialize, Serialize};

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, Source, View, ViewMut};

/// The two formulas that go by the name of GELU; they differ by up to 5e-4.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gelu {
    /// `x/2 · (1 + erf(x/√2))`.
    Erf,
    /// `x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³)))`.
    Tanh,
}

/// `out = gelu(gate) · up`.
#[derive(Debug)]
pub struct GeluMul<'a, B> {
    /// Argument of the activation, f32 `[rows, n]`.
    pub gate: Source<'a, B>,
    /// Factor, f32 `[rows, n]`.
    pub up: View<'a, B>,
    /// Result, f32 `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// Which of the two formulas.
    pub form: Gelu,
}

operands!(GeluMul { gate, up, out } { form });

impl<B: Buffer> GeluMul<'_, B> {
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
