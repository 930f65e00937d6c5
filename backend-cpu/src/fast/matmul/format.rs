//! What a product with 8-bit activations needs to know of a weight format.
//!
//! A run of 32 weights is `scale·(code − bias)·part + offset·minimum`: codes of 8 bits, a constant bias, integers `part` and `minimum`
//! for each half of the run, floats `scale` and `offset` for the run. All products and sums of integers are exact, so a
//! dot product of a run has two floats to multiply by at most.

use super::super::simd::{Rows16, Simd};
use super::group::Operation;

/// Rows of weights that are multiplied side by side: one for each lane of a wide vector.
pub const ROWS: usize = 16;

/// The integers that a run's codes are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// Signed bytes.
    Signed,
    /// Unsigned bytes, 63 at most, from which this is subtracted.
    Unsigned(i32),
}

/// What a run adds beside its codes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Offsets {
    /// Nothing.
    None,
    /// The same for all its weights: all minimums are 1.
    Whole,
    /// Something for each half.
    Halves,
}

/// What the codes of a run are multiplied by, for each of [`ROWS`] rows.
#[derive(Clone, Copy)]
pub struct Factors<S: Simd> {
    /// Factor on everything with codes.
    pub scale: S::G,
    /// Integer factors on the codes of each half.
    pub parts: [S::W; 2],
    /// Factor on the minimums.
    pub offset: S::G,
    /// Integers that are added for each half, without a code.
    pub minimums: [S::W; 2],
}

impl<S: Simd> Factors<S> {
    /// One float for a run.
    #[inline(always)]
    pub fn plain(s: S, scale: S::G) -> Self {
        let one = s.splat_int16(1);
        Factors { scale, parts: [one; 2], offset: s.splat16(0.0), minimums: [one; 2] }
    }

    /// One float for a run, and one to be added.
    #[inline(always)]
    pub fn with_offset(s: S, scale: S::G, offset: S::G) -> Self {
        Factors { offset, ..Factors::plain(s, scale) }
    }
}

/// A weight format of blocks of `BYTES` bytes that hold `RUNS` runs of 32 weights.
pub trait Format<const BYTES: usize, const RUNS: usize> {
    /// How a run is multiplied.
    type Operation: Operation;
    /// Runs whose codes are cut from the same bytes.
    const SHARING: usize;
    /// What the factors of all runs of a block are made of.
    type Header<S: Simd>: Copy;
    /// What the codes of [`Self::SHARING`] runs are cut from.
    type Bits<S: Simd>: Copy;

    /// The header of the blocks at byte `at` of each row.
    fn header<S: Simd>(s: S, rows: Rows16<'_>, at: usize) -> Self::Header<S>;

    /// The factors of run `run`.
    fn factors<S: Simd>(s: S, header: &Self::Header<S>, run: usize) -> Factors<S>;

    /// The bits of the runs that are number `nth` of those that share theirs, in the blocks at byte `at` of each row.
    fn bits<S: Simd>(s: S, rows: Rows16<'_>, at: usize, nth: usize) -> Self::Bits<S>;

    /// Run number `i` of those that share the bits number `nth`.
    fn run(nth: usize, i: usize) -> usize {
        nth * Self::SHARING + i
    }

    /// The codes of run `run`, cut from its bits: element `q` has codes `4q..4q + 4`.
    fn codes<S: Simd>(s: S, bits: &Self::Bits<S>, run: usize) -> [S::W; 8];
}

/// The low halves of 16 bytes at `at` of each row, then their high halves.
#[inline(always)]
pub fn nibbles<S: Simd>(s: S, rows: Rows16<'_>, at: usize) -> [S::W; 8] {
    let [a, b, c, d] = s.quads(rows, at);
    [
        s.field16(a, 0, 15),
        s.field16(b, 0, 15),
        s.field16(c, 0, 15),
        s.field16(d, 0, 15),
        s.field16(a, 4, 15),
        s.field16(b, 4, 15),
        s.field16(c, 4, 15),
        s.field16(d, 4, 15),
    ]
}

/// Bits `shift` and up of bytes, as far as `mask` keeps them.
#[inline(always)]
pub fn plane<S: Simd>(s: S, mut codes: [S::W; 8], shift: u32, mask: u8) -> [S::W; 8] {
    for code in &mut codes {
        *code = s.field16(*code, shift, mask);
    }
    codes
}

/// 32 bytes at `at` of each row.
#[inline(always)]
pub fn bytes<S: Simd>(s: S, rows: Rows16<'_>, at: usize) -> [S::W; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (s.quads(rows, at), s.quads(rows, at + 16));
    [a, b, c, d, e, f, g, h]
}

/// `low | high·2^shift`.
#[inline(always)]
pub fn joined<S: Simd>(s: S, mut low: [S::W; 8], high: [S::W; 8], shift: u32) -> [S::W; 8] {
    for (low, high) in low.iter_mut().zip(high) {
        *low = s.or_shifted16(*low, high, shift);
    }
    low
}

/// The levels that codes are the numbers of.
#[inline(always)]
pub fn levels<S: Simd>(s: S, mut codes: [S::W; 8], table: &[i8; 16]) -> [S::W; 8] {
    for code in &mut codes {
        *code = s.look_up16(table, *code);
    }
    codes
}

/// The f16 at byte `at` of each row.
#[inline(always)]
pub fn half<S: Simd>(s: S, rows: Rows16<'_>, at: usize) -> S::G {
    s.halves16(s.words(rows, at))
}

/// The f16 at byte `at` of each row, and the one after it.
#[inline(always)]
pub fn two_halves<S: Simd>(s: S, words: S::W) -> [S::G; 2] {
    [s.halves16(words), s.halves16(s.word_field16(words, 16, 0xffff))]
}
