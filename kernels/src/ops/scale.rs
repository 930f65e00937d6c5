//! Product of a tensor with a number.
//!
//! # Formula
//!
//! `out[r, i] = factor · x[r, i]`
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `x` | float | `[rows, n]` | or in place |
//! | `out` | float | `[rows, n]` | |
//! | `factor` | f32 | | finite; zero and negative ones too |
//!
//! # Errors
//!
//! `factor` NaN or infinite; `out` not shaped as `x`.
//!
//! # Bound
//!
//! Zero, against the f32 nearest to the exact product (ties to even): one product of two f32, as in
//! [`mul`](super::mul). In particular a division by `1/factor` does not conform, for it rounds twice, and a denormal
//! result is not zero.
//!
//! # Edge cases
//!
//! * `factor = 1` copies, `factor = −1` flips signs, both bit for bit for numbers.
//! * `factor = 0` gives zeros with the signs of `x`, and NaN where `x` is NaN or infinite: it is no way to clear memory that
//!   holds garbage. [`fill`](super::fill) is.
//! * A product of at least `2^128 − 2^103` in magnitude is an infinity.
//! * In place, `out` is read before it is written, element by element.
//!
//! # References
//!
//! IEEE 754-2019, 5.4.1. ggml's `GGML_OP_SCALE` without its added constant.

use super::{Checker, operands};
use crate::{Buffer, DType, OpError, Source, ViewMut};

pub use super::add::Element;

/// `out = factor · x`.
#[derive(Debug)]
pub struct Scale<'a, B> {
    /// Floats `[rows, n]`.
    pub x: Source<'a, B>,
    /// Floats `[rows, n]`.
    pub out: ViewMut<'a, B>,
    /// The number.
    pub factor: f32,
}

operands! {
    Scale: Rounded { x, out } { factor }
    floats { x, out }
    rows: Independent { x 0, out 0 }
    columns: Independent { x 1, out 1 }
}

impl<B: Buffer> Scale<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        let x = self.x.view(&self.out);
        checker.input("x", &x, &DType::FLOATS, 2)?;
        checker.same_shape("out", &self.out.layout, "x", &x.layout)?;
        checker.param("factor", self.factor.is_finite(), "finite", self.factor)
    }
}
