//! `MXFP4`: 32 values, 4-bit floats under a shared power of two.
//!
//! # Layout
//!
//! 17 bytes, 4.25 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0 | `e` | scale, an exponent: `2^(e − 127)` |
//! | 1..17 | `qs` | byte `j`: code of value `j` in the low four bits, of value `j + 16` in the high four |
//!
//! A code is an E2M1 float: sign, two bits of exponent, one bit of fraction; ±0, 0.5, 1, 1.5, 2, 3, 4, 6.
//!
//! # Formula
//!
//! `value[i] = 2^(e − 128)·DOUBLED[code[i]]`: the floats are kept doubled, as integers, and the scale is
//! halved.
//!
//! # Exactness
//!
//! A small integer times a power of two: exact, subnormals included, until it overflows to infinity (from
//! `e = 253` on, for the larger codes). Two departures of ggml from the standard hold here too: code 8,
//! minus zero, decodes to `+0`, and `e = 255` is `2^128`, not NaN, so that its zeros are 0, its halves
//! `2^127`, and the rest infinite.
//!
//! # References
//!
//! OCP Microscaling Formats (MX) Specification 1.0; `block_mxfp4`, `ggml_e8m0_to_fp32_half` and
//! `dequantize_row_mxfp4` in ggml.

use super::BlockFormat;
use crate::DType;

/// Twice the E2M1 value of each code.
const DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Blocks of 32 values, `2^(e − 127)·e2m1`.
#[derive(Clone, Copy, Debug)]
pub struct Mxfp4;

impl BlockFormat<32, 17> for Mxfp4 {
    const DTYPE: DType = DType::Mxfp4;

    fn decode([e, qs @ ..]: &[u8; 17], out: &mut [f32; 32]) {
        let d = half_scale(*e);
        for (j, q) in qs.iter().enumerate() {
            out[j] = f32::from(DOUBLED[usize::from(q & 15)]) * d;
            out[j + 16] = f32::from(DOUBLED[usize::from(q >> 4)]) * d;
        }
    }
}

/// `2^(e − 128)`, which is subnormal for 0 and 1.
fn half_scale(e: u8) -> f32 {
    f32::from_bits(match e {
        0 => 1 << 21,
        1 => 1 << 22,
        2.. => (u32::from(e) - 1) << 23,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(e: u8, q: u8) -> [f32; 32] {
        let mut block = [q; 17];
        block[0] = e;
        let mut out = [f32::NAN; 32];
        Mxfp4::decode(&block, &mut out);
        out
    }

    #[test]
    fn codes_are_e2m1_floats() {
        let want = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        for (code, want) in (0..8).zip(want) {
            assert_eq!(decode(127, code)[0], want);
            assert_eq!(decode(127, code | 8)[0], -want);
        }
    }

    #[test]
    fn low_nibbles_are_the_first_half_of_the_block() {
        let out = decode(128, 0x72);
        assert!(out[..16].iter().all(|&v| v == 2.0) && out[16..].iter().all(|&v| v == 12.0));
    }

    #[test]
    fn minus_zero_decodes_to_plus_zero() {
        assert_eq!(decode(127, 8)[0].to_bits(), 0);
    }

    #[test]
    fn every_scale_is_a_power_of_two() {
        for e in 0..=u8::MAX {
            assert_eq!(f64::from(half_scale(e)), 2_f64.powi(i32::from(e) - 128), "e = {e}");
        }
    }

    #[test]
    fn the_top_scale_is_no_nan() {
        assert_eq!(decode(255, 0x10)[0], 0.0);
        assert_eq!(decode(255, 0x10)[16], 2_f32.powi(127));
        assert_eq!(decode(255, 0x0a)[0], f32::NEG_INFINITY);
    }
}
