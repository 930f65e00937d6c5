//! Cases of `dequantize`.

use kernels::{DType, Stem};

use super::convert::Conversion;

/// Cases of `dequantize`.
#[derive(Debug)]
pub struct Dequantize;

/// The family of this op.
pub type Cases = super::convert::Converted<Dequantize>;

impl Conversion for Dequantize {
    const STEM: Stem = Stem::Dequantize;

    fn pairs() -> Vec<(DType, DType)> {
        DType::WEIGHTS.map(|from| (from, DType::F32)).into()
    }
}
