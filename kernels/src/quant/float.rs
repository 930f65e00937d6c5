//! `F32`, `F16`, `BF16`: plain floats, one value to a block.
//!
//! # Layout
//!
//! | format | bytes | sign | exponent | fraction |
//! |---|---|---|---|---|
//! | `F32` | 4 | 1 | 8 | 23 |
//! | `F16` | 2 | 1 | 5 | 10 |
//! | `BF16` | 2 | 1 | 8 | 7 |
//!
//! Little-endian. `BF16` is the upper half of an `F32`.
//!
//! # Formula
//!
//! The value is the float itself. To encode, round to the nearest representable value, ties to the one with
//! an even last bit.
//!
//! # Exactness
//!
//! Every `F16` and every `BF16`, subnormals included, is an f32: decoding is exact. Encoding rounds once,
//! keeps subnormals, and becomes infinite from `65520` (`F16`) and from `2^128 − 2^119` (`BF16`) on.
//! A NaN stays a NaN of the same sign; in `BF16` it also keeps the payload bits that fit.
//!
//! # References
//!
//! IEEE 754-2019 for `F32` and `F16`; ggml's `ggml_compute_fp32_to_bf16` for `BF16`.

use half::{bf16, f16};

use super::{BlockFormat, EncodableFormat};
use crate::DType;

/// 32-bit IEEE float.
#[derive(Clone, Copy, Debug)]
pub struct F32;

/// 16-bit IEEE float.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// The upper 16 bits of a 32-bit IEEE float.
#[derive(Clone, Copy, Debug)]
pub struct BF16;

impl BlockFormat<1, 4> for F32 {
    const DTYPE: DType = DType::F32;

    fn decode(block: &[u8; 4], out: &mut [f32; 1]) {
        *out = [f32::from_le_bytes(*block)];
    }
}

impl EncodableFormat<1, 4> for F32 {
    fn encode([value]: &[f32; 1], block: &mut [u8; 4]) {
        *block = value.to_le_bytes();
    }
}

impl BlockFormat<1, 2> for F16 {
    const DTYPE: DType = DType::F16;

    fn decode(block: &[u8; 2], out: &mut [f32; 1]) {
        *out = [f16::from_le_bytes(*block).to_f32()];
    }
}

impl EncodableFormat<1, 2> for F16 {
    fn encode([value]: &[f32; 1], block: &mut [u8; 2]) {
        *block = f16::from_f32(*value).to_le_bytes();
    }
}

impl BlockFormat<1, 2> for BF16 {
    const DTYPE: DType = DType::BF16;

    fn decode(block: &[u8; 2], out: &mut [f32; 1]) {
        *out = [f32::from_bits(u32::from(u16::from_le_bytes(*block)) << 16)];
    }
}

impl EncodableFormat<1, 2> for BF16 {
    fn encode([value]: &[f32; 1], block: &mut [u8; 2]) {
        *block = bf16::from_f32(*value).to_le_bytes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f16_bits(value: f32) -> u16 {
        let mut block = [0; 2];
        F16::encode(&[value], &mut block);
        u16::from_le_bytes(block)
    }

    fn bf16_bits(value: f32) -> u16 {
        let mut block = [0; 2];
        BF16::encode(&[value], &mut block);
        u16::from_le_bytes(block)
    }

    #[test]
    fn f16_rounds_ties_to_even() {
        assert_eq!(f16_bits(1.0 + 1.0 / 2048.0), 0x3c00);
        assert_eq!(f16_bits(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(f16_bits(f32::from_bits(0x3f80_1001)), 0x3c01);
    }

    #[test]
    fn f16_reaches_both_ends_of_its_range() {
        assert_eq!(f16_bits(65519.0), 0x7bff);
        assert_eq!(f16_bits(65520.0), 0x7c00);
        assert_eq!(f16_bits(-65520.0), 0xfc00);
        assert_eq!(f16_bits(2_f32.powi(-24)), 0x0001);
        assert_eq!(f16_bits(2_f32.powi(-25)), 0x0000);
        assert_eq!(f16_bits(-0.0), 0x8000);
    }

    #[test]
    fn bf16_rounds_ties_to_even() {
        assert_eq!(bf16_bits(f32::from_bits(0x3f80_8000)), 0x3f80);
        assert_eq!(bf16_bits(f32::from_bits(0x3f81_8000)), 0x3f82);
        assert_eq!(bf16_bits(f32::from_bits(0x3f80_8001)), 0x3f81);
        assert_eq!(bf16_bits(f32::MAX), 0x7f80);
    }

    #[test]
    fn nan_does_not_round_to_infinity() {
        let barely_nan = f32::from_bits(0x7f80_0001);
        assert_eq!(bf16_bits(barely_nan), 0x7fc0);
        assert!(f16::from_bits(f16_bits(barely_nan)).is_nan());
    }

    #[test]
    fn every_16_bit_float_survives_the_way_through_f32() {
        for bits in 0..=u16::MAX {
            let (mut value, mut back) = ([0.0], [0; 2]);
            F16::decode(&bits.to_le_bytes(), &mut value);
            F16::encode(&value, &mut back);
            assert!(u16::from_le_bytes(back) == bits || value[0].is_nan(), "f16 {bits:#06x}");
            BF16::decode(&bits.to_le_bytes(), &mut value);
            BF16::encode(&value, &mut back);
            assert!(u16::from_le_bytes(back) == bits || value[0].is_nan(), "bf16 {bits:#06x}");
        }
    }
}
