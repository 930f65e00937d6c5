//! Element types and the sizes of their blocks.
//!
//! Sizes stand here and nowhere else. A quantised type stores `block_len` elements in
//! `block_bytes` bytes; a plain type has blocks of one element. How the bits of a block
//! become numbers is in [`crate::quant`], one file per format.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Float;

/// Type of the elements of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[expect(missing_docs, reason = "the variants are the names of the formats")]
pub enum DType {
    F32,
    F16,
    BF16,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Nl,
    Iq4Xs,
    Mxfp4,
    /// Token ids, positions, sequence numbers and the result of `argmax`.
    U32,
}

struct Row {
    name: &'static str,
    ggml: Option<u32>,
    block_len: usize,
    block_bytes: usize,
}

const fn row(name: &'static str, ggml: u32, block_len: usize, block_bytes: usize) -> Row {
    Row { name, ggml: Some(ggml), block_len, block_bytes }
}

impl DType {
    /// Every type a weight may have, in the order of the tables in reports.
    pub const WEIGHTS: [DType; 16] = [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::Q4_0,
        DType::Q4_1,
        DType::Q5_0,
        DType::Q5_1,
        DType::Q8_0,
        DType::Q2K,
        DType::Q3K,
        DType::Q4K,
        DType::Q5K,
        DType::Q6K,
        DType::Iq4Nl,
        DType::Iq4Xs,
        DType::Mxfp4,
    ];

    /// Types that `quantize` can produce.
    pub const QUANTIZABLE: [DType; 5] = [DType::Q4_0, DType::Q4_1, DType::Q5_0, DType::Q5_1, DType::Q8_0];

    /// Types a KV cache may have.
    pub const CACHE: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::Q8_0];

    /// Types of activations, the *floats* of the op pages.
    pub const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

    const fn row(self) -> Row {
        match self {
            DType::F32 => row("f32", 0, 1, 4),
            DType::F16 => row("f16", 1, 1, 2),
            DType::BF16 => row("bf16", 30, 1, 2),
            DType::Q4_0 => row("q4_0", 2, 32, 18),
            DType::Q4_1 => row("q4_1", 3, 32, 20),
            DType::Q5_0 => row("q5_0", 6, 32, 22),
            DType::Q5_1 => row("q5_1", 7, 32, 24),
            DType::Q8_0 => row("q8_0", 8, 32, 34),
            DType::Q2K => row("q2_k", 10, 256, 84),
            DType::Q3K => row("q3_k", 11, 256, 110),
            DType::Q4K => row("q4_k", 12, 256, 144),
            DType::Q5K => row("q5_k", 13, 256, 176),
            DType::Q6K => row("q6_k", 14, 256, 210),
            DType::Iq4Nl => row("iq4_nl", 20, 32, 18),
            DType::Iq4Xs => row("iq4_xs", 23, 256, 136),
            DType::Mxfp4 => row("mxfp4", 39, 32, 17),
            DType::U32 => Row { name: "u32", ggml: None, block_len: 1, block_bytes: 4 },
        }
    }

    /// The format of a plain float; `None` for blocks and indices.
    pub const fn float(self) -> Option<Float> {
        match self {
            DType::F32 => Some(Float::F32),
            DType::F16 => Some(Float::F16),
            DType::BF16 => Some(Float::BF16),
            _ => None,
        }
    }

    /// Name as in case names, reports and file names.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Elements in a block.
    pub const fn block_len(self) -> usize {
        self.row().block_len
    }

    /// Bytes in a block.
    pub const fn block_bytes(self) -> usize {
        self.row().block_bytes
    }

    /// Number of the type in a GGUF file; `u32` indices never occur in one.
    pub const fn ggml(self) -> Option<u32> {
        self.row().ggml
    }

    /// The type that a GGUF file means by `id`, if Assay knows it.
    pub fn from_ggml(id: u32) -> Option<DType> {
        DType::WEIGHTS.into_iter().find(|d| d.ggml() == Some(id))
    }

    /// True where a block holds more than one element.
    pub const fn is_quantised(self) -> bool {
        self.block_len() > 1
    }

    /// Bytes of `elements` consecutive elements, if they fill whole blocks and the size fits.
    pub const fn bytes_of(self, elements: usize) -> Option<usize> {
        if elements.is_multiple_of(self.block_len()) {
            (elements / self.block_len()).checked_mul(self.block_bytes())
        } else {
            None
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no type's.
#[derive(Debug, thiserror::Error)]
#[error("unknown element type '{0}'")]
pub struct UnknownDType(String);

impl FromStr for DType {
    type Err = UnknownDType;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let all = DType::WEIGHTS.into_iter().chain([DType::U32]);
        all.into_iter().find(|d| d.name() == name).ok_or_else(|| UnknownDType(name.into()))
    }
}

impl TryFrom<String> for DType {
    type Error = UnknownDType;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        name.parse()
    }
}

impl From<DType> for String {
    fn from(dtype: DType) -> Self {
        dtype.name().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ggml_ids_lead_back_to_the_type() {
        for dtype in DType::WEIGHTS {
            assert_eq!(dtype.name().parse::<DType>().unwrap(), dtype);
            assert_eq!(DType::from_ggml(dtype.ggml().unwrap()), Some(dtype));
        }
        assert_eq!("u32".parse::<DType>().unwrap(), DType::U32);
        assert!("q9_9".parse::<DType>().unwrap_err().to_string().contains("q9_9"));
    }

    #[test]
    fn bytes_of_refuses_part_of_a_block_and_overflow() {
        assert_eq!(DType::Q4_0.bytes_of(64), Some(36));
        assert_eq!(DType::Q4_0.bytes_of(33), None);
        assert_eq!(DType::F32.bytes_of(usize::MAX), None);
    }
}
