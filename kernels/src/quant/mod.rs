//! Block formats: how bytes become f32 values, and back.
//!
//! A format stores `LEN` consecutive values of a row in a block of `BYTES` bytes. Each has a page of
//! its own with the layout, the formula and the exactness of its decoding:
//!
//! | page | formats | a value is |
//! |---|---|---|
//! | [`float`] | `F32`, `F16`, `BF16` | itself |
//! | [`q4_0`], [`q5_0`], [`q8_0`] | 4, 5, 8 bits, blocks of 32 | `q·d` |
//! | [`q4_1`], [`q5_1`] | 4, 5 bits, blocks of 32 | `q·d + m` |
//! | [`q2_k`], [`q4_k`], [`q5_k`] | 2, 4, 5 bits, super-blocks of 256 | `(d·scale)·q − dmin·min` |
//! | [`q3_k`], [`q6_k`] | 3, 6 bits, super-blocks of 256 | `(d·scale)·q` |
//! | [`iq4_nl`], [`iq4_xs`] | 4-bit index into 16 uneven steps | `(d·scale)·table[q]` |
//! | [`mxfp4`] | 4-bit float, shared power of two | `2^(e−127)·e2m1` |
//!
//! # Exactness
//!
//! Decoding gives, bit for bit, the f32 that ggml's `dequantize_row_*` gives. The scales are f16 (11
//! significant bits) and the integers are short, so every product fits the 24 bits of an f32 and is
//! exact; nothing underflows or overflows either, for the f16 range is far inside that of f32.
//! What is left to round is at most one addition or subtraction per value. Therefore a fused
//! multiply-add gives the same bits as a separate one. The order of the products shows only in the sign
//! of a zero (`(d·0)·−1` is `−0`, `d·(0·−1)` is `0`), and each page says which order holds.
//! [`mxfp4`] alone can overflow, to infinity, at the top of its scale.
//!
//! Encoding gives the bytes of ggml's `quantize_row_*_ref`, wherever C defines what those do.
//! They convert floats to small integers without a check, which C leaves undefined for NaN and for what
//! does not fit. Here that conversion truncates, saturates, and takes NaN to 0. Such
//! values arise only from rows with NaN, with infinities, or whose scale is at most `2^-128`.
//!
//! No input is malformed: every byte pattern is a block. A NaN or infinite scale decodes to NaN and
//! infinity, inside its own block.
//!
//! # References
//!
//! The block layouts stand in ggml's `ggml-common.h`, the conversions in `ggml-quants.c` and
//! `ggml-impl.h`. `golden/quant` holds what the Python package `gguf` makes of the same bytes.

#![cfg_attr(test, expect(clippy::float_cmp, reason = "decoding is exact, so tests ask for equality"))]

mod encoding;
pub mod float;
pub mod iq4_nl;
pub mod iq4_xs;
mod magnitude;
pub mod mxfp4;
pub mod q2_k;
pub mod q3_k;
pub mod q4_0;
pub mod q4_1;
pub mod q4_k;
pub mod q5_0;
pub mod q5_1;
pub mod q5_k;
pub mod q6_k;
pub mod q8_0;

pub use float::{BF16, F16, F32};
pub use iq4_nl::Iq4Nl;
pub use iq4_xs::Iq4Xs;
pub use magnitude::magnitude_row;
pub use mxfp4::Mxfp4;
pub use q2_k::Q2K;
pub use q3_k::Q3K;
pub use q4_0::Q4_0;
pub use q4_1::Q4_1;
pub use q4_k::Q4K;
pub use q5_0::Q5_0;
pub use q5_1::Q5_1;
pub use q5_k::Q5K;
pub use q6_k::Q6K;
pub use q8_0::Q8_0;

use crate::DType;

/// A format whose blocks hold `LEN` values in `BYTES` bytes.
///
/// Each format implements this once, so both numbers can be left to inference:
/// `decode_blocks::<Q4K, _, _>(bytes, out)`.
pub trait BlockFormat<const LEN: usize, const BYTES: usize> {
    /// The element type of a tensor in this format.
    const DTYPE: DType;

