//! `IQ4_XS`: 256 values in 8 sub-blocks of 32, each with a signed 6-bit scale; indices into the table of
//! `IQ4_NL`.
//!
//! # Layout
//!
//! 136 bytes, 4.25 bits per value.
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale of the scales |
//! | 2..4 | `scales_h` | 16 bits, little-endian: bits `2j..2j+2` are the high two of scale `j` |
//! | 4..8 | `scales_l` | byte `p`: low four bits of scale `2p` in the low half, of scale `2p + 1` in the high half |
//! | 8..136 | `qs` | 16 bytes for each sub-block, nibbles as in [`iq4_nl`](super::iq4_nl) |
//!
//! Scales are stored with 32 added.
//!
//! # Formula
//!
//! `value = (d·(scale − 32))·STEPS[index]`, with the [`STEPS`](super::iq4_nl::STEPS) of `IQ4_NL`.
//!
//! # Exactness
//!
//! In the order written; the products have at most 11 + 5 + 7 significant bits and are exact. With scale 32
//! a value is a zero with the sign of `d` times that of its step.
//!
//! # References
//!
//! `block_iq4_xs` and `dequantize_row_iq4_xs` in ggml; llama.cpp pull request 5747.

use super::iq4_nl::decode_steps;
use super::{BlockFormat, scale};
use crate::DType;

/// Super-blocks of 256 values, `(d·(scale − 32))·STEPS[index]`.
#[derive(Clone, Copy, Debug)]
pub struct Iq4Xs;

impl BlockFormat<256, 136> for Iq4Xs {
    const DTYPE: DType = DType::Iq4Xs;

    fn decode([d0, d1, h0, h1, rest @ ..]: &[u8; 136], out: &mut [f32; 256]) {
        let d = scale([*d0, *d1]);
        let (scales_l, qs) = rest.split_at(4);
        let (runs, _) = qs.as_chunks();
        let (sub_blocks, _) = out.as_chunks_mut();
        for (j, (values, qs)) in sub_blocks.iter_mut().zip(runs).enumerate() {
            let low = (scales_l[j / 2] >> (4 * (j % 2))) & 15;
            let high = ([h0, h1][j / 4] >> (2 * (j % 4))) & 3;
            let step = d * f32::from(i16::from(low | (high << 4)) - 32);
            decode_steps(step, qs, values);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    fn block(d: f32) -> [u8; 136] {
        let mut block = [0x88; 136];
        block[..2].copy_from_slice(&f16::from_f32(d).to_le_bytes());
        block
    }

    fn decode(block: &[u8; 136]) -> [f32; 256] {
        let mut out = [f32::NAN; 256];
        Iq4Xs::decode(block, &mut out);
        out
    }

    #[test]
    fn scales_are_gathered_from_both_fields() {
        let mut block = block(1.0);
        block[2..4].copy_from_slice(&0b01_10_11_00_11_10_01_00_u16.to_le_bytes());
        block[4..8].copy_from_slice(&[0x21, 0x43, 0x65, 0x87]);
        let want = [0x01, 0x12, 0x23, 0x34, 0x05, 0x36, 0x27, 0x18_i8].map(|s| f32::from(s) - 32.0);
        for (values, want) in decode(&block).chunks(32).zip(want) {
            assert!(values.iter().all(|&v| v == want), "{values:?} should all be {want}");
        }
    }

    #[test]
    fn a_sub_block_reads_its_own_16_bytes() {
        let mut block = block(1.0);
        block[2..4].fill(0b10_10_10_10);
        block[4..8].fill(0x11);
        block[8 + 16 * 6 + 2] = 0xf0;
        let out = decode(&block);
        assert_eq!([out[6 * 32 + 2], out[6 * 32 + 18]], [-127.0, 113.0]);
        assert_eq!(out.iter().filter(|&&v| v == 1.0).count(), 254);
    }

    #[test]
    fn a_zero_scale_keeps_the_sign_of_the_step() {
        let mut block = block(1.0);
        block[2..4].fill(0b10_10_10_10);
        block[4..8].fill(0);
        block[8] = 0xf0;
        let out = decode(&block);
        assert_eq!([out[0].to_bits(), out[16].to_bits()], [(-0.0_f32).to_bits(), 0]);
    }
}
