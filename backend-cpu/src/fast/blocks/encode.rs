//! Encoding, for `quantize`, `cast`, `fill` and `kv_write`. Bit for bit what ggml's `quantize_row_*_ref` do.

use kernels::DType;

use super::super::float16;
use super::super::simd::{Portable, Simd};

/// Encodes a row: `values`, enough for whole blocks of `dtype`, into `bytes`.
///
/// # Panics
///
/// For a format without an encoder, which validation does not accept.
pub fn encode_row(dtype: DType, values: &[f32], bytes: &mut [u8]) {
    encode_row_simd(Portable, dtype, values, bytes);
}

/// The same with vector operations, which give the same bits.
#[inline(always)]
pub fn encode_row_simd<S: Simd>(s: S, dtype: DType, values: &[f32], bytes: &mut [u8]) {
    let (values, bytes) = match dtype {
        DType::F16 => {
            let (eights, values) = values.as_chunks();
            let (halves, bytes) = bytes.split_at_mut(16 * eights.len());
            for (eight, half) in eights.iter().zip(halves.as_chunks_mut::<16>().0) {
                *half = bytemuck::must_cast(s.f32_to_f16(s.load(eight)));
            }
            (values, bytes)
        }
        _ => (values, bytes),
    };
    match dtype {
        DType::F32 => bytes.copy_from_slice(bytemuck::cast_slice(values)),
        DType::F16 => each(values, bytes, |[x]| float16::narrow(*x).to_le_bytes()),
        DType::BF16 => each(values, bytes, |[x]| float16::narrow_bf16(*x).to_le_bytes()),
        DType::Q4_0 => each(values, bytes, q4_0),
        DType::Q4_1 => each(values, bytes, q4_1),
        DType::Q5_0 => each(values, bytes, q5_0),
        DType::Q5_1 => each(values, bytes, q5_1),
        DType::Q8_0 => each(values, bytes, q8_0),
        DType::Q2K
        | DType::Q3K
        | DType::Q4K
        | DType::Q5K
        | DType::Q6K
        | DType::Iq4Nl
        | DType::Iq4Xs
        | DType::Mxfp4
        | DType::U32 => unreachable!("validation accepts no {dtype} as a format to encode to"),
    }
}

/// Applies `encode` to block after block.
#[inline]
fn each<const LEN: usize, const BYTES: usize>(
    values: &[f32],
    bytes: &mut [u8],
    encode: impl Fn(&[f32; LEN]) -> [u8; BYTES],
) {
    let (values, _) = values.as_chunks::<LEN>();
    let (blocks, _) = bytes.as_chunks_mut::<BYTES>();
    for (values, block) in values.iter().zip(blocks) {
        *block = encode(values);
    }
}

fn q4_0(values: &[f32; 32]) -> [u8; 18] {
    let d = farthest(values) / -8.0;
    let factor = inverse(d);
    let codes = values.map(|x| truncate(x * factor + 8.5).min(15));
    let mut block = [0; 18];
    block[..2].copy_from_slice(&float16::narrow(d).to_le_bytes());
    block[2..].copy_from_slice(&low_bits(&codes));
    block
}

fn q4_1(values: &[f32; 32]) -> [u8; 20] {
    let (least, greatest) = range(values);
    let d = (greatest - least) / 15.0;
    let factor = inverse(d);
    let codes = values.map(|x| truncate((x - least) * factor + 0.5).min(15));
    let mut block = [0; 20];
    block[..2].copy_from_slice(&float16::narrow(d).to_le_bytes());
    block[2..4].copy_from_slice(&float16::narrow(least).to_le_bytes());
    block[4..].copy_from_slice(&low_bits(&codes));
    block
}

fn q5_0(values: &[f32; 32]) -> [u8; 22] {
    let d = farthest(values) / -16.0;
    let factor = inverse(d);
    let codes = values.map(|x| truncate(x * factor + 16.5).min(31));
    let mut block = [0; 22];
    block[..2].copy_from_slice(&float16::narrow(d).to_le_bytes());
    block[2..6].copy_from_slice(&fifth_bits(&codes));
    block[6..].copy_from_slice(&low_bits(&codes));
    block
}

fn q5_1(values: &[f32; 32]) -> [u8; 24] {
    let (least, greatest) = range(values);
    let d = (greatest - least) / 31.0;
    let factor = inverse(d);
    let codes = values.map(|x| truncate((x - least) * factor + 0.5).min(31));
    let mut block = [0; 24];
    block[..2].copy_from_slice(&float16::narrow(d).to_le_bytes());
    block[2..4].copy_from_slice(&float16::narrow(least).to_le_bytes());
    block[4..8].copy_from_slice(&fifth_bits(&codes));
    block[8..].copy_from_slice(&low_bits(&codes));
    block
}

fn q8_0(values: &[f32; 32]) -> [u8; 34] {
    // A NaN takes the maximum's place, and the value after it takes the NaN's, as a comparison by `>` has it.
    let peak = values.iter().map(|x| x.abs()).fold(0.0f32, |peak, x| if peak > x { peak } else { x });
    let d = peak / 127.0;
    let factor = inverse(d);
    let mut block = [0; 34];
    block[..2].copy_from_slice(&float16::narrow(d).to_le_bytes());
    for (code, &x) in block[2..].iter_mut().zip(values) {
        *code = nearest(x * factor).cast_unsigned();
    }
    block
}

/// The value farthest from zero, the first of equals; 0 if there are only zeros and NaN.
fn farthest(values: &[f32; 32]) -> f32 {
    values.iter().fold(0.0f32, |far, &x| if x.abs() > far.abs() { x } else { far })
}

/// Least and greatest of the values that are numbers, as comparisons with the ends of the f32 range find them.
fn range(values: &[f32; 32]) -> (f32, f32) {
    let least = values.iter().fold(f32::MAX, |least, &x| if x < least { x } else { least });
    let greatest = values.iter().fold(f32::MIN, |most, &x| if x > most { x } else { most });
    (least, greatest)
}

fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { d.recip() }
}

/// The integer part; 0 for NaN and below, 255 above.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturation is meant")]
fn truncate(x: f32) -> u8 {
    x as u8
}

/// The nearest integer, halves away from zero; saturates, and 0 for NaN.
#[expect(clippy::cast_possible_truncation, reason = "saturation is meant")]
fn nearest(x: f32) -> i8 {
    x.round() as i8
}

/// Low four bits of codes `j` and `j + 16`, in byte `j`.
fn low_bits(codes: &[u8; 32]) -> [u8; 16] {
    std::array::from_fn(|j| codes[j] & 15 | codes[j + 16] << 4)
}

/// Bit 4 of code `8·b + i`, in bit `i` of byte `b`.
fn fifth_bits(codes: &[u8; 32]) -> [u8; 4] {
    std::array::from_fn(|b| (0..8).map(|i| (codes[8 * b + i] >> 4 & 1) << i).sum())
}