    /// Writes the values of `block` to `out`.
    fn decode(block: &[u8; BYTES], out: &mut [f32; LEN]);
}

/// A format that values can be rounded to.
pub trait EncodableFormat<const LEN: usize, const BYTES: usize>: BlockFormat<LEN, BYTES> {
    /// Writes the block that stands for `values` to `block`.
    fn encode(values: &[f32; LEN], block: &mut [u8; BYTES]);
}

/// Why a row cannot be decoded or encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QuantError {
    /// The row ends inside a block.
    #[error("{dtype}: a row of {values} values does not fill whole blocks of {block_len}")]
    PartialBlock {
        /// Format of the row.
        dtype: DType,
        /// Values in the row.
        values: usize,
        /// Values in a block.
        block_len: usize,
    },
    /// The byte slice and the value slice are not of the same row.
    #[error("{dtype}: a row of {values} values takes {want} bytes, got {got}")]
    ByteCount {
        /// Format of the row.
        dtype: DType,
        /// Values in the row.
        values: usize,
        /// Bytes that so many values take.
        want: usize,
        /// Bytes in the slice.
        got: usize,
    },
    /// The type holds indices, not values.
    #[error("{dtype} holds indices and has no decoding to f32")]
    NotAFormat {
        /// The type asked for.
        dtype: DType,
    },
    /// Values can be decoded from the format but not rounded to it.
    #[error("{dtype} has no encoder")]
    NoEncoder {
        /// The format asked for.
        dtype: DType,
    },
}

/// Decodes a row: `bytes`, whole blocks of `dtype`, into `out`, one f32 per value.
///
/// On an error `out` is unchanged.
pub fn decode_row(dtype: DType, bytes: &[u8], out: &mut [f32]) -> Result<(), QuantError> {
    check_extents(dtype, out.len(), bytes.len())?;
    match dtype {
        DType::F32 => decode_blocks::<F32, _, _>(bytes, out),
        DType::F16 => decode_blocks::<F16, _, _>(bytes, out),
        DType::BF16 => decode_blocks::<BF16, _, _>(bytes, out),
        DType::Q4_0 => decode_blocks::<Q4_0, _, _>(bytes, out),
        DType::Q4_1 => decode_blocks::<Q4_1, _, _>(bytes, out),
        DType::Q5_0 => decode_blocks::<Q5_0, _, _>(bytes, out),
        DType::Q5_1 => decode_blocks::<Q5_1, _, _>(bytes, out),
        DType::Q8_0 => decode_blocks::<Q8_0, _, _>(bytes, out),
        DType::Q2K => decode_blocks::<Q2K, _, _>(bytes, out),
        DType::Q3K => decode_blocks::<Q3K, _, _>(bytes, out),
        DType::Q4K => decode_blocks::<Q4K, _, _>(bytes, out),
        DType::Q5K => decode_blocks::<Q5K, _, _>(bytes, out),
        DType::Q6K => decode_blocks::<Q6K, _, _>(bytes, out),
        DType::Iq4Nl => decode_blocks::<Iq4Nl, _, _>(bytes, out),
        DType::Iq4Xs => decode_blocks::<Iq4Xs, _, _>(bytes, out),
        DType::Mxfp4 => decode_blocks::<Mxfp4, _, _>(bytes, out),
        DType::U32 => return Err(QuantError::NotAFormat { dtype }),
    }
    Ok(())
}

