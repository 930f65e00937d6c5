//! Super-blocks of eight groups of 32: `Q2_K`, `Q3_K`, `Q4_K`, `Q5_K`, `Q6_K`, `IQ4_XS`.

use super::super::blocks::LEVELS;
use super::super::simd::{RowPanel, Simd};
use super::format::{Factors, Format, bytes, half, joined, levels, nibbles, plane, two_halves};
use super::operation::{ByHalves, Shifted, ShiftedByHalves, Signed};

/// Position in a byte of the bits of group `group`, where `sharing` groups (2, 4 or 8) share each byte.
#[inline(always)]
fn shift(group: usize, sharing: usize) -> u32 {
    bits(group % sharing * (8 / sharing))
}

/// A count of bits. It comes from an index within a block, so the check is compiled away.
#[inline(always)]
fn bits(count: usize) -> u32 {
    u32::try_from(count).expect("less than the bits of a word")
}

/// Bits `shift` and up, masked by `mask`, of byte `index` of the four in each i32.
#[inline(always)]
fn byte<S: Simd>(s: S, words: &[S::W], index: usize, shift: u32, mask: u32) -> S::W {
    s.word_field16(words[index / 4], bits(8 * (index % 4)) + shift, mask)
}

pub struct Q2K;

impl Format<84, 8> for Q2K {
    type Operation = ShiftedByHalves;
    const SHARING: usize = 4;
    /// Scale, offset, and a byte for each half of a group.
    type Header<S: Simd> = (S::G, S::G, [S::W; 4]);
    type Bits<S: Simd> = [S::W; 8];

    #[inline(always)]
    fn header<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Self::Header<S> {
        let [scale, minimum] = two_halves(s, s.words(rows, at + 80));
        (scale, s.mul16(minimum, s.splat16(-1.0)), s.quads(rows, at))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, (scale, offset, bytes): &Self::Header<S>, group: usize) -> Factors<S> {
        let [first, second] = [2 * group, 2 * group + 1];
        Factors {
            scale: *scale,
            parts: [byte(s, bytes, first, 0, 15), byte(s, bytes, second, 0, 15)],
            offset: *offset,
            minimums: [byte(s, bytes, first, 4, 15), byte(s, bytes, second, 4, 15)],
        }
    }

    #[inline(always)]
    fn bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize, nth: usize) -> Self::Bits<S> {
        bytes(s, rows, at + 16 + 32 * nth)
    }

    #[inline(always)]
    fn codes<S: Simd>(s: S, bits: &Self::Bits<S>, group: usize) -> [S::W; 8] {
        plane(s, *bits, shift(group, 4), 3)
    }
}

pub struct Q3K;

impl Format<110, 8> for Q3K {
    type Operation = ByHalves<4>;
    const SHARING: usize = 4;
    /// Scale; low bits of the parts; high bits.
    type Header<S: Simd> = (S::G, [S::W; 2], S::W);
    /// Two bits of each code; one of each code of all eight groups.
    type Bits<S: Simd> = ([S::W; 8], [S::W; 8]);

    #[inline(always)]
    fn header<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Self::Header<S> {
        let low = [s.words(rows, at + 96), s.words(rows, at + 100)];
        let scale = s.low_f16_to_f32_16(s.word_field16(s.words(rows, at + 106), 16, 0xffff));
        (scale, low, s.words(rows, at + 104))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, (scale, low, high): &Self::Header<S>, group: usize) -> Factors<S> {
        Factors {
            parts: [q3_part(s, low, *high, 2 * group), q3_part(s, low, *high, 2 * group + 1)],
            ..Factors::plain(s, *scale)
        }
    }

    #[inline(always)]
    fn bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize, nth: usize) -> Self::Bits<S> {
        (bytes(s, rows, at + 32 + 32 * nth), bytes(s, rows, at))
    }

    #[inline(always)]
    fn codes<S: Simd>(s: S, (low, high): &Self::Bits<S>, group: usize) -> [S::W; 8] {
        joined(s, plane(s, *low, shift(group, 4), 3), plane(s, *high, shift(group, 8), 1), 2)
    }
}

/// Integer factor `j` of a `Q3_K` block: four bits of one byte, two of another, less 32.
#[inline(always)]
fn q3_part<S: Simd>(s: S, low: &[S::W; 2], high: S::W, j: usize) -> S::W {
    let low = byte(s, low, j % 8, shift(j / 8, 2), 15);
    let high = byte(s, &[high], j % 4, shift(j / 4, 4), 3);
    s.add_ints16(s.or_shifted16(low, high, 4), s.splat_int16(-32))
}

pub struct Q4K;

impl Format<144, 8> for Q4K {
    type Operation = Shifted;
    const SHARING: usize = 2;
    type Header<S: Simd> = Packed<S>;
    type Bits<S: Simd> = [S::W; 8];

    #[inline(always)]
    fn header<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Packed<S> {
        Packed::of(s, rows, at)
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, header: &Packed<S>, group: usize) -> Factors<S> {
        header.factors(s, group)
    }

    #[inline(always)]
    fn bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize, nth: usize) -> Self::Bits<S> {
        bytes(s, rows, at + 16 + 32 * nth)
    }

    #[inline(always)]
    fn codes<S: Simd>(s: S, bits: &Self::Bits<S>, group: usize) -> [S::W; 8] {
        plane(s, *bits, shift(group, 2), 15)
    }
}

pub struct Q5K;

impl Format<176, 8> for Q5K {
    type Operation = Shifted;
    const SHARING: usize = 2;
    type Header<S: Simd> = Packed<S>;
    /// Four bits of each code; one of each code of all eight groups.
    type Bits<S: Simd> = ([S::W; 8], [S::W; 8]);

