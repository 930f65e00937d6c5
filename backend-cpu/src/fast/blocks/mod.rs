//! The weight formats, decoded and encoded for speed: bytes become small integers first, 32 (or 16) at a time, and
//! the integers become floats in one multiplication by a scale. Both steps are loops over arrays of fixed size, which
//! the compiler turns into vector instructions.
//!
//! The layouts and formulas are on the pages of [`kernels::quant`]; the arithmetic is not shared with it.

mod block32;
mod codebook;
mod codes;
mod encode;
mod super_block;
#[cfg(test)]
mod tests;

use kernels::DType;

use super::float16::{widen, widen_bf16};
use super::simd::{Portable, Simd};

pub use codebook::{DOUBLED_E2M1, LEVELS, half_scale};
pub use encode::{encode_row, encode_row_simd};

/// Decodes a row: `bytes`, whole blocks of `dtype`, into `out`.
///
/// # Panics
///
/// For `U32`, which validation does not accept as values.
pub fn decode_row(dtype: DType, bytes: &[u8], out: &mut [f32]) {
    decode_row_simd(Portable, dtype, bytes, out);
}

/// The same with vector operations, which give the same bits.
#[inline(always)]
pub fn decode_row_simd<S: Simd>(s: S, dtype: DType, bytes: &[u8], out: &mut [f32]) {
    let (bytes, out) = match dtype {
        DType::F16 => {
            let (halves, bytes) = bytes.as_chunks::<16>();
            let (eights, out) = out.split_at_mut(8 * halves.len());
            for (half, eight) in halves.iter().zip(eights.as_chunks_mut().0) {
                *eight = s.array(s.f16_to_f32(bytemuck::must_cast(*half)));
            }
            (bytes, out)
        }
        _ => (bytes, out),
    };
    match dtype {
        DType::F32 => bytemuck::cast_slice_mut(out).copy_from_slice(bytes),
        DType::F16 => each(bytes, out, |half, [x]| *x = widen(u16::from_le_bytes(*half))),
        DType::BF16 => each(bytes, out, |half, [x]| *x = widen_bf16(u16::from_le_bytes(*half))),
        DType::Q4_0 => each(bytes, out, block32::q4_0),
        DType::Q4_1 => each(bytes, out, block32::q4_1),
        DType::Q5_0 => each(bytes, out, block32::q5_0),
        DType::Q5_1 => each(bytes, out, block32::q5_1),
        DType::Q8_0 => each(bytes, out, block32::q8_0),
        DType::Q2K => each(bytes, out, super_block::q2),
        DType::Q3K => each(bytes, out, super_block::q3),
        DType::Q4K => each(bytes, out, super_block::q4),
        DType::Q5K => each(bytes, out, super_block::q5),
        DType::Q6K => each(bytes, out, super_block::q6),
        DType::Iq4Nl => each(bytes, out, codebook::iq4_nl),
        DType::Iq4Xs => each(bytes, out, codebook::iq4_xs),
        DType::Mxfp4 => each(bytes, out, codebook::mxfp4),
        DType::U32 => unreachable!("validation accepts no indices as values"),
    }
}

/// Applies `decode` to block after block.
#[inline]
fn each<const LEN: usize, const BYTES: usize>(
    bytes: &[u8],
    out: &mut [f32],
    decode: impl Fn(&[u8; BYTES], &mut [f32; LEN]),
) {
    let (blocks, _) = bytes.as_chunks::<BYTES>();
    let (values, _) = out.as_chunks_mut::<LEN>();
    for (block, values) in blocks.iter().zip(values) {
        decode(block, values);
    }
}
