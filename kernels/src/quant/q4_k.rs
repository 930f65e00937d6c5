//! `Q4_K`: 256 values in 8 sub-blocks of 32, each with a 6-bit scale and a 6-bit minimum; 4-bit codes.
//!
//! # Layout
//!
//! 144 bytes, 4.5 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale of the scales |
//! | 2..4 | `dmin` | f16 scale of the minimums |
//! | 4..16 | `scales` | 8 scales and 8 minimums of 6 bits; see below |
//! | 16..144 | `qs` | run `p` of 32 bytes: codes of sub-block `2p` in the low four bits, of `2p + 1` in the high four |
//!
//! `scales` is packed so (`s` scale, `m` minimum, the number is the sub-block, high bits to the left):
//!
//! | byte | bits 7..6 | bits 5..4 | bits 3..0 |
//! |---|---|---|---|
//! | `j` in 0..4 | `s(j+4)` bits 5..4 | `s(j)` bits 5..4 | `s(j)` bits 3..0 |
//! | `4 + j` | `m(j+4)` bits 5..4 | `m(j)` bits 5..4 | `m(j)` bits 3..0 |
//! | `8 + j` | `m(j+4)` bits 3..2 | `m(j+4)` bits 1..0 | `s(j+4)` bits 3..0 |
//!
//! # Formula
//!
//! `value = (d·scale)·code − dmin·minimum`.
//!
//! # Exactness
//!
//! In the order written. The products have at most 11 + 6 + 4 bits and are exact; the difference is rounded
//! once.
//!
//! # References
//!
//! `block_q4_K`, `get_scale_min_k4` and `dequantize_row_q4_K` in ggml; llama.cpp pull request 1684, which
//! introduced the k-quants.

use super::{BlockFormat, scale};
use crate::DType;

/// Super-blocks of 256 values, `(d·scale)·code − dmin·minimum`.
#[derive(Clone, Copy, Debug)]
pub struct Q4K;

impl BlockFormat<256, 144> for Q4K {
    const DTYPE: DType = DType::Q4K;

    fn decode([d0, d1, m0, m1, rest @ ..]: &[u8; 144], out: &mut [f32; 256]) {
        let (d, dmin) = (scale([*d0, *d1]), scale([*m0, *m1]));
        let (scales, qs) = rest.split_at(12);
        for (j, values) in out.chunks_exact_mut(32).enumerate() {
            let (scale, minimum) = scale_and_minimum(scales, j);
            let step = d * f32::from(scale);
            let minimum = dmin * f32::from(minimum);
            let shift = 4 * (j % 2);
            for (value, q) in values.iter_mut().zip(&qs[32 * (j / 2)..]) {
                *value = step * f32::from((q >> shift) & 15) - minimum;
            }
        }
    }
}

/// The 6-bit scale and minimum of sub-block `j` out of the 12 packed bytes.
pub(super) fn scale_and_minimum(packed: &[u8], j: usize) -> (u8, u8) {
    if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        let low = packed[j + 4];
        ((low & 15) | (packed[j - 4] >> 6 << 4), (low >> 4) | (packed[j] >> 6 << 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn block(d: f32, dmin: f32) -> [u8; 144] {
        let mut block = [0; 144];
        block[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
        block[2..4].copy_from_slice(&f16::from_f32(dmin).to_le_bytes());
        block
    }

    fn decode(block: &[u8; 144]) -> [f32; 256] {
        let mut out = [f32::NAN; 256];
        Q4K::decode(block, &mut out);
        out
    }

    #[test]
    fn scales_and_minimums_are_unpacked_as_the_table_says() {
        let mut packed = [0; 12];
        (packed[1], packed[5], packed[9]) = (0b10_110101, 0b01_001110, 0b1101_0110);
        assert_eq!(scale_and_minimum(&packed, 1), (0b11_0101, 0b00_1110));
        assert_eq!(scale_and_minimum(&packed, 5), (0b10_0110, 0b01_1101));
        assert_eq!(scale_and_minimum(&packed, 0), (0, 0));
        assert_eq!(scale_and_minimum(&packed, 4), (0, 0));
    }

    #[test]
    fn a_byte_holds_values_32_apart() {
        let mut block = block(0.5, 2.0);
        (block[4 + 2], block[4 + 3], block[4 + 7]) = (4, 6, 5);
        block[16 + 32 + 9] = 0xa7;
        let out = decode(&block);
        assert_eq!(out[2 * 32 + 9], 0.5 * 4.0 * 7.0);
        assert_eq!(out[3 * 32 + 9], 0.5 * 6.0 * 10.0 - 2.0 * 5.0);
        assert_eq!(out[3 * 32], -10.0);
        assert_eq!(out.iter().filter(|&&v| v != 0.0).count(), 33);
    }

    #[test]
    fn extremes_are_exact() {
        let mut block = block(65504.0, -65504.0);
        block[4..].fill(0xff);
        assert!(decode(&block).iter().all(|&v| v == 65504.0 * 63.0 * 16.0));
    }
}
