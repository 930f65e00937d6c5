//! Formats with a codebook: codes are indices into 16 levels at uneven distances. `IQ4_NL`, `IQ4_XS`, `MXFP4`.

use super::super::float16::scale;
use super::codes::{field, nibbles, scaled};

/// The levels of `IQ4_NL` and `IQ4_XS`.
pub const LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// The levels of `MXFP4`, doubled. Minus zero is zero.
pub const DOUBLED_E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// `scale·level` for 32 codes, two in each byte.
#[inline]
fn look_up(packed: &[u8; 16], levels: &[i8; 16], scale: f32, out: &mut [f32; 32]) {
    let codes = nibbles(packed).map(|code| levels[usize::from(code & 15)]);
    scaled(&codes, scale, out);
}

pub fn iq4_nl(block: &[u8; 18], out: &mut [f32; 32]) {
    look_up(&field(block, 2), &LEVELS, scale(block, 0), out);
}

pub fn iq4_xs(block: &[u8; 136], out: &mut [f32; 256]) {
    let d = scale(block, 0);
    for (group, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let scale = d * f32::from(iq4_xs_scale(block, group));
        look_up(&field(block, 8 + 16 * group), &LEVELS, scale, out);
    }
}

/// The integer scale of group `group`: four low bits, two high bits, less 32.
#[inline]
fn iq4_xs_scale(block: &[u8; 136], group: usize) -> i16 {
    let low = (block[4 + group / 2] >> (4 * (group % 2))) & 15;
    let high = (u16::from_le_bytes([block[2], block[3]]) >> (2 * group)) & 3;
    (u16::from(low) | high << 4).cast_signed() - 32
}

pub fn mxfp4(block: &[u8; 17], out: &mut [f32; 32]) {
    look_up(&field(block, 1), &DOUBLED_E2M1, half_scale(block[0]), out);
}

/// `2^(exponent − 128)`: half of the scale, for the levels are doubled. The two lowest are subnormal.
#[inline]
pub fn half_scale(exponent: u8) -> f32 {
    match u32::from(exponent) {
        exponent @ (0 | 1) => f32::from_bits(0x0020_0000 << exponent),
        normal => f32::from_bits((normal - 1) << 23),
    }
}
