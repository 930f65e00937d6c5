//! `Q4_0`: 32 values, one scale, 4-bit codes centred on 8.
//!
//! # Layout
//!
//! 18 bytes, 4.5 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale |
//! | 2..18 | `qs` | byte `j`: code of value `j` in the low four bits, of value `j + 16` in the high four |
//!
//! # Formula
//!
//! `value[i] = (code[i] − 8)·d`.
//!
//! To encode: `d = peak / −8`, where the peak is the value of largest magnitude with its sign (the first of
//! equals), `code[i] = min(15, trunc(value[i]·(1/d) + 8.5))`, and `d` is rounded to f16 last. So the peak
//! takes code 0, and its negative, which would be 16, is cut to 15.
//!
//! # Exactness
//!
//! Decoding: one product of 4 by 11 bits, exact. Code 8 gives a zero with the sign of `d`. Encoding: f32
//! throughout, `1/d` rounded before it is multiplied by. A block of zeros has `d = −0` and codes 8.
//!
//! # References
//!
//! `block_q4_0`, `dequantize_row_q4_0` and `quantize_row_q4_0_ref` in ggml.

use super::encoding::{code, pack, reciprocal, signed_peak};
use super::{BlockFormat, EncodableFormat, scale};
use crate::DType;

/// Blocks of 32 values, `(code − 8)·d`.
#[derive(Clone, Copy, Debug)]
pub struct Q4_0;

impl BlockFormat<32, 18> for Q4_0 {
    const DTYPE: DType = DType::Q4_0;

    fn decode([d0, d1, qs @ ..]: &[u8; 18], out: &mut [f32; 32]) {
        let d = scale([*d0, *d1]);
        let value = |code: u8| f32::from(i16::from(code) - 8) * d;
        for (j, q) in qs.iter().enumerate() {
            out[j] = value(q & 15);
            out[j + 16] = value(q >> 4);
        }
    }
}

impl EncodableFormat<32, 18> for Q4_0 {
    fn encode(values: &[f32; 32], [d0, d1, qs @ ..]: &mut [u8; 18]) {
        let d = signed_peak(values) / -8.0;
        let inverse = reciprocal(d);
        [*d0, *d1] = half::f16::from_f32(d).to_le_bytes();
        (*qs, _) = pack(&values.map(|value| code(value * inverse + 8.5, 15)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(d: f32, qs: [u8; 16]) -> [f32; 32] {
        let mut block = [0; 18];
        block[..2].copy_from_slice(&half::f16::from_f32(d).to_le_bytes());
        block[2..].copy_from_slice(&qs);
        let mut out = [f32::NAN; 32];
        Q4_0::decode(&block, &mut out);
        out
    }

    fn encode(head: &[f32]) -> (u16, [u8; 16]) {
        let mut values = [0.0; 32];
        values[..head.len()].copy_from_slice(head);
        let mut block = [0; 18];
        Q4_0::encode(&values, &mut block);
        let [d0, d1, qs @ ..] = block;
        (u16::from_le_bytes([d0, d1]), qs)
    }

    #[test]
    fn low_nibbles_are_the_first_half_of_the_block() {
        let mut qs = [0x88; 16];
        (qs[0], qs[15]) = (0x1f, 0x90);
        let out = decode(2.0, qs);
        assert_eq!([out[0], out[15], out[16], out[31]], [14.0, -16.0, -14.0, 2.0]);
        assert!(out[1..15].iter().chain(&out[17..31]).all(|&v| v == 0.0));
    }

    #[test]
    fn code_8_is_a_zero_with_the_sign_of_the_scale() {
        assert_eq!(decode(-1.0, [0x88; 16])[0].to_bits(), (-0.0_f32).to_bits());
    }

    #[test]
    fn the_peak_takes_code_0_and_its_negative_is_cut_to_15() {
        let (d, qs) = encode(&[-8.0, 8.0, 7.0]);
        assert_eq!(d, half::f16::ONE.to_bits());
        assert_eq!(qs[..3].iter().map(|q| q & 15).collect::<Vec<_>>(), [0, 15, 15]);
        assert_eq!(encode(&[8.0, -8.0]).0, half::f16::NEG_ONE.to_bits());
    }

    #[test]
    fn ties_go_up() {
        let (_, qs) = encode(&[-8.0, 0.5, -0.5, 1.5, -1.5]);
        assert_eq!(qs[..5].iter().map(|q| q & 15).collect::<Vec<_>>(), [0, 9, 8, 10, 7]);
    }

    #[test]
    fn a_block_of_zeros_has_scale_minus_zero_and_codes_8() {
        assert_eq!(encode(&[0.0]), (0x8000, [0x88; 16]));
        assert_eq!(encode(&[-0.0; 32]), (0x8000, [0x88; 16]));
    }
}
