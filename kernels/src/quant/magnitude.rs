//! What the values of a row are made of, by magnitude.
//!
//! In the formats with a minimum or with centred codes a value is a scaled code plus an offset, `a·code + b`: `d·code + m`,
//! `d·code − 8·d`, `(d·scale)·code − dmin·minimum`. A dot product may take the two apart, `a·Σcode·x + b·Σx`, and its rounding
//! errors then scale with `|a·code| + |b|`, which can be far more than `|a·code + b|`.
//!
//! | formats | offset `b` |
//! |---|---|
//! | `Q4_0`, `Q5_0` | `−8·d`, `−16·d` |
//! | `Q4_1`, `Q5_1` | `m` |
//! | `Q2_K`, `Q4_K`, `Q5_K` | `−dmin·minimum` |
//! | `Q3_K`, `Q6_K` | `−4·(d·scale)`, `−32·(d·scale)` |
//! | the others | none: the magnitude is that of the value |
//!
//! The offset is what a block decodes to when all of its codes are 0.

use std::ops::Range;

use super::{QuantError, decode_row};
use crate::DType;

/// The magnitude `|a·code| + |b|` of each value of a row, to within two roundings to f32. Arguments and errors as those of
/// [`decode_row`].
pub fn magnitude_row(dtype: DType, bytes: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    decode_row(dtype, bytes, out)?;
    let Some(codes) = codes_beside_an_offset(dtype) else {
        for value in out {
            *value = value.abs();
        }
        return Ok(());
    };
    let mut without_codes = bytes.to_vec();
    for block in without_codes.chunks_exact_mut(dtype.block_bytes()) {
        block[codes.clone()].fill(0);
    }
    let mut offsets = vec![0.0; out.len()];
    decode_row(dtype, &without_codes, &mut offsets)?;
    for (value, offset) in out.iter_mut().zip(offsets) {
        *value = (*value - offset).abs() + offset.abs();
    }
    Ok(())
}

/// The bytes of a block that hold its codes, for the formats whose values have an offset.
const fn codes_beside_an_offset(dtype: DType) -> Option<Range<usize>> {
    match dtype {
        DType::Q4_0 => Some(2..18),
        DType::Q4_1 => Some(4..20),
        DType::Q5_0 => Some(2..22),
        DType::Q5_1 => Some(4..24),
        DType::Q2K => Some(16..80),
        DType::Q3K => Some(0..96),
        DType::Q4K => Some(16..144),
        DType::Q5K => Some(16..176),
        DType::Q6K => Some(0..192),
        DType::F32
        | DType::F16
        | DType::BF16
        | DType::Q8_0
        | DType::Iq4Nl
        | DType::Iq4Xs
        | DType::Mxfp4
        | DType::U32 => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the f16 scales of a block stand, for the formats with an offset.
    const SCALES: [(DType, &[usize]); 9] = [
        (DType::Q4_0, &[0]),
        (DType::Q4_1, &[0, 2]),
        (DType::Q5_0, &[0]),
        (DType::Q5_1, &[0, 2]),
        (DType::Q2K, &[80, 82]),
        (DType::Q3K, &[108]),
        (DType::Q4K, &[0, 2]),
        (DType::Q5K, &[0, 2]),
        (DType::Q6K, &[208]),
    ];

    /// A block with the given code bytes, scales of 1 and, in the other bytes, `rest`.
    fn block(dtype: DType, codes: u8, rest: u8) -> Vec<u8> {
        let mut block = vec![rest; dtype.block_bytes()];
        block[codes_beside_an_offset(dtype).unwrap()].fill(codes);
        for &at in SCALES.iter().find(|(d, _)| *d == dtype).unwrap().1 {
            block[at..at + 2].copy_from_slice(&half::f16::ONE.to_le_bytes());
        }
        block
    }

    fn magnitude(dtype: DType, bytes: &[u8]) -> Vec<f32> {
        let mut out = vec![f32::NAN; dtype.block_len()];
        magnitude_row(dtype, bytes, &mut out).unwrap();
        out
    }

    fn absolute(dtype: DType, bytes: &[u8]) -> Vec<f32> {
        let mut value = vec![f32::NAN; dtype.block_len()];
        decode_row(dtype, bytes, &mut value).unwrap();
        value.into_iter().map(f32::abs).collect()
    }

    #[test]
    fn the_largest_codes_and_the_offset_add_up() {
        // Scales and minimums of sub-blocks: all bits set, but for Q3_K's and Q6_K's, which are signed: −32 and −1.
        let want = [
            (DType::Q4_0, 15.0 + 8.0),
            (DType::Q4_1, 15.0 + 1.0),
            (DType::Q5_0, 31.0 + 16.0),
            (DType::Q5_1, 31.0 + 1.0),
            (DType::Q2K, 15.0 * 3.0 + 15.0),
            (DType::Q3K, 32.0 * (7.0 + 4.0)),
            (DType::Q4K, 63.0 * 15.0 + 63.0),
            (DType::Q5K, 63.0 * 31.0 + 63.0),
            (DType::Q6K, 63.0 + 32.0),
        ];
        for (dtype, want) in want {
            let rest = if dtype == DType::Q3K { 0 } else { 0xff };
            assert_eq!(magnitude(dtype, &block(dtype, 0xff, rest)), vec![want; dtype.block_len()], "{dtype}");
        }
    }

    #[test]
    fn codes_of_zero_leave_the_offset() {
        for (dtype, _) in SCALES {
            let bytes = block(dtype, 0, 0x5a);
            let value = absolute(dtype, &bytes);
            assert_eq!(magnitude(dtype, &bytes), value, "{dtype}");
            assert!(value.iter().all(|&v| v > 0.0), "{dtype}: the offset shows");
        }
    }

    #[test]
    fn a_format_without_offset_has_the_magnitude_of_its_values() {
        for dtype in DType::WEIGHTS.into_iter().filter(|&d| codes_beside_an_offset(d).is_none()) {
            let bytes = vec![0xb9; dtype.block_bytes()];
            let value = absolute(dtype, &bytes);
            assert_eq!(magnitude(dtype, &bytes), value, "{dtype}");
        }
    }

    #[test]
    fn a_value_that_cancels_keeps_its_magnitude() {
        let mut bytes = block(DType::Q4_1, 0x88, 0);
        bytes[2..4].copy_from_slice(&half::f16::from_f32(-8.0).to_le_bytes());
        assert_eq!(absolute(DType::Q4_1, &bytes), [0.0; 32]);
        assert_eq!(magnitude(DType::Q4_1, &bytes), [16.0; 32]);
    }

    #[test]
    fn indices_have_no_magnitude() {
        let dtype = DType::U32;
        assert_eq!(magnitude_row(dtype, &[0; 4], &mut [0.0]), Err(QuantError::NotAFormat { dtype }));
    }
}
