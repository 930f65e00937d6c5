//! Cases of `copy`.

use kernels::{DType, Stem};

use super::convert::Conversion;

/// Cases of `copy`.
#[derive(Debug)]
pub struct Copy;

/// The family of this op.
pub type Cases = super::convert::Converted<Copy>;

impl Conversion for Copy {
    const STEM: Stem = Stem::Copy;

    fn pairs() -> Vec<(DType, DType)> {
        DType::WEIGHTS.into_iter().chain([DType::U32]).map(|dtype| (dtype, dtype)).collect()
    }
}
