//! Sets every element to one value.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, ViewMut};

/// `out = value`.
#[derive(Debug)]
pub struct Fill<'a, B> {
    /// f32, f16 or bf16 `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// The value, rounded to the type of `out`.
    pub value: f32,
}

operands!(Fill { out } { value });

impl<B: Buffer> Fill<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        checker.param("value", self.value.is_finite(), "finite", self.value)
    }
}
