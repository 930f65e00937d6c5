//! `IQ4_NL`: 32 values, one scale, 4-bit indices into a table of uneven steps.
//!
//! # Layout
//!
//! 18 bytes, 4.5 bits per value; the same as [`q4_0`](super::q4_0).
//!
//! | bytes | field | holds |
//! |---|---|---|
//! | 0..2 | `d` | f16 scale |
//! | 2..18 | `qs` | byte `j`: index of value `j` in the low four bits, of value `j + 16` in the high four |
//!
//! # Formula
//!
//! `value[i] = d·STEPS[index[i]]`, with [`STEPS`] denser around zero, where weights are.
//!
//! # Exactness
//!
//! One product of 11 by 7 bits, exact. No step is zero.
//!
//! # References
//!
//! `block_iq4_nl`, `kvalues_iq4nl` and `dequantize_row_iq4_nl` in ggml; llama.cpp pull request 5590.

use super::{BlockFormat, scale};
use crate::DType;

/// What the 16 indices stand for, in units of the scale.
pub const STEPS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Blocks of 32 values, `d·STEPS[index]`.
#[derive(Clone, Copy, Debug)]
pub struct Iq4Nl;

impl BlockFormat<32, 18> for Iq4Nl {
    const DTYPE: DType = DType::Iq4Nl;

    fn decode([d0, d1, qs @ ..]: &[u8; 18], out: &mut [f32; 32]) {
        decode_steps(scale([*d0, *d1]), qs, out);
    }
}

/// Writes the 32 values whose indices are in `qs`, scaled by `step`.
pub(super) fn decode_steps(step: f32, qs: &[u8; 16], out: &mut [f32; 32]) {
    for (j, q) in qs.iter().enumerate() {
        out[j] = step * f32::from(STEPS[usize::from(q & 15)]);
        out[j + 16] = step * f32::from(STEPS[usize::from(q >> 4)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    #[test]
    fn low_nibbles_are_the_first_half_of_the_block() {
        let mut block = [0x88; 18];
        block[..2].copy_from_slice(&f16::from_f32(0.5).to_le_bytes());
        (block[2], block[17]) = (0xf0, 0x79);
        let mut out = [f32::NAN; 32];
        Iq4Nl::decode(&block, &mut out);
        assert_eq!([out[0], out[15], out[16], out[31]], [-63.5, 6.5, 56.5, -5.0]);
        assert!(out[1..15].iter().chain(&out[17..31]).all(|&v| v == 0.5));
    }

    #[test]
    fn steps_rise() {
        assert!(STEPS.is_sorted_by(|a, b| a < b));
    }
}
