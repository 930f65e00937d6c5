//! Validation of `mul`: the refusals are tested with those of [`add`](crate::add).

use kernels::{Record, Stem};

use crate::add::binary;

pub(crate) fn sample() -> Record {
    binary(Stem::Mul)
}
