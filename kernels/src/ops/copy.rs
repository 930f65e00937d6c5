//! Copy of a tensor, of any type, between any strides.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, View, ViewMut};

/// `out = x`, byte for byte.
#[derive(Debug)]
pub struct Copy<'a, B> {
    /// Any type, `[rows, n]`.
    pub x: View<'a, B>,
    /// The type of `x`, `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands!(Copy { x, out } {});

/// Every type there is.
const ANY: [DType; 17] = {
    let mut all = [DType::U32; 17];
    let mut i = 0;
    while i < DType::WEIGHTS.len() {
        all[i] = DType::WEIGHTS[i];
        i += 1;
    }
    all
};

impl<B: Buffer> Copy<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.input("x", &self.x, &ANY, 2)?;
        checker.output("out", &self.out, &[self.x.layout.dtype()], 2)?;
        checker.same_shape("out", &self.out.layout, "x", &self.x.layout)
    }
}
