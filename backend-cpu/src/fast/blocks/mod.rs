//! The weight formats, decoded and encoded for speed: bytes become small integers first, 32 (or 16) at a time, and
//! the integers become floats in one multiplication by a scale. Both steps are loops over arrays of fixed size, which
//! the compiler turns into vector instructions.
//!
//! The layouts and formulas are on the pages of [`kernels::quant`]; the arithmetic is not shared with it.

mod block32;
mod codebook;
mod encode;
mod super_block;
#[cfg(test)]
mod tests;

use kernels::DType;

use super::float16::{widen, widen_bf16};
use super::simd::{Portable, Simd};

pub use codebook::{DOUBLED_E2M1, LEVELS, half_scale};
pub use encode::{encode_by_vectors, encode_row};

/// Decodes a row: `bytes`, whole blocks of `dtype`, into `out`. Indices, which validation never lets come here, are no
/// values and leave `out` as it is.
pub fn decode_row(dtype: DType, bytes: &[u8], out: &mut [f32]) {
    decode_by_vectors(Portable, dtype, bytes, out);
}

/// The same with vector operations, which give the same bits.
#[inline(always)]
pub fn decode_by_vectors<S: Simd>(s: S, dtype: DType, bytes: &[u8], out: &mut [f32]) {
    let (bytes, out) = match dtype {
        DType::F16 => {
            let (halves, bytes) = bytes.as_chunks::<16>();
            let (eights, out) = out.split_at_mut(8 * halves.len());
            for (half, eight) in halves.iter().zip(eights.as_chunks_mut().0) {
                *eight = s.array(s.halves(bytemuck::must_cast(*half)));
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
        DType::U32 => {}
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

/// `scale·code`, for each code.
#[inline]
fn scaled<const N: usize>(codes: &[i8; N], scale: f32, out: &mut [f32; N]) {
    for (value, &code) in out.iter_mut().zip(codes) {
        *value = scale * f32::from(code);
    }
}

/// `scale·code + offset`, for each code, the product exact and the sum rounded.
#[inline]
fn shifted<const N: usize>(codes: &[i8; N], scale: f32, offset: f32, out: &mut [f32; N]) {
    for (value, &code) in out.iter_mut().zip(codes) {
        *value = scale * f32::from(code) + offset;
    }
}

/// The codes of 16 bytes with two in each: those of the low halves, then those of the high halves.
#[inline]
fn halves(packed: &[u8; 16]) -> [u8; 32] {
    let mut codes = [0; 32];
    let (low, high) = codes.split_at_mut(16);
    for ((low, high), &byte) in low.iter_mut().zip(high).zip(packed) {
        (*low, *high) = (byte & 15, byte >> 4);
    }
    codes
}

/// `N` bytes of a block from `at` on.
#[inline]
fn field<const N: usize, const BYTES: usize>(block: &[u8; BYTES], at: usize) -> [u8; N] {
    std::array::from_fn(|i| block[at + i])
}
