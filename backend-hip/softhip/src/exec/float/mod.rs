//! Floating-point numbers as the device has them.
//!
//! Under the usual modes (round to nearest even, denormals kept) operations are the host's own, with NaNs made
//! the same on every host. Other rounding modes go through [`soft`].

pub(super) mod fp8;
pub(super) mod soft;

use half::f16;

use super::core::word::Word;

/// A binary floating-point format.
pub(super) trait Float: Word + PartialOrd {
    /// Bits in all.
    const SIZE: u32;
    /// Bits of the stored fraction.
    const FRACTION: u32;
    /// The bits, zero-extended.
    fn bits(self) -> u64;
    /// From the low [`Self::SIZE`] bits.
    fn of_bits(bits: u64) -> Self;
    /// Exactly.
    fn to_f64(self) -> f64;
    /// To nearest even.
    fn from_f64(value: f64) -> Self;
    /// The host's sum.
    fn host_add(self, other: Self) -> Self;
    /// The host's product.
    fn host_mul(self, other: Self) -> Self;
    /// The host's fused multiply-add, rounded once.
    fn host_fma(self, factor: Self, addend: Self) -> Self;

    /// The exponent field with all bits set, the fraction zero.
    const INFINITY: u64 = ((1 << (Self::SIZE - 1 - Self::FRACTION)) - 1) << Self::FRACTION;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::SIZE - 1);
    /// The bit that makes a NaN quiet.
    const QUIET: u64 = 1 << (Self::FRACTION - 1);
    /// Bias of the exponent field.
    const BIAS: i32 = (1 << (Self::SIZE - 2 - Self::FRACTION)) - 1;

    /// Without the sign.
    #[inline(always)]
    fn magnitude(self) -> u64 {
        self.bits() & !Self::SIGN
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        self.magnitude() > Self::INFINITY
    }

    #[inline(always)]
    fn is_signalling(self) -> bool {
        self.is_nan() && self.bits() & Self::QUIET == 0
    }

    #[inline(always)]
    fn is_infinite(self) -> bool {
        self.magnitude() == Self::INFINITY
    }

    #[inline(always)]
    fn is_denormal(self) -> bool {
        self.magnitude() != 0 && self.magnitude() < 1 << Self::FRACTION
    }

    #[inline(always)]
    fn quieted(self) -> Self {
        Self::of_bits(self.bits() | Self::QUIET)
    }

    #[inline(always)]
    fn default_nan() -> Self {
        Self::of_bits(Self::INFINITY | Self::QUIET)
    }

    #[inline(always)]
    fn negated(self) -> Self {
        Self::of_bits(self.bits() ^ Self::SIGN)
    }

    #[inline(always)]
    fn is_negative(self) -> bool {
        self.bits() & Self::SIGN != 0
    }

    /// The biased exponent field.
    #[inline(always)]
    fn exponent(self) -> i32 {
        (self.magnitude() >> Self::FRACTION) as i32
    }
}

impl Float for f32 {
    const SIZE: u32 = 32;
    const FRACTION: u32 = 23;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        Self::from_bits(bits as u32)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as Self
    }
    #[inline(always)]
    fn host_add(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn host_mul(self, other: Self) -> Self {
        self * other
    }
    #[inline(always)]
    fn host_fma(self, factor: Self, addend: Self) -> Self {
        self.mul_add(factor, addend)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        Self::is_nan(self)
    }
}

impl Float for f64 {
    const SIZE: u32 = 64;
    const FRACTION: u32 = 52;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        Self::from_bits(bits)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline(always)]
    fn host_add(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn host_mul(self, other: Self) -> Self {
        self * other
    }
    #[inline(always)]
    fn host_fma(self, factor: Self, addend: Self) -> Self {
        self.mul_add(factor, addend)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        Self::is_nan(self)
    }
}

/// Sums and products of two f16 are rounded correctly through f32, whose 24 bits are 2 · 11 + 2; a fused
/// multiply-add through f64, which holds it exactly wherever the result does not overflow.
impl Float for f16 {
    const SIZE: u32 = 16;
    const FRACTION: u32 = 10;
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
    #[inline(always)]
    fn of_bits(bits: u64) -> Self {
        Self::from_bits(bits as u16)
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f32::from_bits(f32_of_f16(self.to_bits())).into()
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::from_f64(value)
    }
    #[inline(always)]
    fn host_add(self, other: Self) -> Self {
        narrow(widen(self) + widen(other))
    }
    #[inline(always)]
    fn host_mul(self, other: Self) -> Self {
        narrow(widen(self) * widen(other))
    }
    #[inline(always)]
    fn host_fma(self, factor: Self, addend: Self) -> Self {
        Self::from_f64(self.to_f64() * factor.to_f64() + addend.to_f64())
    }
}

/// An f16 as an f32, exactly.
#[inline(always)]
pub(super) fn widen(value: f16) -> f32 {
    f32::from_bits(f32_of_f16(value.to_bits()))
}

/// An f32 to the nearest f16, ties to even.
#[inline(always)]
pub(super) fn narrow(value: f32) -> f16 {
    f16::from_bits(f16_of_f32(value.to_bits()))
}

