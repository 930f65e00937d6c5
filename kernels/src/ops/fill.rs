//! Sets every element to one value.
//!
//! # Formula
//!
//! `out[r, i] = round(value)`
//!
//! # Operands
//!
//! | operand | type | shape | |
//! |---|---|---|---|
//! | `out` | f32, f16 or bf16 | `[rows, n]` | |
//! | `value` | f32 | | finite |
//!
//! # Errors
//!
//! `value` NaN or infinite; `out` of another type.
//!
//! # Bound
//!
//! None: equal bits. The value is rounded to the type of `out` as [`cast`](super::cast) rounds.
//!
//! # Edge cases
//!
//! * `−0` fills with `−0`.
//! * A finite value beyond f16 or bf16 fills with an infinity, as in [`cast`](super::cast).
//! * What `out` held before plays no part: NaN is overwritten too. Padding between its rows is not written.
//!
//! # References
//!
//! ggml's `GGML_OP_FILL`.

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

operands! {
    Fill: Bitwise { out } { value }
    floats {}
    rows: Independent { out 0 }
    columns: Independent { out 1 }
}

impl<B: Buffer> Fill<'_, B> {
    pub(crate) fn check(&self, checker: &Checker) -> Result<(), OpError> {
        checker.output("out", &self.out, &DType::FLOATS, 2)?;
        checker.param("value", self.value.is_finite(), "finite", self.value)
    }
}