/// Encodes a row: `values`, enough for whole blocks of `dtype`, into `bytes`.
///
/// On an error `bytes` is unchanged.
pub fn encode_row(dtype: DType, values: &[f32], bytes: &mut [u8]) -> Result<(), QuantError> {
    check_extents(dtype, values.len(), bytes.len())?;
    match dtype {
        DType::F32 => encode_blocks::<F32, _, _>(values, bytes),
        DType::F16 => encode_blocks::<F16, _, _>(values, bytes),
        DType::BF16 => encode_blocks::<BF16, _, _>(values, bytes),
        DType::Q4_0 => encode_blocks::<Q4_0, _, _>(values, bytes),
        DType::Q4_1 => encode_blocks::<Q4_1, _, _>(values, bytes),
        DType::Q5_0 => encode_blocks::<Q5_0, _, _>(values, bytes),
        DType::Q5_1 => encode_blocks::<Q5_1, _, _>(values, bytes),
        DType::Q8_0 => encode_blocks::<Q8_0, _, _>(values, bytes),
        DType::Q2K
        | DType::Q3K
        | DType::Q4K
        | DType::Q5K
        | DType::Q6K
        | DType::Iq4Nl
        | DType::Iq4Xs
        | DType::Mxfp4 => return Err(QuantError::NoEncoder { dtype }),
        DType::U32 => return Err(QuantError::NotAFormat { dtype }),
    }
    Ok(())
}

/// Decodes block after block until `bytes` or `out` has no whole one left.
pub fn decode_blocks<F, const LEN: usize, const BYTES: usize>(bytes: &[u8], out: &mut [f32])
where
    F: BlockFormat<LEN, BYTES>,
{
    const { assert!(F::DTYPE.block_len() == LEN && F::DTYPE.block_bytes() == BYTES) }
    let (blocks, _) = bytes.as_chunks();
    let (values, _) = out.as_chunks_mut();
    for (block, values) in blocks.iter().zip(values) {
        F::decode(block, values);
    }
}

/// Encodes block after block until `values` or `bytes` has no room for a whole one.
pub fn encode_blocks<F, const LEN: usize, const BYTES: usize>(values: &[f32], bytes: &mut [u8])
where
    F: EncodableFormat<LEN, BYTES>,
{
    const { assert!(F::DTYPE.block_len() == LEN && F::DTYPE.block_bytes() == BYTES) }
    let (values, _) = values.as_chunks();
    let (blocks, _) = bytes.as_chunks_mut();
    for (values, block) in values.iter().zip(blocks) {
        F::encode(values, block);
    }
}

/// Refuses a row that ends inside a block and slices that are not of one row.
fn check_extents(dtype: DType, values: usize, got: usize) -> Result<(), QuantError> {
    let block_len = dtype.block_len();
    let Some(want) = dtype.bytes_of(values) else {
        return Err(QuantError::PartialBlock { dtype, values, block_len });
    };
    if want == got { Ok(()) } else { Err(QuantError::ByteCount { dtype, values, want, got }) }
}

