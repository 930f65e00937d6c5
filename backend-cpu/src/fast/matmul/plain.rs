//! Blocks of one run: `Q4_0`, `Q4_1`, `Q5_0`, `Q5_1`, `Q8_0`, `IQ4_NL`, `MXFP4`.

use super::super::blocks::{DOUBLED_E2M1, LEVELS, half_scale};
use super::super::simd::{Simd, eight};
use super::format::{Codes, Factors, Format, ROWS, field, halves};

pub struct Q4_0;

impl Format<18, 1> for Q4_0 {
    const CODES: Codes = Codes::Biased(3);
    const PARTS: bool = false;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 18], _: usize) -> S::I {
        s.nibbles(field(block, 2))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 18]; ROWS]) -> [Factors<S>; 1] {
        [Factors::plain(s, halves(s, blocks, 0))]
    }
}

pub struct Q4_1;

impl Format<20, 1> for Q4_1 {
    const CODES: Codes = Codes::Unsigned;
    const PARTS: bool = false;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 20], _: usize) -> S::I {
        s.nibbles(field(block, 4))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 20]; ROWS]) -> [Factors<S>; 1] {
        [Factors { offset: halves(s, blocks, 2), ..Factors::plain(s, halves(s, blocks, 0)) }]
    }
}

pub struct Q5_0;

impl Format<22, 1> for Q5_0 {
    const CODES: Codes = Codes::Biased(4);
    const PARTS: bool = false;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 22], _: usize) -> S::I {
        s.or(s.nibbles(field(block, 6)), s.bits(u32::from_le_bytes(*field(block, 2)), 16))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 22]; ROWS]) -> [Factors<S>; 1] {
        [Factors::plain(s, halves(s, blocks, 0))]
    }
}

pub struct Q5_1;

impl Format<24, 1> for Q5_1 {
    const CODES: Codes = Codes::Unsigned;
    const PARTS: bool = false;
    const OFFSETS: bool = true;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 24], _: usize) -> S::I {
        s.or(s.nibbles(field(block, 8)), s.bits(u32::from_le_bytes(*field(block, 4)), 16))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 24]; ROWS]) -> [Factors<S>; 1] {
        [Factors { offset: halves(s, blocks, 2), ..Factors::plain(s, halves(s, blocks, 0)) }]
    }
}

pub struct Q8_0;

impl Format<34, 1> for Q8_0 {
    const CODES: Codes = Codes::Signed;
    const PARTS: bool = false;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 34], _: usize) -> S::I {
        s.bytes(field(block, 2))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 34]; ROWS]) -> [Factors<S>; 1] {
        [Factors::plain(s, halves(s, blocks, 0))]
    }
}

pub struct Iq4Nl;

impl Format<18, 1> for Iq4Nl {
    const CODES: Codes = Codes::Signed;
    const PARTS: bool = false;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 18], _: usize) -> S::I {
        s.look_up(&LEVELS, s.nibbles(field(block, 2)))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 18]; ROWS]) -> [Factors<S>; 1] {
        [Factors::plain(s, halves(s, blocks, 0))]
    }
}

pub struct Mxfp4;

impl Format<17, 1> for Mxfp4 {
    const CODES: Codes = Codes::Signed;
    const PARTS: bool = false;
    const OFFSETS: bool = false;

    #[inline(always)]
    fn codes<S: Simd>(s: S, block: &[u8; 17], _: usize) -> S::I {
        s.look_up(&DOUBLED_E2M1, s.nibbles(field(block, 1)))
    }

    #[inline(always)]
    fn factors<S: Simd>(s: S, blocks: [&[u8; 17]; ROWS]) -> [Factors<S>; 1] {
        [Factors::plain(s, s.load(&eight!(r => half_scale(blocks[r][0]))))]
    }
}
