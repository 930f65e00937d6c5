//! What a product with 8-bit activations needs to know of a weight format.
//!
//! A group is 32 consecutive weights of a row: `scale·(code − bias)·part + offset·minimum`, with codes of 8 bits, a constant bias,
//! integers `part` and `minimum` for each half of the group, and floats `scale` and `offset` for the group. All products and sums of
//! integers are exact, so the dot product of a group is multiplied by two floats at most.

use super::super::simd::{RowPanel, Simd};
use super::operation::Operation;

/// What the codes of a group are multiplied by, for each row of a panel.
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
    /// One float for a group.
    #[inline(always)]
    pub fn plain(s: S, scale: S::G) -> Self {
        let one = s.splat_int16(1);
        Factors { scale, parts: [one; 2], offset: s.splat16(0.0), minimums: [one; 2] }
    }

    /// One float for a group, and one to be added.
    #[inline(always)]
    pub fn with_offset(s: S, scale: S::G, offset: S::G) -> Self {
        Factors { offset, ..Factors::plain(s, scale) }
    }
}

/// A weight format of blocks of `BYTES` bytes that hold `GROUPS` groups.
pub trait Format<const BYTES: usize, const GROUPS: usize> {
    /// How a group is multiplied.
    type Operation: Operation;
    /// Groups whose codes are in the same bytes.
    const SHARING: usize;
    /// What the factors of all groups of a block are made from.
    type Header<S: Simd>: Copy;
    /// What the codes of [`Self::SHARING`] groups are extracted from.
    type Bits<S: Simd>: Copy;

    /// The header of the blocks at byte `at` of each row.
    fn header<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Self::Header<S>;

    /// The factors of group `group`.
    fn factors<S: Simd>(s: S, header: &Self::Header<S>, group: usize) -> Factors<S>;

    /// The bits of the `nth` set of groups that share bytes, in the blocks at byte `at` of each row.
    fn bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize, nth: usize) -> Self::Bits<S>;

    /// Index of group `i` of the `nth` set of groups that share bytes.
    fn group(nth: usize, i: usize) -> usize {
        nth * Self::SHARING + i
    }

    /// The codes of group `group`, extracted from its bits: element `q` has codes `4q..4q + 4`.
    fn codes<S: Simd>(s: S, bits: &Self::Bits<S>, group: usize) -> [S::W; 8];
}

/// The low nibbles of 16 bytes at `at` of each row, then their high nibbles.
#[inline(always)]
pub fn nibbles<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> [S::W; 8] {
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

/// The bit plane of all bytes: bits `shift` and up, masked by `mask`.
#[inline(always)]
pub fn plane<S: Simd>(s: S, mut codes: [S::W; 8], shift: u32, mask: u8) -> [S::W; 8] {
    for code in &mut codes {
        *code = s.field16(*code, shift, mask);
    }
    codes
}

/// 32 bytes at `at` of each row.
#[inline(always)]
pub fn bytes<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> [S::W; 8] {
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

/// The codebook entries that the codes index.
#[inline(always)]
pub fn levels<S: Simd>(s: S, mut codes: [S::W; 8], table: &[i8; 16]) -> [S::W; 8] {
    for code in &mut codes {
        *code = s.table_lookup16(table, *code);
    }
    codes
}

/// The f16 at byte `at` of each row.
#[inline(always)]
pub fn half<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> S::G {
    s.low_f16_to_f32_16(s.words(rows, at))
}

/// The f16 at byte `at` of each row, and the one after it.
#[inline(always)]
pub fn two_halves<S: Simd>(s: S, words: S::W) -> [S::G; 2] {
    [s.low_f16_to_f32_16(words), s.low_f16_to_f32_16(s.word_field16(words, 16, 0xffff))]
}
