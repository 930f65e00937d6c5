//! Super-blocks of eight runs: `Q2_K`, `Q3_K`, `Q4_K`, `Q5_K`, `Q6_K`, `IQ4_XS`.

use super::super::blocks::{LEVELS, iq4_xs_scale, packed_6_bits, q3_scales};
use super::super::simd::{Simd, eight};
use super::format::{Codes, Factors, Format, ONES, ROWS, field, halves};

pub struct Q2K;

impl Format<84, 8> for Q2K {
    const CODES: Codes = Codes::Unsigned;
    const PARTS: bool = true;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 84], run: usize) -> S::I {
        s.field(s.bytes(field(block, 16 + 32 * (run / 4))), SHIFTS[run % 4], 3)
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 84]; ROWS]) -> [Factors<S>; 8] {
        let (scale, minimum) = (halves(s, blocks, 80), halves(s, blocks, 82));
        let offset = s.sub(s.splat(0.0), minimum);
        eight!(run => Factors {
            scale,
            parts: eight!(r => [blocks[r][2 * run], blocks[r][2 * run + 1]].map(|byte| i16::from(byte & 15))),
            offset,
            minimums: eight!(r => [blocks[r][2 * run], blocks[r][2 * run + 1]].map(|byte| i16::from(byte >> 4))),
        })
    }
}

/// Where the two bits of run `i` of four are.
const SHIFTS: [i32; 4] = [0, 2, 4, 6];

/// Where the bit of run `i` of eight is.
const BITS: [i32; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Where the four bits of run `i` of two are.
const HALVES: [i32; 2] = [0, 4];

pub struct Q3K;

impl Format<110, 8> for Q3K {
    const CODES: Codes = Codes::Biased(2);
    const PARTS: bool = true;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 110], run: usize) -> S::I {
        let low = s.field(s.bytes(field(block, 32 + 32 * (run / 4))), SHIFTS[run % 4], 3);
        let high = s.field(s.bytes(field(block, 0)), BITS[run], 1);
        s.or(low, s.shift_ints(high, 2))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 110]; ROWS]) -> [Factors<S>; 8] {
        let scale = halves(s, blocks, 108);
        let scales = eight!(r => q3_scales(field(blocks[r], 96)).map(i16::from));
        eight!(run => Factors {
            parts: eight!(r => [scales[r][2 * run], scales[r][2 * run + 1]]),
            ..Factors::plain(s, scale)
        })
    }
}

pub struct Q4K;

impl Format<144, 8> for Q4K {
    const CODES: Codes = Codes::Unsigned;
    const PARTS: bool = false;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 144], run: usize) -> S::I {
        s.field(s.bytes(field(block, 16 + 32 * (run / 2))), HALVES[run % 2], 15)
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 144]; ROWS]) -> [Factors<S>; 8] {
        with_minimums(s, blocks)
    }
}

pub struct Q5K;

impl Format<176, 8> for Q5K {
    const CODES: Codes = Codes::Unsigned;
    const PARTS: bool = false;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 176], run: usize) -> S::I {
        let low = s.field(s.bytes(field(block, 48 + 32 * (run / 2))), HALVES[run % 2], 15);
        let high = s.field(s.bytes(field(block, 16)), BITS[run], 1);
        s.or(low, s.shift_ints(high, 4))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 176]; ROWS]) -> [Factors<S>; 8] {
        with_minimums(s, blocks)
    }
}

/// The factors of `Q4_K` and `Q5_K`. The products of 11 and 6 bits are exact.
#[inline(always)]
fn with_minimums<S: Simd, const BYTES: usize>(s: S, blocks: [&[u8; BYTES]; ROWS]) -> [Factors<S>; 8] {
    let (d, minimum) = (halves(s, blocks, 0), halves(s, blocks, 2));
    let offset = s.sub(s.splat(0.0), minimum);
    let packed = eight!(r => packed_6_bits(field(blocks[r], 4)));
    eight!(run => Factors {
        scale: s.mul(d, s.load(&eight!(r => f32::from(packed[r][0][run])))),
        parts: ONES,
        offset: s.mul(offset, s.load(&eight!(r => f32::from(packed[r][1][run])))),
        minimums: ONES,
    })
}

pub struct Q6K;

impl Format<210, 8> for Q6K {
    const CODES: Codes = Codes::Biased(5);
    const PARTS: bool = true;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 210], run: usize) -> S::I {
        let (half, g) = (run / 4, run % 4);
        let low = s.field(s.bytes(field(block, 64 * half + 32 * (g % 2))), HALVES[g / 2], 15);
        let high = s.field(s.bytes(field(block, 128 + 32 * half)), SHIFTS[g], 3);
        s.or(low, s.shift_ints(high, 4))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 210]; ROWS]) -> [Factors<S>; 8] {
        let scale = halves(s, blocks, 208);
        eight!(run => Factors {
            parts: eight!(r => [blocks[r][192 + 2 * run], blocks[r][193 + 2 * run]].map(|b| i16::from(b.cast_signed()))),
            ..Factors::plain(s, scale)
        })
    }
}

pub struct Iq4Xs;

impl Format<136, 8> for Iq4Xs {
    const CODES: Codes = Codes::Signed;
    const PARTS: bool = false;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 136], run: usize) -> S::I {
        s.look_up(&LEVELS, s.nibbles(field(block, 8 + 16 * run)))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 136]; ROWS]) -> [Factors<S>; 8] {
        let d = halves(s, blocks, 0);
        eight!(run => {
            let scales = s.load(&eight!(r => f32::from(iq4_xs_scale(blocks[r], run))));
            Factors::plain(s, s.mul(d, scales))
        })
    }
}
