//! `Q6_K`: 256 values in 16 sub-blocks of 16, each with a signed 8-bit scale; 6-bit codes centred on 32.
//!
//! # Layout
//!
//! 210 bytes, 6.5625 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..128 | `ql` | low four bits of the codes, 64 bytes for each half of the block |
//! | 128..192 | `qh` | high two bits of the codes, 32 bytes for each half |
//! | 192..208 | `scales` | byte `j`: scale of sub-block `j`, two's complement |
//! | 208..210 | `d` | f16 scale of the scales |
//!
//! A half has 128 values. Its value `32·g + l` (`g` in 0..4, `l` in 0..32) has its low bits in byte
//! `32·(g % 2) + l` of the half's `ql`, in the low four bits for `g < 2` and in the high four otherwise,
//! and its high bits in bits `2g..2g+2` of byte `l` of the half's `qh`.
//!
//! # Formula
//!
//! `value = (d·scale)·(code − 32)`.
//!
//! # Exactness
//!
//! In the order written; the products have at most 11 + 7 + 5 significant bits and are exact. The order
//! shows in the sign of zeros: scale 0 and a code below 32 give `−0` for a positive `d`.
//!
//! # References
//!
//! `block_q6_K` and `dequantize_row_q6_K` in ggml; llama.cpp pull request 1684, which introduced the
//! k-quants.

use super::{BlockFormat, scale};
use crate::DType;

/// Super-blocks of 256 values, `(d·scale)·(code − 32)`.
#[derive(Clone, Copy, Debug)]
pub struct Q6K;

impl BlockFormat<256, 210> for Q6K {
    const DTYPE: DType = DType::Q6K;

    fn decode([rest @ .., d0, d1]: &[u8; 210], out: &mut [f32; 256]) {
        let d = scale([*d0, *d1]);
        let (ql, rest) = rest.split_at(128);
        let (qh, scales) = rest.split_at(64);
        for (j, (values, scale)) in out.chunks_exact_mut(16).zip(scales).enumerate() {
            let step = d * f32::from(scale.cast_signed());
            let (half, group, column) = (j / 8, j % 8 / 2, 16 * (j % 2));
            let low = &ql[64 * half + 32 * (group % 2) + column..];
            let high = &qh[32 * half + column..];
            for (value, (q, h)) in values.iter_mut().zip(low.iter().zip(high)) {
                let code = ((q >> (4 * (group / 2))) & 15) | (((h >> (2 * group)) & 3) << 4);
                *value = step * f32::from(i16::from(code) - 32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn block(d: f32) -> [u8; 210] {
        let mut block = [0; 210];
        block[208..].copy_from_slice(&f16::from_f32(d).to_le_bytes());
        block
    }

    fn decode(block: &[u8; 210]) -> [f32; 256] {
        let mut out = [f32::NAN; 256];
        Q6K::decode(block, &mut out);
        out
    }

    #[test]
    fn sub_block_j_has_scale_j() {
        let mut block = block(0.5);
        for j in 0..16_i8 {
            block[192 + usize::from(j.unsigned_abs())] = (j - 8).cast_unsigned();
        }
        let out = decode(&block);
        for (j, values) in (0..16_i8).zip(out.chunks(16)) {
            assert!(values.iter().all(|&v| v == 0.5 * f32::from(j - 8) * -32.0), "sub-block {j}");
        }
    }

    #[test]
    fn bits_of_a_code_are_gathered_from_both_fields() {
        let mut block = block(1.0);
        block[192..208].fill(1);
        block[64 + 32 + 3] = 0x95;
        block[128 + 32 + 3] = 0b11_10_01_00;
        let out = decode(&block);
        assert_eq!(out[128 + 3], f32::from(0x00_i8) - 32.0);
        assert_eq!(out[128 + 32 + 3], f32::from(0x15_i8) - 32.0);
        assert_eq!(out[128 + 64 + 3], f32::from(0x20_i8) - 32.0);
        assert_eq!(out[128 + 96 + 3], f32::from(0x39_i8) - 32.0);
        assert_eq!(out.iter().filter(|&&v| v == -32.0).count(), 253);
    }

    #[test]
    fn a_zero_scale_times_a_negative_code_is_minus_zero() {
        assert!(decode(&block(1.0)).iter().all(|v| v.to_bits() == (-0.0_f32).to_bits()));
    }

    #[test]
    fn extremes_are_exact() {
        let mut block = block(65504.0);
        block[192..208].fill(0x80);
        assert!(decode(&block).iter().all(|&v| v == 65504.0 * 128.0 * 32.0));
    }
}
