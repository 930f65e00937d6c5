//! Cases of `quantize`.

use kernels::{DType, Stem};

use super::convert::Conversion;

/// Cases of `quantize`.
#[derive(Debug)]
pub struct Quantize;

/// The family of this op.
pub type Cases = super::convert::Converted<Quantize>;

impl Conversion for Quantize {
    const STEM: Stem = Stem::Quantize;

    fn pairs() -> Vec<(DType, DType)> {
        DType::QUANTIZABLE.map(|to| (DType::F32, to)).into()
    }
}
