//! Sum of two tensors, or of a tensor and a row.
//!
//! # Formula
//!
//! `out[r, i] = a[r, i] + b[r, i]`, or `a[r, i] + b[0, i]` where `b` has one row.
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
//! Zero, against the f32 nearest to the exact sum (ties to even). One addition in f32 gives it, and so does one in any
//! wider format that is rounded to f32 afterwards, as long as the wider format has at least `2·24 + 2` significant
//! bits: rounding twice is then the same as rounding once (Figueroa). f64 has 53.
//!
//! A sum of two f32 is a multiple of `2^-149`. Where it is denormal it is therefore exact, and nothing excuses a backend
//! that returns zero.
//!
//! Stored in a shorter format, the sum may be rounded to f32 on the way, so that it is rounded once or twice: `store(y)`.
//!
//! # Edge cases
//!
//! * A sum of at least `2^128 − 2^103` in magnitude is an infinity.
//! * `∞ + −∞` is NaN, and NaN plus anything is NaN; in that element only.
//! * `x + −x` is `+0`; `−0 + −0` is `−0`. A comparison within a bound of zero does not tell the two zeros apart; the
//!   golden cases do.
//! * In place, `out` is read before it is written, element by element.
//!
//! # References
//!
//! IEEE 754-2019, 5.4.1. Figueroa, *When is double rounding innocuous?* (SIGNUM Newsletter 30, 1995). ggml's `GGML_OP_ADD` with a
//! second operand that repeats along the rows.

use super::{Checker, operands};
use crate::{Buffer, Float, Judged, Numerics, OpError, Source, Spread, View, ViewMut};

/// `out = a + b`, where `b` may be one row for all.
#[derive(Debug)]
pub struct Add<'a, B> {
    /// Floats `[rows, n]`.
    pub a: Source<'a, B>,
    /// Floats `[rows, n]`, or `[1, n]` for every row alike.
    pub b: View<'a, B>,
    /// Floats `[rows, n]`.
    pub out: ViewMut<'a, B>,
}

operands! {
    Add: Rounded { a, b, out } {}
    floats { a, b, out }
    rows: Independent { a 0, b 0, out 0 }
    columns: Independent { a 1, b 1, out 1 }
}

impl<B: Buffer> Add<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.binary(&self.a, &self.b, &self.out)
    }
}

/// An element of a result that has to be correctly rounded; [`mul`](super::mul) and [`scale`](super::scale) have the same.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    y: f64,
}

impl Element {
    /// The f32 nearest to `exact`, the result of one operation on f32 operands as f64 gives it.
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is what is meant")]
    pub fn nearest(exact: f64) -> Self {
        Element { y: f64::from(exact as f32) }
    }
}

impl Judged for Element {
    fn value(&self) -> f64 {
        self.y
    }

    fn bound(&self, numerics: &Numerics, out: Float) -> f64 {
        if out == Float::F32 { 0.0 } else { numerics.store(out, self.y) }
    }

    fn spread(&self, numerics: &Numerics, out: Float) -> Spread {
        Spread { own: self.bound(numerics, out), ..Spread::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_on_and_beside_the_middle_of_two_numbers_round_as_in_f32() {
        let half_ulp = 2f32.powi(-24);
        for a in [1.0, 1.0f32.next_up()] {
            for b in [half_ulp.next_down(), half_ulp, half_ulp.next_up(), 2f32.powi(-60), -half_ulp / 2.0] {
                let rounded = Element::nearest(f64::from(a) + f64::from(b)).value();
                assert_eq!(rounded.to_bits(), f64::from(a + b).to_bits(), "{a} {b}");
            }
        }
        assert!(Element::nearest(f64::from(f32::MAX) + 2f64.powi(103)).value().is_infinite());
    }
}
