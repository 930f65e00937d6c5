//! `Q8_0`: 32 values, one scale, signed 8-bit codes.
//!
//! # Layout
//!
//! 34 bytes, 8.5 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale |
//! | 2..34 | `qs` | byte `i`: code of value `i`, two's complement |
//!
//! # Formula
//!
//! `value[i] = code[i]·d`.
//!
//! To encode: `d = max|value| / 127`, `code[i] = round(value[i]·(1/d))` with halves away from zero, and `d`
//! is rounded to f16 last. No code is −128.
//!
//! # Exactness
//!
//! Decoding: one product of 8 by 11 bits, exact. Code 0 gives a zero with the sign of `d`. Encoding: f32
//! throughout, `1/d` rounded before it is multiplied by. The maximum is taken as ggml takes it: a NaN
//! replaces it and the value after the NaN replaces that, so values before a NaN do not count and their
//! codes may saturate; a block that ends in NaN has a NaN scale.
//!
//! # References
//!
//! `block_q8_0`, `dequantize_row_q8_0` and `quantize_row_q8_0_ref` in ggml.

use super::encoding::reciprocal;
use super::{BlockFormat, EncodableFormat, scale};
use crate::DType;

/// Blocks of 32 values, `code·d`.
#[derive(Clone, Copy, Debug)]
pub struct Q8_0;

impl BlockFormat<32, 34> for Q8_0 {
    const DTYPE: DType = DType::Q8_0;

    fn decode([d0, d1, qs @ ..]: &[u8; 34], out: &mut [f32; 32]) {
        let d = scale([*d0, *d1]);
        *out = qs.map(|code| f32::from(code.cast_signed()) * d);
    }
}

impl EncodableFormat<32, 34> for Q8_0 {
    fn encode(values: &[f32; 32], [d0, d1, qs @ ..]: &mut [u8; 34]) {
        let magnitudes = values.iter().map(|value| value.abs());
        let peak = magnitudes.fold(0.0, |peak, magnitude| if peak > magnitude { peak } else { magnitude });
        let d = peak / 127.0;
        let inverse = reciprocal(d);
        [*d0, *d1] = half::f16::from_f32(d).to_le_bytes();
        *qs = values.map(|value| code(value * inverse).cast_unsigned());
    }
}

/// The integer nearest to `x`, halves away from zero. NaN becomes 0.
#[expect(clippy::cast_possible_truncation, reason = "the value is whole and the conversion saturates")]
fn code(x: f32) -> i8 {
    x.round() as i8
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn encode(head: &[f32]) -> ([u8; 2], [i8; 32]) {
        let mut values = [0.0; 32];
        values[..head.len()].copy_from_slice(head);
        let mut block = [0; 34];
        Q8_0::encode(&values, &mut block);
        let [d0, d1, qs @ ..] = block;
        ([d0, d1], qs.map(u8::cast_signed))
    }

    #[test]
    fn codes_are_signed_and_in_order() {
        let mut block = [0; 34];
        block[..2].copy_from_slice(&f16::from_f32(0.25).to_le_bytes());
        (block[2], block[3], block[33]) = (0x80, 0x7f, 0xff);
        let mut out = [f32::NAN; 32];
        Q8_0::decode(&block, &mut out);
        assert_eq!([out[0], out[1], out[31]], [-32.0, 31.75, -0.25]);
        assert!(out[2..31].iter().all(|&v| v == 0.0));
    }

    #[test]
    fn halves_round_away_from_zero() {
        let (d, codes) = encode(&[127.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.499_999_97]);
        assert_eq!(d, f16::ONE.to_le_bytes());
        assert_eq!(codes[..7], [127, 1, -1, 2, 3, -3, 0]);
    }

    #[test]
    fn both_ends_are_127() {
        let (_, codes) = encode(&[-3.7, 3.7]);
        assert_eq!(codes[..2], [-127, 127]);
    }

    #[test]
    fn a_block_of_zeros_has_scale_zero() {
        assert_eq!(encode(&[-0.0; 32]), ([0; 2], [0; 32]));
    }

    #[test]
    fn the_maximum_starts_again_after_a_nan() {
        let (d, codes) = encode(&[1000.0, f32::NAN, 127.0]);
        assert_eq!(d, f16::ONE.to_le_bytes());
        assert_eq!(codes[..3], [127, 0, 127]);
        let (d, _) = encode(&[f32::NAN; 32]);
        assert!(f16::from_le_bytes(d).is_nan());
    }
}
