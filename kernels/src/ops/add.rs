//! Sum of two tensors, or of a tensor and a row.

use super::{Checker, operands};
use crate::{Buffer, OpError, Source, View, ViewMut};

/// `out = a + b`, where `b` may be one row for all.
#[derive(Debug)]
pub struct Add<'a, B> {
    /// f32 `[rows, n]`.
    pub a: Source<'a, B>,
    /// f32 `[rows, n]`, or `[1, n]` for every row alike.
    pub b: View<'a, B>,
    /// f32 `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands!(Add { a, b, out } {});

impl<B: Buffer> Add<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.binary(&self.a, &self.b, &self.out)
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
