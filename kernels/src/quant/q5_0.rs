//! `Q5_0`: 32 values, one scale, 5-bit codes centred on 16.
//!
//! # Layout
//!
//! 22 bytes, 5.5 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale |
//! | 2..6 | `qh` | 32 bits, little-endian: bit `i` is the fifth bit of code `i` |
//! | 6..22 | `qs` | byte `j`: low four bits of code `j` in its low four bits, of code `j + 16` in its high four |
//!
//! # Formula
//!
//! `value[i] = (code[i] − 16)·d`.
//!
//! To encode: `d = peak / −16`, where the peak is the value of largest magnitude with its sign (the first
//! of equals), `code[i] = min(31, trunc(value[i]·(1/d) + 16.5))`, and `d` is rounded to f16 last.
//!
//! # Exactness
//!
//! Decoding: one product of 5 by 11 bits, exact. Code 16 gives a zero with the sign of `d`. Encoding: f32
//! throughout, `1/d` rounded before it is multiplied by. A block of zeros has `d = −0` and codes 16.
//!
//! # References
//!
//! `block_q5_0`, `dequantize_row_q5_0` and `quantize_row_q5_0_ref` in ggml.

use super::encoding::{code, pack, reciprocal, signed_peak};
use super::{BlockFormat, EncodableFormat, scale};
use crate::DType;

/// Blocks of 32 values, `(code − 16)·d`.
#[derive(Clone, Copy, Debug)]
pub struct Q5_0;

impl BlockFormat<32, 22> for Q5_0 {
    const DTYPE: DType = DType::Q5_0;

    fn decode([d0, d1, h0, h1, h2, h3, qs @ ..]: &[u8; 22], out: &mut [f32; 32]) {
        let d = scale([*d0, *d1]);
        let codes = unpack([*h0, *h1, *h2, *h3], qs);
        *out = codes.map(|code| f32::from(i16::from(code) - 16) * d);
    }
}

impl EncodableFormat<32, 22> for Q5_0 {
    fn encode(values: &[f32; 32], [d0, d1, h0, h1, h2, h3, qs @ ..]: &mut [u8; 22]) {
        let d = signed_peak(values) / -16.0;
        let inverse = reciprocal(d);
        [*d0, *d1] = half::f16::from_f32(d).to_le_bytes();
        let (nibbles, fifths) = pack(&values.map(|value| code(value * inverse + 16.5, 31)));
        [*h0, *h1, *h2, *h3] = fifths.to_le_bytes();
        *qs = nibbles;
    }
}

/// The 32 five-bit codes whose fifth bits are `qh` and whose low four are `qs`.
pub(super) fn unpack(qh: [u8; 4], qs: &[u8; 16]) -> [u8; 32] {
    let fifths = u32::from_le_bytes(qh);
    std::array::from_fn(|i| {
        let nibble = (qs[i % 16] >> (i / 16 * 4)) & 15;
        let fifth = u8::from((fifths >> i) & 1 == 1);
        nibble | (fifth << 4)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn the_fifth_bit_of_value_i_is_bit_i() {
        let mut block = [0; 22];
        block[..2].copy_from_slice(&f16::from_f32(2.0).to_le_bytes());
        block[2..6].copy_from_slice(&0x8001_8002_u32.to_le_bytes());
        (block[6], block[21]) = (0x1f, 0xf0);
        let mut out = [f32::NAN; 32];
        Q5_0::decode(&block, &mut out);
        assert_eq!([out[0], out[1], out[15], out[16], out[31]], [-2.0, 0.0, 0.0, 2.0, 30.0]);
        assert!(out[2..15].iter().chain(&out[17..31]).all(|&v| v == -32.0));
    }

    #[test]
    fn packing_undoes_unpacking() {
        let codes = std::array::from_fn(|i| u8::try_from(i * 7 % 32).unwrap());
        let (nibbles, fifths) = pack(&codes);
        assert_eq!(unpack(fifths.to_le_bytes(), &nibbles), codes);
    }

    #[test]
    fn the_peak_takes_code_0_its_negative_is_cut_to_31_and_ties_go_up() {
        let mut values = [0.0; 32];
        values[..4].copy_from_slice(&[-16.0, 16.0, 0.5, -0.5]);
        let mut block = [0; 22];
        Q5_0::encode(&values, &mut block);
        let [d0, d1, h0, h1, h2, h3, qs @ ..] = block;
        assert_eq!([d0, d1], f16::ONE.to_le_bytes());
        assert_eq!(unpack([h0, h1, h2, h3], &qs)[..5], [0, 31, 17, 16, 16]);
    }

    #[test]
    fn a_block_of_zeros_has_scale_minus_zero_and_codes_16() {
        let mut block = [0; 22];
        Q5_0::encode(&[-0.0; 32], &mut block);
        let [head @ .., _] = block.first_chunk::<7>().unwrap();
        assert_eq!(*head, [0x00, 0x80, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(block[6..], [0; 16]);
    }
}
