//! Product of activations with a weight matrix, transposed: every output is a dot product of two rows.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out[r, c] = Σ_k x[r, k] · decode(weight)[c, k] + bias[c]`.
#[derive(Debug)]
pub struct Matmul<'a, B> {
    /// Activations, f32 `[m, k]`.
    pub x: View<'a, B>,
    /// Weights, any weight format, `[n, k]`.
    pub weight: View<'a, B>,
    /// Added to each row, f32 `[n]`.
    pub bias: Option<View<'a, B>>,
    /// Result, f32 `[m, n]`.
    pub out: ViewMut<'a, B>,
}

operands!(Matmul { x, weight, bias, out } {});

impl<B: Buffer> Matmul<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &[DType::F32], 2)?;
        checker.input("weight", &self.weight, &DType::WEIGHTS, 2)?;
        checker.output("out", &self.out, &[DType::F32], 2)?;
        checker.dim("weight", &self.weight.layout, 1, self.x.layout.dim(1), "columns of x")?;
        checker.dim("out", &self.out.layout, 0, self.x.layout.dim(0), "rows of x")?;
        checker.dim("out", &self.out.layout, 1, self.weight.layout.dim(0), "rows of weight")?;
        if let Some(bias) = &self.bias {
            checker.input("bias", bias, &[DType::F32], 1)?;
            checker.dim("bias", &bias.layout, 0, self.weight.layout.dim(0), "rows of weight")?;
        }
        Ok(())
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