/// The f32 that the f16 in `bytes`, little-endian, equals.
fn scale(bytes: [u8; 2]) -> f32 {
    half::f16::from_le_bytes(bytes).to_f32()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_ENCODER: [DType; 8] = [
        DType::Q2K,
        DType::Q3K,
        DType::Q4K,
        DType::Q5K,
        DType::Q6K,
        DType::Iq4Nl,
        DType::Iq4Xs,
        DType::Mxfp4,
    ];

    #[test]
    fn decodes_every_block_of_a_row_in_every_format() {
        for dtype in DType::WEIGHTS {
            let blocks = vec![0x3c; 3 * dtype.block_bytes()];
            let mut out = vec![f32::NAN; 3 * dtype.block_len()];
            decode_row(dtype, &blocks, &mut out).unwrap();
            assert!(out.iter().all(|v| v.is_finite()), "{dtype}: a value was left undecoded");
            let (first, rest) = out.split_at(dtype.block_len());
            assert!(rest.chunks(dtype.block_len()).all(|b| b == first), "{dtype}: equal blocks differ");
        }
    }

    #[test]
    fn rejects_a_byte_too_few_or_too_many() {
        for dtype in DType::WEIGHTS {
            let values = 2 * dtype.block_len();
            let want = 2 * dtype.block_bytes();
            for got in [want - 1, want + 1] {
                let mut out = vec![7.0; values];
                let error = decode_row(dtype, &vec![0; got], &mut out).unwrap_err();
                assert_eq!(error, QuantError::ByteCount { dtype, values, want, got });
                assert!(out.iter().all(|&v| v == 7.0), "{dtype}: wrote in spite of the error");
            }
        }
    }

    #[test]
    fn rejects_a_row_that_ends_inside_a_block() {
        for dtype in DType::WEIGHTS.into_iter().filter(|d| d.is_quantised()) {
            let values = dtype.block_len() + 1;
            let want = QuantError::PartialBlock { dtype, values, block_len: dtype.block_len() };
            assert_eq!(decode_row(dtype, &vec![0; dtype.block_bytes()], &mut vec![0.0; values]), Err(want));
            assert_eq!(encode_row(dtype, &vec![0.0; values], &mut vec![0; dtype.block_bytes()]), Err(want));
        }
    }

    #[test]
    fn errors_name_the_format_and_both_numbers() {
        let error = decode_row(DType::Q4K, &[0; 143], &mut [0.0; 256]).unwrap_err();
        assert_eq!(error.to_string(), "q4_k: a row of 256 values takes 144 bytes, got 143");
        let error = decode_row(DType::Q8_0, &[0; 34], &mut [0.0; 31]).unwrap_err();
        assert_eq!(error.to_string(), "q8_0: a row of 31 values does not fill whole blocks of 32");
    }

    #[test]
    fn an_empty_row_is_a_row() {
        for dtype in DType::WEIGHTS {
            assert_eq!(decode_row(dtype, &[], &mut []), Ok(()));
        }
    }

    #[test]
    fn indices_are_not_decoded() {
        let dtype = DType::U32;
        assert_eq!(decode_row(dtype, &[0; 4], &mut [0.0]), Err(QuantError::NotAFormat { dtype }));
        assert_eq!(encode_row(dtype, &[0.0], &mut [0; 4]), Err(QuantError::NotAFormat { dtype }));
    }

    #[test]
    fn formats_without_an_encoder_say_so() {
        for dtype in NO_ENCODER {
            let (values, mut bytes) = (vec![0.0; dtype.block_len()], vec![0; dtype.block_bytes()]);
            assert_eq!(encode_row(dtype, &values, &mut bytes), Err(QuantError::NoEncoder { dtype }));
        }
    }

    #[test]
    fn every_format_decodes_its_own_encoding_to_within_a_step() {
        let values: Vec<f32> = (0..64_u8).map(|i| (f32::from(i) - 20.0) / 8.0).collect();
        let steps = [
            (DType::F32, 0.0),
            (DType::F16, 0.0),
            (DType::BF16, 0.0),
            (DType::Q4_0, 5.375 / 8.0),
            (DType::Q4_1, 3.875 / 15.0),
            (DType::Q5_0, 5.375 / 16.0),
            (DType::Q5_1, 3.875 / 31.0),
            (DType::Q8_0, 5.375 / 127.0),
        ];
        for (dtype, step) in steps {
            let mut bytes = vec![0; dtype.bytes_of(values.len()).unwrap()];
            let mut decoded = vec![f32::NAN; values.len()];
            encode_row(dtype, &values, &mut bytes).unwrap();
            decode_row(dtype, &bytes, &mut decoded).unwrap();
            for (value, decoded) in values.iter().zip(decoded) {
                assert!((value - decoded).abs() <= 1.01 * step, "{dtype}: {value} became {decoded}");
            }
        }
    }

    #[test]
    fn a_nan_scale_stays_in_its_block() {
        let nan = half::f16::NAN.to_le_bytes();
        let mut bytes = [0x11; 36];
        bytes[..2].copy_from_slice(&nan);
        let mut out = [0.0; 64];
        decode_row(DType::Q4_0, &bytes, &mut out).unwrap();
        assert!(out[..32].iter().all(|v| v.is_nan()));
        assert!(out[32..].iter().all(|v| v.is_finite()));
    }
}
