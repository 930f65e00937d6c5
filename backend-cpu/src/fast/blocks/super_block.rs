//! Super-blocks of 256 with scales of their own: `Q2_K`, `Q3_K`, `Q4_K`, `Q5_K`, `Q6_K`.
//!
//! All five store their codes in planes: 32 bytes, of which a few bits each belong to 32 consecutive values. So
//! decoding goes by groups of 32 values, each with one scale or with two for its halves.

use super::super::float16::scale;
use super::codes::{field, scaled, shifted};

/// Bits `shift` and up of each byte, masked by `mask`.
#[inline]
fn plane(bytes: [u8; 32], shift: usize, mask: u8) -> [u8; 32] {
    bytes.map(|byte| (byte >> shift) & mask)
}

/// Groups of 32 values of a super-block, with their numbers.
#[inline]
fn groups(out: &mut [f32; 256]) -> impl Iterator<Item = (usize, &mut [f32; 32])> {
    out.as_chunks_mut::<32>().0.iter_mut().enumerate()
}

/// `scales[0]·code` for the first half of a group and `scales[1]·code` for the second.
#[inline]
fn scaled_by_halves(codes: &[i8; 32], scales: [f32; 2], out: &mut [f32; 32]) {
    let halves = codes.as_chunks::<16>().0.iter().zip(out.as_chunks_mut::<16>().0);
    for ((codes, out), scale) in halves.zip(scales) {
        scaled(codes, scale, out);
    }
}

pub fn q2(block: &[u8; 84], out: &mut [f32; 256]) {
    let (d, dmin) = (scale(block, 80), scale(block, 82));
    for (group, out) in groups(out) {
        let codes = plane(field(block, 16 + 32 * (group / 4)), 2 * (group % 4), 3).map(u8::cast_signed);
        let halves = codes.as_chunks::<16>().0.iter().zip(out.as_chunks_mut::<16>().0);
        for ((codes, out), byte) in halves.zip([block[2 * group], block[2 * group + 1]]) {
            shifted(codes, d * f32::from(byte & 15), -(dmin * f32::from(byte >> 4)), out);
        }
    }
}

pub fn q3(block: &[u8; 110], out: &mut [f32; 256]) {
    let d = scale(block, 108);
    let scales = q3_scales(&field(block, 96)).map(|s| d * f32::from(s));
    let third_bits = field(block, 0);
    for (group, out) in groups(out) {
        let low = plane(field(block, 32 + 32 * (group / 4)), 2 * (group % 4), 3);
        let high = plane(third_bits, group, 1);
        let codes = std::array::from_fn(|i| (low[i] | high[i] << 2).cast_signed() - 4);
        scaled_by_halves(&codes, [scales[2 * group], scales[2 * group + 1]], out);
    }
}

/// The 16 signed scales of a `Q3_K` block: four low bits in 8 bytes, two high bits in 4.
#[inline]
fn q3_scales(packed: &[u8; 12]) -> [i8; 16] {
    std::array::from_fn(|j| {
        let low = (packed[j % 8] >> (4 * (j / 8))) & 15;
        let high = (packed[8 + j % 4] >> (2 * (j / 4))) & 3;
        (low | high << 4).cast_signed() - 32
    })
}

pub fn q4(block: &[u8; 144], out: &mut [f32; 256]) {
    let factors = Factors::of(block);
    for (group, out) in groups(out) {
        let codes = plane(field(block, 16 + 32 * (group / 2)), 4 * (group % 2), 15);
        shifted(&codes.map(u8::cast_signed), factors.scales[group], factors.offsets[group], out);
    }
}

pub fn q5(block: &[u8; 176], out: &mut [f32; 256]) {
    let factors = Factors::of(block);
    let fifth_bits = field(block, 16);
    for (group, out) in groups(out) {
        let low = plane(field(block, 48 + 32 * (group / 2)), 4 * (group % 2), 15);
        let high = plane(fifth_bits, group, 1);
        let codes = std::array::from_fn(|i| (low[i] | high[i] << 4).cast_signed());
        shifted(&codes, factors.scales[group], factors.offsets[group], out);
    }
}

/// What a group of a `Q4_K` or `Q5_K` block multiplies its codes by, and what it adds.
struct Factors {
    scales: [f32; 8],
    offsets: [f32; 8],
}

impl Factors {
    #[inline]
    fn of<const BYTES: usize>(block: &[u8; BYTES]) -> Self {
        let (d, dmin) = (scale(block, 0), scale(block, 2));
        let [scales, minimums] = packed_6_bits(&field(block, 4));
        Factors {
            scales: scales.map(|scale| d * f32::from(scale)),
            offsets: minimums.map(|minimum| -(dmin * f32::from(minimum))),
        }
    }
}

/// The eight scales and the eight minimums of 6 bits of a `Q4_K` or `Q5_K` block, unpacked four at a time, in the bytes of a word.
#[inline]
fn packed_6_bits(packed: &[u8; 12]) -> [[u8; 8]; 2] {
    let word = |at| u32::from_le_bytes(field(packed, at));
    let (first, second, third) = (word(0), word(4), word(8));
    let scales = [first & 0x3f3f_3f3f, third & 0x0f0f_0f0f | (first >> 2) & 0x3030_3030];
    let minimums = [second & 0x3f3f_3f3f, (third >> 4) & 0x0f0f_0f0f | (second >> 2) & 0x3030_3030];
    [scales, minimums].map(|words| bytemuck::must_cast(words.map(u32::to_le_bytes)))
}

pub fn q6(block: &[u8; 210], out: &mut [f32; 256]) {
    let d = scale(block, 208);
    for (group, out) in groups(out) {
        let (half, g) = (group / 4, group % 4);
        let low = plane(field(block, 64 * half + 32 * (g % 2)), 4 * (g / 2), 15);
        let high = plane(field(block, 128 + 32 * half), 2 * g, 3);
        let codes = std::array::from_fn(|i| (low[i] | high[i] << 4).cast_signed() - 32);
        let scales = [block[192 + 2 * group], block[193 + 2 * group]];
        scaled_by_halves(&codes, scales.map(|s| d * f32::from(s.cast_signed())), out);
    }
}