/// f16 bits to f32 bits, without branches so that lane loops become vectors.
#[inline(always)]
pub(super) fn f32_of_f16(bits: u16) -> u32 {
    const SCALE: f32 = f32::from_bits(0x7780_0000); // 2^112, the difference of the biases
    let magnitude = u32::from(bits & 0x7fff);
    let sign = u32::from(bits & 0x8000) << 16;
    let finite = (f32::from_bits(magnitude << 13) * SCALE).to_bits();
    let special = (magnitude << 13) | 0x7f80_0000;
    sign | if magnitude >= 0x7c00 { special } else { finite }
}

/// f32 bits to the nearest f16's bits, without branches.
#[inline(always)]
pub(super) fn f16_of_f32(bits: u32) -> u16 {
    let magnitude = bits & 0x7fff_ffff;
    let sign = (bits >> 16) & 0x8000;
    let nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    let large = if magnitude > 0x7f80_0000 { nan } else { 0x7c00 };
    // 0.5 has the smallest f16 denormal as its last place.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    let value = if magnitude >= 0x4780_0000 {
        large
    } else if magnitude < 0x3880_0000 {
        small
    } else {
        normal
    };
    (sign | value) as u16
}

/// Zero in place of a denormal.
#[inline(always)]
pub(super) fn flush<F: Float>(value: F) -> F {
    if value.is_denormal() { F::of_bits(value.bits() & F::SIGN) } else { value }
}

/// A result whose NaN, if it is one, is the first source's that is a NaN, quieted, or the default.
#[inline(always)]
pub(super) fn settle<F: Float, const N: usize>(result: F, sources: [F; N]) -> F {
    if !result.is_nan() {
        return result;
    }
    let mut nan = F::default_nan();
    for source in sources.into_iter().rev() {
        nan = if source.is_nan() { source.quieted() } else { nan };
    }
    nan
}

#[inline(always)]
pub(super) fn add<F: Float>(a: F, b: F) -> F {
    settle(a.host_add(b), [a, b])
}

#[inline(always)]
pub(super) fn sub<F: Float>(a: F, b: F) -> F {
    // The second source's NaN keeps its sign: it is the operand, not its negation, that is passed on.
    settle(a.host_add(b.negated()), [a, b])
}

#[inline(always)]
pub(super) fn mul<F: Float>(a: F, b: F) -> F {
    settle(a.host_mul(b), [a, b])
}

#[inline(always)]
pub(super) fn fma<F: Float>(a: F, b: F, c: F) -> F {
    settle(a.host_fma(b, c), [a, b, c])
}

/// The smaller one; a number rather than a NaN; −0 rather than +0.
#[inline(always)]
pub(super) fn min<F: Float>(ieee: bool, a: F, b: F) -> F {
    let zeros = a.magnitude() | b.magnitude() == 0;
    let least = if a < b || (zeros && a.is_negative()) { a } else { b };
    pick(ieee, a, b, least)
}

/// The larger one; a number rather than a NaN; +0 rather than −0.
#[inline(always)]
pub(super) fn max<F: Float>(ieee: bool, a: F, b: F) -> F {
    let zeros = a.magnitude() | b.magnitude() == 0;
    let most = if a > b || (zeros && !a.is_negative()) { a } else { b };
    pick(ieee, a, b, most)
}

#[inline(always)]
fn pick<F: Float>(ieee: bool, a: F, b: F, number: F) -> F {
    let value = if b.is_nan() { a } else { number };
    let value = if a.is_nan() { b } else { value };
    let value = if ieee && b.is_signalling() { b.quieted() } else { value };
    if ieee && a.is_signalling() { a.quieted() } else { value }
}

/// The middle one.
#[inline(always)]
pub(super) fn med3<F: Float>(ieee: bool, a: F, b: F, c: F) -> F {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return min(ieee, min(ieee, a, b), c);
    }
    let most = max(ieee, max(ieee, a, b), c);
    if most == a {
        max(ieee, b, c)
    } else if most == b {
        max(ieee, a, c)
    } else {
        max(ieee, a, b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_widens_as_the_half_crate_has_it() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            if !value.is_nan() {
                assert_eq!(f32_of_f16(bits), value.to_f32().to_bits(), "{bits:#x}");
            }
        }
    }

    #[test]
    fn narrowing_is_right_at_and_beside_every_tie() {
        for bits in 0..0x7c00u16 {
            let (here, next) = (f16::from_bits(bits).to_f32(), f16::from_bits(bits + 1).to_f32());
            let next = if next.is_infinite() { 65536.0 } else { next };
            let tie = f32::midpoint(here, next);
            for value in [here, tie, tie.next_up(), tie.next_down()] {
                let expected = f16::from_f64(value.into()).to_bits();
                assert_eq!(f16_of_f32(value.to_bits()), expected, "{value:e}");
                assert_eq!(f16_of_f32((-value).to_bits()), expected | 0x8000, "-{value:e}");
            }
        }
    }
}
