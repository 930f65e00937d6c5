//! `Q5_K`: 256 values in 8 sub-blocks of 32, each with a 6-bit scale and a 6-bit minimum; 5-bit codes.
//!
//! # Layout
//!
//! 176 bytes, 5.5 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale of the scales |
//! | 2..4 | `dmin` | f16 scale of the minimums |
//! | 4..16 | `scales` | 8 scales and 8 minimums of 6 bits, packed as in [`q4_k`](super::q4_k) |
//! | 16..48 | `qh` | bit `j` of byte `l`: fifth bit of the code of value `l` of sub-block `j` |
//! | 48..176 | `qs` | low four bits: run `p` of 32 bytes has sub-block `2p` in its low halves, `2p + 1` in its high ones |
//!
//! # Formula
//!
//! `value = (d·scale)·code − dmin·minimum`.
//!
//! # Exactness
//!
//! In the order written. The products have at most 11 + 6 + 5 bits and are exact; the difference is rounded
//! once.
//!
//! # References
//!
//! `block_q5_K` and `dequantize_row_q5_K` in ggml; llama.cpp pull request 1684, which introduced the
//! k-quants.

use super::q4_k::scale_and_minimum;
use super::{BlockFormat, scale};
use crate::DType;

/// Super-blocks of 256 values, `(d·scale)·code − dmin·minimum`.
#[derive(Clone, Copy, Debug)]
pub struct Q5K;

impl BlockFormat<256, 176> for Q5K {
    const DTYPE: DType = DType::Q5K;

    fn decode([d0, d1, m0, m1, rest @ ..]: &[u8; 176], out: &mut [f32; 256]) {
        let (d, dmin) = (scale([*d0, *d1]), scale([*m0, *m1]));
        let (scales, rest) = rest.split_at(12);
        let (qh, qs) = rest.split_at(32);
        for (j, values) in out.chunks_exact_mut(32).enumerate() {
            let (scale, minimum) = scale_and_minimum(scales, j);
            let step = d * f32::from(scale);
            let minimum = dmin * f32::from(minimum);
            let shift = 4 * (j % 2);
            let low = &qs[32 * (j / 2)..];
            for (value, (q, h)) in values.iter_mut().zip(low.iter().zip(qh)) {
                let code = ((q >> shift) & 15) | (((h >> j) & 1) << 4);
                *value = step * f32::from(code) - minimum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn block(d: f32, dmin: f32) -> [u8; 176] {
        let mut block = [0; 176];
        block[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
        block[2..4].copy_from_slice(&f16::from_f32(dmin).to_le_bytes());
        block
    }

    fn decode(block: &[u8; 176]) -> [f32; 256] {
        let mut out = [f32::NAN; 256];
        Q5K::decode(block, &mut out);
        out
    }

    #[test]
    fn the_fifth_bit_is_the_sub_blocks_bit_of_the_column() {
        let mut block = block(1.0, 1.0);
        (block[4 + 3], block[4 + 7]) = (2, 3);
        block[16 + 20] = 1 << 3;
        block[48 + 32 + 20] = 0x50;
        let out = decode(&block);
        assert_eq!(out[3 * 32 + 20], 2.0 * 21.0 - 3.0);
        assert_eq!(out[3 * 32 + 19], -3.0);
        assert_eq!(out.iter().filter(|&&v| v != 0.0).count(), 32);
    }

    #[test]
    fn extremes_are_exact() {
        let mut block = block(65504.0, -65504.0);
        block[4..].fill(0xff);
        assert!(decode(&block).iter().all(|&v| v == 65504.0 * 63.0 * 32.0));
    }
}
