//! `F16` and `BF16`, and the f16 scales of the other formats, without a table and without a branch per class of number.

/// `2^112`: what separates the exponents of f16 and f32, 127 − 15.
const REBIAS: f32 = f32::from_bits((127 + 112) << 23);

/// The f16 with the bits `half`.
///
/// Shifted into place, the exponent of an f16 is 112 short of what an f32 wants; a multiplication makes up for it, for
/// normal and subnormal numbers alike. Only infinity and NaN need their exponent set.
#[inline]
pub fn widen(half: u16) -> f32 {
    let magnitude = u32::from(half & 0x7fff) << 13;
    let number = (f32::from_bits(magnitude) * REBIAS).to_bits();
    let special = magnitude | 0x7f80_0000;
    let bits = if magnitude < 0x7c00 << 13 { number } else { special };
    f32::from_bits(bits | (u32::from(half & 0x8000) << 16))
}

/// The bits of the f16 nearest to `x`, ties to even. A NaN keeps its sign and the payload bits that fit, and is quiet.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "every branch leaves 15 bits")]
pub fn narrow(x: f32) -> u16 {
    let magnitude = x.to_bits() & 0x7fff_ffff;
    let half = if magnitude > 0x7f80_0000 {
        0x7e00 | ((magnitude >> 13) & 0x1ff)
    } else if magnitude >= 143 << 23 {
        0x7c00
    } else if magnitude < 113 << 23 {
        // The last place of numbers from 1/2 to 1 is 2^-24, that of the subnormal f16: the addition rounds.
        (f32::from_bits(magnitude) + 0.5).to_bits() - 0.5f32.to_bits()
    } else {
        let even = (magnitude >> 13) & 1;
        (magnitude - (112 << 23) + 0xfff + even) >> 13
    };
    (half as u16) | ((x.to_bits() >> 16) as u16 & 0x8000)
}

/// The bf16 with the bits `half`: the upper half of an f32.
#[inline]
pub fn widen_bf16(half: u16) -> f32 {
    f32::from_bits(u32::from(half) << 16)
}

/// The bits of the bf16 nearest to `x`, ties to even. A NaN stays one.
#[inline]
pub fn narrow_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    let quiet = bits | 0x0040_0000;
    ((if x.is_nan() { quiet } else { rounded }) >> 16) as u16
}

/// The f16 at byte `at` of a block.
#[inline]
pub fn scale<const BYTES: usize>(block: &[u8; BYTES], at: usize) -> f32 {
    widen(u16::from_le_bytes([block[at], block[at + 1]]))
}
