//! What a product with 8-bit activations needs to know of a weight format.
//!
//! A run of 32 weights is `scale·(code − bias)·part + offset·minimum`: codes of 8 bits, a constant bias, integers `part` and `minimum`
//! for each half of the run, floats `scale` and `offset` for the run. All products and sums of integers are exact, so a
//! dot product of a run has two floats to multiply by at most.

use super::super::simd::{Simd, eight};

/// Rows of weights that are multiplied side by side: one for each lane of a vector.
pub const ROWS: usize = 8;

/// For each of [`ROWS`] rows, an integer for the first half of a run and one for the second.
pub type Pairs = [[i16; 2]; ROWS];

/// All pairs 1.
pub const ONES: Pairs = [[1; 2]; ROWS];

/// What the codes of a run are multiplied by, for each of [`ROWS`] rows.
#[derive(Clone, Copy)]
pub struct Factors<S: Simd> {
    /// Factor on everything with codes.
    pub scale: S::F,
    /// Integer factors on the codes.
    pub parts: Pairs,
    /// Factor on the minimums.
    pub offset: S::F,
    /// Integers that are added, without a code.
    pub minimums: Pairs,
}

impl<S: Simd> Factors<S> {
    /// One float for a run.
    #[inline(always)]
    pub fn plain(s: S, scale: S::F) -> Self {
        Factors { scale, parts: ONES, offset: s.splat(0.0), minimums: ONES }
    }
}

/// The integers that a run's codes are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// Signed bytes.
    Signed,
    /// Unsigned bytes, 63 at most.
    Unsigned,
    /// Unsigned bytes, 63 at most, from which 2 to this power is subtracted.
    Biased(i32),
}

/// A weight format of blocks of `BYTES` bytes that hold `RUNS` runs of 32 weights.
pub trait Format<const BYTES: usize, const RUNS: usize> {
    /// What the codes are.
    const CODES: Codes;
    /// Whether the halves of a run have integer factors of their own.
    const PARTS: bool;
    /// Whether a run has an offset.
    const OFFSETS: bool;

    /// The codes of run `run`.
    fn codes<S: Simd>(s: S, block: &[u8; BYTES], run: usize) -> S::I;

    /// The factors of each run of eight blocks, one of each row.
    fn factors<S: Simd>(s: S, blocks: [&[u8; BYTES]; ROWS]) -> [Factors<S>; RUNS];
}

/// The f16 at byte `at` of each block.
#[inline(always)]
pub fn halves<S: Simd, const BYTES: usize>(s: S, blocks: [&[u8; BYTES]; ROWS], at: usize) -> S::F {
    s.halves(eight!(r => u16::from_le_bytes([blocks[r][at], blocks[r][at + 1]])))
}

/// `N` bytes of a block from `at` on.
#[inline(always)]
pub fn field<const N: usize, const BYTES: usize>(block: &[u8; BYTES], at: usize) -> &[u8; N] {
    // A range within the block, of constant ends once inlined.
    block[at..].first_chunk().unwrap_or(&[0; N])
}
