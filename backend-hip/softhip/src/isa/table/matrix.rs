//! What a matrix operation multiplies.

/// `D = A · B + C`, where A has `m × k`, B `k × m`, C and D `m × m` numbers per block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Matrix {
    /// Rows of A and D; also columns of B and D.
    pub m: usize,
    /// Columns of A and rows of B. Of a sparse operation, before half of A's columns are left out.
    pub k: usize,
    /// Products that are independent of each other.
    pub blocks: usize,
    /// Numbers of A.
    pub a: Element,
    /// Numbers of B.
    pub b: Element,
}

/// A format of the numbers of A and B.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is named by its type")]
pub enum Element {
    F64,
    F32,
    /// f32 of which only the upper 19 bits count.
    Xf32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    I8,
}

impl Element {
    /// Bits of a number.
    pub const fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Xf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::Fp8 | Self::Bf8 | Self::I8 => 8,
        }
    }
}
