//! `Q4_1`: 32 values, a scale and a minimum, 4-bit codes from 0.
//!
//! # Layout
//!
//! 20 bytes, 5 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale |
//! | 2..4 | `m` | f16 value of code 0 |
//! | 4..20 | `qs` | byte `j`: code of value `j` in the low four bits, of value `j + 16` in the high four |
//!
//! # Formula
//!
//! `value[i] = code[i]·d + m`.
//!
//! To encode: `m = min`, `d = (max − min) / 15`, `code[i] = min(15, trunc((value[i] − m)·(1/d) + 0.5))`;
//! `d` and `m` are rounded to f16 last, so the codes do not know of that rounding.
//!
//! # Exactness
//!
//! Decoding: the product of 4 by 11 bits is exact, the sum is rounded once.
//! Encoding: f32 throughout, each operation rounded, `1/d` before it is multiplied by.
//!
//! # References
//!
//! `block_q4_1`, `dequantize_row_q4_1` and `quantize_row_q4_1_ref` in ggml.

use super::encoding::{code, extent, pack, reciprocal};
use super::{BlockFormat, EncodableFormat, scale};
use crate::DType;

/// Blocks of 32 values, `code·d + m`.
#[derive(Clone, Copy, Debug)]
pub struct Q4_1;

impl BlockFormat<32, 20> for Q4_1 {
    const DTYPE: DType = DType::Q4_1;

    fn decode([d0, d1, m0, m1, qs @ ..]: &[u8; 20], out: &mut [f32; 32]) {
        let (d, m) = (scale([*d0, *d1]), scale([*m0, *m1]));
        for (j, q) in qs.iter().enumerate() {
            out[j] = f32::from(q & 15) * d + m;
            out[j + 16] = f32::from(q >> 4) * d + m;
        }
    }
}

impl EncodableFormat<32, 20> for Q4_1 {
    fn encode(values: &[f32; 32], [d0, d1, m0, m1, qs @ ..]: &mut [u8; 20]) {
        let (min, max) = extent(values);
        let d = (max - min) / 15.0;
        let inverse = reciprocal(d);
        [*d0, *d1] = half::f16::from_f32(d).to_le_bytes();
        [*m0, *m1] = half::f16::from_f32(min).to_le_bytes();
        (*qs, _) = pack(&values.map(|value| code((value - min) * inverse + 0.5, 15)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn low_nibbles_are_the_first_half_and_the_minimum_is_added() {
        let mut block = [0; 20];
        block[..2].copy_from_slice(&f16::from_f32(0.5).to_le_bytes());
        block[2..4].copy_from_slice(&f16::from_f32(-3.0).to_le_bytes());
        (block[4], block[19]) = (0xf1, 0x2e);
        let mut out = [f32::NAN; 32];
        Q4_1::decode(&block, &mut out);
        assert_eq!([out[0], out[15], out[16], out[31]], [-2.5, 4.0, 4.5, -2.0]);
        assert!(out[1..15].iter().chain(&out[17..31]).all(|&v| v == -3.0));
    }

    #[test]
    fn the_sum_is_rounded_once() {
        let mut block = [0; 20];
        block[..2].copy_from_slice(&f16::from_bits(1).to_le_bytes());
        block[2..4].copy_from_slice(&f16::ONE.to_le_bytes());
        block[4] = 0x05;
        let mut out = [f32::NAN; 32];
        Q4_1::decode(&block, &mut out);
        // 1 + 5·2^-24 is halfway between 2 and 3 steps of 2^-23 above 1.
        assert_eq!(out[0].to_bits(), 1.0_f32.to_bits() + 2);
    }

    #[test]
    fn codes_span_the_extent_and_ties_go_up() {
        let mut values = [-1.0; 32];
        (values[1], values[2], values[3], values[16]) = (14.0, -0.5, 0.5, 13.49);
        let mut block = [0; 20];
        Q4_1::encode(&values, &mut block);
        assert_eq!(block[..4], [0x00, 0x3c, 0x00, 0xbc]);
        assert_eq!(block[4..8], [0xe0, 0x0f, 0x01, 0x02]);
    }

    #[test]
    fn a_constant_block_has_scale_0_and_codes_0() {
        let mut block = [0xff; 20];
        Q4_1::encode(&[2.5; 32], &mut block);
        let mut out = [f32::NAN; 32];
        Q4_1::decode(&block, &mut out);
        assert_eq!((block[0], block[1], &block[4..]), (0, 0, &[0; 16][..]));
        assert!(out.iter().all(|&v| v == 2.5));
    }
}
