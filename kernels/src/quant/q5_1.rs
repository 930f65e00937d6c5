//! `Q5_1`: 32 values, a scale and a minimum, 5-bit codes from 0.
//!
//! # Layout
//!
//! 24 bytes, 6 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale |
//! | 2..4 | `m` | f16 value of code 0 |
//! | 4..8 | `qh` | 32 bits, little-endian: bit `i` is the fifth bit of code `i` |
//! | 8..24 | `qs` | byte `j`: low four bits of code `j` in its low four bits, of code `j + 16` in its high four |
//!
//! # Formula
//!
//! `value[i] = code[i]·d + m`.
//!
//! To encode: `m = min`, `d = (max − min) / 31`, `code[i] = trunc((value[i] − m)·(1/d) + 0.5)`; `d` and `m`
//! are rounded to f16 last.
//!
//! # Exactness
//!
//! Decoding: the product of 5 by 11 bits is exact, the sum is rounded once. Encoding: f32 throughout, each
//! operation rounded, `1/d` before it is multiplied by. The rounding of `1/d` cannot lift a code to 32, so
//! ggml does not cut it; the cut here matters only where `1/d` is infinite.
//!
//! # References
//!
//! `block_q5_1`, `dequantize_row_q5_1` and `quantize_row_q5_1_ref` in ggml.

use super::encoding::{code, extent, pack, reciprocal};
use super::q5_0::unpack;
use super::{BlockFormat, EncodableFormat, scale};
use crate::DType;

/// Blocks of 32 values, `code·d + m`.
#[derive(Clone, Copy, Debug)]
pub struct Q5_1;

impl BlockFormat<32, 24> for Q5_1 {
    const DTYPE: DType = DType::Q5_1;

    fn decode([d0, d1, m0, m1, h0, h1, h2, h3, qs @ ..]: &[u8; 24], out: &mut [f32; 32]) {
        let (d, m) = (scale([*d0, *d1]), scale([*m0, *m1]));
        *out = unpack([*h0, *h1, *h2, *h3], qs).map(|code| f32::from(code) * d + m);
    }
}

impl EncodableFormat<32, 24> for Q5_1 {
    fn encode(values: &[f32; 32], [d0, d1, m0, m1, h0, h1, h2, h3, qs @ ..]: &mut [u8; 24]) {
        let (min, max) = extent(values);
        let d = (max - min) / 31.0;
        let inverse = reciprocal(d);
        [*d0, *d1] = half::f16::from_f32(d).to_le_bytes();
        [*m0, *m1] = half::f16::from_f32(min).to_le_bytes();
        let (nibbles, fifths) = pack(&values.map(|value| code((value - min) * inverse + 0.5, 31)));
        [*h0, *h1, *h2, *h3] = fifths.to_le_bytes();
        *qs = nibbles;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn the_fifth_bit_of_value_i_is_bit_i_and_the_minimum_is_added() {
        let mut block = [0; 24];
        block[..2].copy_from_slice(&f16::from_f32(0.5).to_le_bytes());
        block[2..4].copy_from_slice(&f16::from_f32(-4.0).to_le_bytes());
        block[4..8].copy_from_slice(&0x0001_8000_u32.to_le_bytes());
        (block[8], block[23]) = (0x1f, 0xf0);
        let mut out = [f32::NAN; 32];
        Q5_1::decode(&block, &mut out);
        assert_eq!([out[0], out[15], out[16], out[31]], [3.5, 4.0, 4.5, 3.5]);
        assert!(out[1..15].iter().chain(&out[17..31]).all(|&v| v == -4.0));
    }

    #[test]
    fn codes_span_the_extent_and_ties_go_up() {
        let mut values = [-1.0; 32];
        values[..4].copy_from_slice(&[30.0, -0.5, 0.49, 14.5]);
        let mut block = [0; 24];
        Q5_1::encode(&values, &mut block);
        let [d0, d1, m0, m1, h0, h1, h2, h3, qs @ ..] = block;
        assert_eq!([d0, d1, m0, m1], [0x00, 0x3c, 0x00, 0xbc]);
        assert_eq!(unpack([h0, h1, h2, h3], &qs)[..5], [31, 1, 1, 16, 0]);
    }

    #[test]
    fn a_scale_too_small_to_invert_saturates() {
        let mut values = [0.0; 32];
        values[1] = f32::from_bits(100);
        let mut block = [0xff; 24];
        Q5_1::encode(&values, &mut block);
        let [_, _, _, _, h0, h1, h2, h3, qs @ ..] = block;
        assert_eq!(unpack([h0, h1, h2, h3], &qs)[..3], [0, 31, 0]);
    }
}
