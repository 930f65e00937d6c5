//! Formats of A and B whose products are added before they are rounded.

use super::shape::Input;
use crate::exec::float::f32_of_f16;
use crate::memory::{Lanes, WAVE};

/// The exponent that zero counts as.
pub(super) const ZERO: i32 = -126;

/// A format of at most 11 significant bits.
pub(super) trait Format {
    const INPUT: Input;
    /// Exponent of the smallest normal number.
    const LOWEST: i32;
    /// Products that are added before they are rounded.
    const GROUP: usize;
    /// Even and odd products are added apart.
    const INTERLEAVED: bool = false;
    /// Products may leave the range of f32.
    const WIDE: bool = false;

    /// The number, exactly; infinities and NaNs become an infinity or NaN.
    fn widen(bits: u32) -> f32;
}

pub(super) struct F16;
pub(super) struct Bf16;
pub(super) struct Xf32;
pub(super) struct Fp8;
pub(super) struct Bf8;

impl Format for F16 {
    const INPUT: Input = Input::F16;
    const LOWEST: i32 = -14;
    const GROUP: usize = 8;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(f32_of_f16(bits as u16))
    }
}

impl Format for Bf16 {
    const INPUT: Input = Input::Bf16;
    const LOWEST: i32 = -126;
    const GROUP: usize = 8;
    const WIDE: bool = true;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }
}

impl Format for Xf32 {
    const INPUT: Input = Input::Xf32;
    const LOWEST: i32 = -126;
    const GROUP: usize = 4;
    const WIDE: bool = true;

    /// The low 13 bits are not looked at.
    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        f32::from_bits(bits & !0x1fff)
    }
}

/// An FNUZ number, see [`crate::exec::float::fp8`], whose exponent field begins at bit `fraction`.
#[inline(always)]
fn widen_fnuz(bits: u32, fraction: u32, bias: u32) -> f32 {
    // As a denormal f32 if need be, brought to its size by a power of two.
    let magnitude = f32::from_bits((bits & 0x7f) << (23 - fraction));
    let scaled = magnitude * f32::from_bits((254 - bias) << 23);
    let signed = scaled.to_bits() | ((bits & 0x80) << 24);
    f32::from_bits(if bits == 0x80 { 0x7fc0_0000 } else { signed })
}

impl Format for Fp8 {
    const INPUT: Input = Input::Fp8;
    const LOWEST: i32 = -7;
    const GROUP: usize = 16;
    const INTERLEAVED: bool = true;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        widen_fnuz(bits, 3, 8)
    }
}

impl Format for Bf8 {
    const INPUT: Input = Input::Bf8;
    const LOWEST: i32 = -15;
    const GROUP: usize = 16;
    const INTERLEAVED: bool = true;

    #[inline(always)]
    fn widen(bits: u32) -> f32 {
        widen_fnuz(bits, 2, 16)
    }
}

/// An operand taken apart.
pub(super) struct Elements<const PER: usize> {
    /// Zero in place of infinities and NaNs.
    pub value: [[f32; WAVE]; PER],
    /// `2^exponent <= |value| < 2^(exponent + 1)`, but not below the format's lowest; [`ZERO`] of zero.
    pub exponent: [[i32; WAVE]; PER],
    /// Of the values that are not zero: the smallest and the largest exponent.
    pub smallest: i32,
    pub largest: i32,
    /// Which lanes hold an infinity or a NaN.
    pub not_finite: [bool; WAVE],
    pub all_finite: bool,
}

impl<const PER: usize> Elements<PER> {
    /// Zeros.
    pub const ZERO: Self = Self {
        value: [[0.0; WAVE]; PER],
        exponent: [[ZERO; WAVE]; PER],
        smallest: i32::MAX / 2,
        largest: ZERO,
        not_finite: [false; WAVE],
        all_finite: true,
    };

    /// Takes the elements in `registers`.
    #[inline(always)]
    pub fn fill<F: Format>(&mut self, registers: &[&Lanes; 2]) {
        let bits = F::INPUT.bits();
        let (mut smallest, mut largest) = ([i32::MAX / 2; WAVE], [ZERO; WAVE]);
        let mut specials = [0; WAVE];
        for e in 0..PER {
            let register = &registers[e * bits / 32];
            let (value, exponent) = (&mut self.value[e], &mut self.exponent[e]);
            for lane in 0..WAVE {
                let wide = F::widen((register[lane] >> (e * bits % 32)) & (u32::MAX >> (32 - bits)));
                let magnitude = wide.to_bits() & 0x7fff_ffff;
                let special = magnitude >= 0x7f80_0000;
                specials[lane] |= u32::from(special);
                value[lane] = if special { 0.0 } else { wide };
                let is_zero = special || magnitude == 0;
                let own = ((magnitude >> 23) as i32 - 127).max(F::LOWEST);
                exponent[lane] = if is_zero { ZERO } else { own };
                if F::WIDE {
                    smallest[lane] = smallest[lane].min(if is_zero { i32::MAX / 2 } else { own });
                    largest[lane] = largest[lane].max(exponent[lane]);
                }
            }
        }
        self.all_finite = specials.iter().fold(0, |all, special| all | special) == 0;
        if !self.all_finite {
            self.not_finite = specials.map(|special| special != 0);
        }
        if F::WIDE {
            self.smallest = smallest.into_iter().fold(i32::MAX / 2, i32::min);
            self.largest = largest.into_iter().fold(ZERO, i32::max);
        }
    }
}
