//! Cases of `cast`.

use kernels::{DType, Stem};

use super::convert::Conversion;

/// Cases of `cast`.
#[derive(Debug)]
pub struct Cast;

/// The family of this op.
pub type Cases = super::convert::Converted<Cast>;

impl Conversion for Cast {
    const STEM: Stem = Stem::Cast;

    fn pairs() -> Vec<(DType, DType)> {
        DType::FLOATS.into_iter().flat_map(|from| DType::FLOATS.map(|to| (from, to))).collect()
    }
}
