//! `Q2_K`: 256 values in 16 sub-blocks of 16, each with a 4-bit scale and a 4-bit minimum; 2-bit codes.
//!
//! # Layout
//!
//! 84 bytes, 2.625 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..16 | `scales` | byte `j`: scale of sub-block `j` in the low four bits, minimum in the high four |
//! | 16..80 | `qs` | two runs of 32 bytes, one for each half of the block; see below |
//! | 80..82 | `d` | f16 scale of the scales |
//! | 82..84 | `dmin` | f16 scale of the minimums |
//!
//! A half has 128 values. Its value `32·g + l` (`g` in 0..4, `l` in 0..32) has its code in bits `2g..2g+2`
//! of byte `l` of the run. So sub-block `j` reads 16 bytes from `32·(j / 8) + 16·(j % 2)`, shifted by
//! `2·(j % 8 / 2)`.
//!
//! # Formula
//!
//! `value = (d·scale)·code − dmin·minimum`.
//!
//! # Exactness
//!
//! In the order written. The products have at most 11 + 4 + 2 bits and are exact; the difference is rounded
//! once.
//!
//! # References
//!
//! `block_q2_K` and `dequantize_row_q2_K` in ggml; llama.cpp pull request 1684, which introduced the
//! k-quants.

use super::{BlockFormat, scale};
use crate::DType;

/// Super-blocks of 256 values, `(d·scale)·code − dmin·minimum`.
#[derive(Clone, Copy, Debug)]
pub struct Q2K;

impl BlockFormat<256, 84> for Q2K {
    const DTYPE: DType = DType::Q2K;

    fn decode([rest @ .., d0, d1, m0, m1]: &[u8; 84], out: &mut [f32; 256]) {
        let (d, dmin) = (scale([*d0, *d1]), scale([*m0, *m1]));
        let (scales, qs) = rest.split_at(16);
        for (j, (values, packed)) in out.chunks_exact_mut(16).zip(scales).enumerate() {
            let step = d * f32::from(packed & 15);
            let minimum = dmin * f32::from(packed >> 4);
            let shift = 2 * (j % 8 / 2);
            for (value, q) in values.iter_mut().zip(&qs[32 * (j / 8) + 16 * (j % 2)..]) {
                *value = step * f32::from((q >> shift) & 3) - minimum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn block(d: f32, dmin: f32) -> [u8; 84] {
        let mut block = [0; 84];
        block[80..82].copy_from_slice(&f16::from_f32(d).to_le_bytes());
        block[82..84].copy_from_slice(&f16::from_f32(dmin).to_le_bytes());
        block
    }

    fn decode(block: &[u8; 84]) -> [f32; 256] {
        let mut out = [f32::NAN; 256];
        Q2K::decode(block, &mut out);
        out
    }

    #[test]
    fn each_sub_block_has_its_own_scale_and_minimum() {
        let mut block = block(0.5, 0.25);
        for j in 0..16_u8 {
            block[usize::from(j)] = j | ((15 - j) << 4);
        }
        block[16..80].fill(0b1010_1010);
        let out = decode(&block);
        for j in 0..16_u8 {
            let want = 0.5 * f32::from(j) * 2.0 - 0.25 * f32::from(15 - j);
            assert!(out[16 * usize::from(j)..][..16].iter().all(|&v| v == want), "sub-block {j}");
        }
    }

    #[test]
    fn a_byte_holds_values_32_apart_in_one_half() {
        let mut block = block(1.0, 0.0);
        block[..16].fill(1);
        block[16 + 5] = 0b11_10_01_00;
        block[16 + 32 + 17] = 0b00_00_00_11;
        let out = decode(&block);
        assert_eq!([out[5], out[37], out[69], out[101]], [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(out[128 + 17], 3.0);
        assert_eq!(out.iter().filter(|&&v| v != 0.0).count(), 4);
    }

    #[test]
    fn an_infinite_minimum_takes_every_sub_block_that_uses_it() {
        let mut block = block(1.0, f32::INFINITY);
        block[0] = 0x10;
        let out = decode(&block);
        assert_eq!(out[0], f32::NEG_INFINITY);
        assert!(out[16].is_nan(), "infinity times a zero minimum");
    }
}
