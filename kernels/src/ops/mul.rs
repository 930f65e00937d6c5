//! Product of two tensors, or of a tensor and a row, element by element.
//!
//! # Formula
//!
//! `out[r, i] = a[r, i] · b[r, i]`, or `a[r, i] · b[0, i]` where `b` has one row.
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `a` | float | `[rows, n]` | or in place |
//! | `b` | float | `[rows, n]` or `[1, n]` | one row serves all |
//! | `out` | float | `[rows, n]` | |
//!
//! # Errors
//!
//! `out` not shaped as `a`; `b` with other columns than `a`, or with rows that are neither one nor those of `a`.
//!
//! # Bound
//!
//! Zero, against the f32 nearest to the exact product (ties to even). The product of two f32 has at most 48
//! significant bits and an exponent of at least −298, so f64 holds it exactly and the reference rounds once. One product in f32
//! rounds once as well.
//!
//! A denormal result is rounded like any other, to a multiple of `2^-149`: zero is right only up to `2^-150`.
//!
//! # Edge cases
//!
//! * A product of at least `2^128 − 2^103` in magnitude is an infinity.
//! * `0·∞` is NaN, and NaN times anything is NaN; in that element only.
//! * The sign of a zero is the product of the signs. A comparison within a bound of zero does not tell the two zeros
//!   apart; the golden cases do.
//! * In place, `out` is read before it is written, element by element.
//!
//! # References
//!
//! IEEE 754-2019, 5.4.1. ggml's `GGML_OP_MUL` with a second operand that repeats along the rows.

use super::{Checker, operands};
use crate::{Buffer, OpError, Source, View, ViewMut};

pub use super::add::Element;

/// `out = a · b`, where `b` may be one row for all.
#[derive(Debug)]
pub struct Mul<'a, B> {
    /// Floats `[rows, n]`.
    pub a: Source<'a, B>,
    /// Floats `[rows, n]`, or `[1, n]` for every row alike.
    pub b: View<'a, B>,
    /// Floats `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Mul: Rounded { a, b, out } {}
    floats { a, b, out }
    rows: Independent { a 0, b 0, out 0 }
    columns: Independent { a 1, b 1, out 1 }
}

impl<B: Buffer> Mul<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.binary(&self.a, &self.b, &self.out)
    }
}
