//! `Q3_K`: 256 values in 16 sub-blocks of 16, each with a signed 6-bit scale; 3-bit codes centred on 4.
//!
//! # Layout
//!
//! 110 bytes, 3.4375 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..32 | `hmask` | bit `b` of byte `l`: third bit of the code of value `32·b + l` |
//! | 32..96 | `qs` | low two bits of the codes, laid out as in [`q2_k`](super::q2_k) |
//! | 96..108 | `scales` | 16 scales of 6 bits; see below |
//! | 108..110 | `d` | f16 scale of the scales |
//!
//! Of the scale of sub-block `j`, stored with 32 added, the low four bits are in byte `j % 8` of `scales`,
//! in its low half for `j < 8` and in its high half otherwise; the high two are bits `2·(j / 4)` and up of
//! byte `8 + j % 4`.
//!
//! # Formula
//!
//! `value = (d·(scale − 32))·(code − 4)`, with `code` of three bits.
//!
//! # Exactness
//!
//! In the order written; the products have at most 11 + 5 + 2 significant bits and are exact. The order
//! shows in zeros: with scale 32 and a code below 4, a positive `d` gives `−0`.
//!
//! # References
//!
//! `block_q3_K` and `dequantize_row_q3_K` in ggml; llama.cpp pull request 1684, which introduced the
//! k-quants.

use super::{BlockFormat, scale};
use crate::DType;

/// Super-blocks of 256 values, `(d·(scale − 32))·(code − 4)`.
#[derive(Clone, Copy, Debug)]
pub struct Q3K;

impl BlockFormat<256, 110> for Q3K {
    const DTYPE: DType = DType::Q3K;

    fn decode([rest @ .., d0, d1]: &[u8; 110], out: &mut [f32; 256]) {
        let d = scale([*d0, *d1]);
        let (hmask, rest) = rest.split_at(32);
        let (qs, scales) = rest.split_at(64);
        for (j, values) in out.chunks_exact_mut(16).enumerate() {
            let step = d * f32::from(sub_scale(scales, j));
            let (bit, shift, column) = (j / 2, 2 * (j % 8 / 2), 16 * (j % 2));
            let low = &qs[32 * (j / 8) + column..];
            let high = &hmask[column..];
            for (value, (q, h)) in values.iter_mut().zip(low.iter().zip(high)) {
                let code = ((q >> shift) & 3) | (((h >> bit) & 1) << 2);
                *value = step * f32::from(i16::from(code) - 4);
            }
        }
    }
}

/// The scale of sub-block `j`, in −32..32.
fn sub_scale(scales: &[u8], j: usize) -> i16 {
    let low = (scales[j % 8] >> (j / 8 * 4)) & 15;
    let high = (scales[8 + j % 4] >> (j / 4 * 2)) & 3;
    i16::from(low | (high << 4)) - 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn block(d: f32) -> [u8; 110] {
        let mut block = [0; 110];
        block[108..].copy_from_slice(&f16::from_f32(d).to_le_bytes());
        block
    }

    fn decode(block: &[u8; 110]) -> [f32; 256] {
        let mut out = [f32::NAN; 256];
        Q3K::decode(block, &mut out);
        out
    }

    #[test]
    fn scales_are_found_in_both_their_places() {
        let mut block = block(1.0);
        (block[96 + 2], block[96 + 8 + 2]) = (0x9a, 0b10_01_11_00);
        let out = decode(&block);
        let scale = |j: usize| out[16 * j] / -4.0;
        assert_eq!(scale(2), f32::from(0x0a_i8) - 32.0);
        assert_eq!(scale(6), f32::from(0x30_i8) - 32.0);
        assert_eq!(scale(10), f32::from(0x19_i8) - 32.0);
        assert_eq!(scale(14), f32::from(0x20_i8) - 32.0);
        assert_eq!(scale(0), -32.0);
    }

    #[test]
    fn a_set_mask_bit_adds_4_to_its_value_alone() {
        let mut block = block(1.0);
        block[96..104].fill(0x11);
        block[104..108].fill(0xaa);
        block[7] = 1 << 5;
        block[32 + 32 + 7] = 0b00_00_11_00;
        let out = decode(&block);
        assert_eq!(out[5 * 32 + 7], 3.0);
        assert_eq!(out.iter().filter(|&&v| v == -4.0).count(), 255);
    }

    #[test]
    fn a_zero_scale_times_a_negative_code_is_minus_zero() {
        let mut block = block(1.0);
        block[104..108].fill(0xaa);
        let out = decode(&block);
        assert!(out.iter().all(|v| v.to_bits() == (-0.0_f32).to_bits()));
    }

    #[test]
    fn extremes_are_exact() {
        let mut block = block(65504.0);
        assert_eq!(decode(&block)[0], 65504.0 * 128.0);
        block[..32].fill(0xff);
        block[32..108].fill(0xff);
        assert_eq!(decode(&block)[255], 65504.0 * 31.0 * 3.0);
    }
}