    #[inline(always)]
    fn header<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Packed<S> {
        Packed::of(s, rows, at)
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, header: &Packed<S>, group: usize) -> Factors<S> {
        header.factors(s, group)
    }

    #[inline(always)]
    fn bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize, nth: usize) -> Self::Bits<S> {
        (bytes(s, rows, at + 48 + 32 * nth), bytes(s, rows, at + 16))
    }

    #[inline(always)]
    fn codes<S: Simd>(s: S, (low, high): &Self::Bits<S>, group: usize) -> [S::W; 8] {
        joined(s, plane(s, *low, shift(group, 2), 15), plane(s, *high, shift(group, 8), 1), 4)
    }
}

/// The header of `Q4_K` and `Q5_K`: a scale and a minimum, and for each group an integer of 6 bits on each.
#[derive(Clone, Copy)]
pub struct Packed<S: Simd> {
    scale: S::G,
    offset: S::G,
    /// Of groups 0 to 3, and of groups 4 to 7: one byte each.
    scales: [S::W; 2],
    minimums: [S::W; 2],
}

impl<S: Simd> Packed<S> {
    /// The first 16 bytes: two f16, then three words with the integers of four groups in their bytes, or parts of them.
    #[inline(always)]
    fn of(s: S, rows: RowPanel<'_>, at: usize) -> Self {
        let [floats, first, second, third] = s.quads(rows, at);
        let [scale, minimum] = two_halves(s, floats);
        // The low four bits of the other groups are in the third word, the high two on top of the first groups' six.
        let (low, high) = (s.field16(third, 0, 15), s.field16(third, 4, 15));
        Packed {
            scale,
            offset: s.mul16(minimum, s.splat16(-1.0)),
            scales: [s.field16(first, 0, 63), s.or_shifted16(low, s.field16(first, 6, 3), 4)],
            minimums: [s.field16(second, 0, 63), s.or_shifted16(high, s.field16(second, 6, 3), 4)],
        }
    }

    /// The factors of group `group`. The products of 11 and 6 bits are exact.
    #[inline(always)]
    fn factors(&self, s: S, group: usize) -> Factors<S> {
        let scale = s.floats16(byte(s, &self.scales, group, 0, 255));
        let minimum = s.floats16(byte(s, &self.minimums, group, 0, 255));
        Factors::with_offset(s, s.mul16(self.scale, scale), s.mul16(self.offset, minimum))
    }
}

pub struct Q6K;

impl Format<210, 8> for Q6K {
    type Operation = ByHalves<32>;
    const SHARING: usize = 2;
    /// Scale, and an integer factor for each half of a group.
    type Header<S: Simd> = (S::G, [S::W; 4]);
    /// Four bits of each code; two of each code of four groups.
    type Bits<S: Simd> = ([S::W; 8], [S::W; 8]);

    #[inline(always)]
    fn header<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Self::Header<S> {
        let scale = s.low_f16_to_f32_16(s.word_field16(s.words(rows, at + 206), 16, 0xffff));
        (scale, s.quads(rows, at + 192))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, (scale, bytes): &Self::Header<S>, group: usize) -> Factors<S> {
        let index = if group.is_multiple_of(2) { 0 } else { 2 };
        let word = bytes[group / 2];
        Factors {
            parts: [s.signed_byte16(word, index), s.signed_byte16(word, index + 1)],
            ..Factors::plain(s, *scale)
        }
    }

    #[inline(always)]
    fn bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize, nth: usize) -> Self::Bits<S> {
        (bytes(s, rows, at + 32 * nth), bytes(s, rows, at + 128 + 32 * (nth / 2)))
    }

    /// Of four groups, the first and the third share their low bits, and so do the other two.
    #[inline(always)]
    fn group(nth: usize, i: usize) -> usize {
        4 * (nth / 2) + nth % 2 + 2 * i
    }

    #[inline(always)]
    fn codes<S: Simd>(s: S, (low, high): &Self::Bits<S>, group: usize) -> [S::W; 8] {
        let group = group % 4;
        joined(s, plane(s, *low, shift(group / 2, 2), 15), plane(s, *high, shift(group, 4), 3), 4)
    }
}

pub struct Iq4Xs;

impl Format<136, 8> for Iq4Xs {
    type Operation = Signed;
    const SHARING: usize = 1;
    /// Scale; for each group, two high bits of its integer in the upper half of a word and four low bits in the next.
    type Header<S: Simd> = (S::G, [S::W; 2]);
    type Bits<S: Simd> = [S::W; 8];

    #[inline(always)]
    fn header<S: Simd>(s: S, rows: RowPanel<'_>, at: usize) -> Self::Header<S> {
        (half(s, rows, at), [s.words(rows, at), s.words(rows, at + 4)])
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, (scale, [high, low]): &Self::Header<S>, group: usize) -> Factors<S> {
        let (high, low) =
            (s.word_field16(*high, bits(16 + 2 * group), 3), s.word_field16(*low, bits(4 * group), 15));
        let integer = s.add_ints16(s.or_shifted16(low, high, 4), s.splat_int16(-32));
        Factors::plain(s, s.mul16(*scale, s.floats16(integer)))
    }

    #[inline(always)]
    fn bits<S: Simd>(s: S, rows: RowPanel<'_>, at: usize, nth: usize) -> Self::Bits<S> {
        levels(s, nibbles(s, rows, at + 8 + 16 * nth), &LEVELS)
    }

    #[inline(always)]
    fn codes<S: Simd>(_: S, codes: &Self::Bits<S>, _: usize) -> [S::W; 8] {
        *codes
    }
}
