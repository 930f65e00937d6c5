//! How CDNA3's matrix units add.
//!
//! Products of a group are exact, and are cut off (towards zero) 24 bits below the point of the largest
//! exponent among them. Their sum is cut off (towards minus infinity) 31 bits, and the addend 24 bits, below the
//! point of the larger of the two. The total is rounded to nearest even. (Found by Xie et al., *MMA-Sim*, 2025, on hardware.)

use crate::exec::core::mode::Round;
use crate::exec::float::soft;

/// A number taken apart: `significand · 2^(exponent − 23)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub(super) value: f32,
    significand: i64,
    exponent: i32,
}

impl Element {
    /// An f32 number.
    pub(super) fn f32(value: f32) -> Self {
        Self::narrow(value, -126)
    }

    /// A number of a format whose smallest normal exponent is `lowest`.
    pub(super) fn narrow(value: f32, lowest: i32) -> Self {
        let bits = value.to_bits();
        let fraction = i64::from(bits & 0x7f_ffff);
        let field = ((bits >> 23) & 0xff) as i32;
        let (magnitude, exponent) =
            if field == 0 { (fraction, -126) } else { (fraction | 0x80_0000, field - 127) };
        // Denormals of the narrow format keep its lowest exponent; zero counts as 2^-126.
        let (magnitude, exponent) = if magnitude != 0 && exponent < lowest {
            (magnitude >> (lowest - exponent), lowest)
        } else if magnitude == 0 {
            (0, -126)
        } else {
            (magnitude, exponent)
        };
        let significand = if bits >> 31 == 0 { magnitude } else { -magnitude };
        Self { value, significand, exponent }
    }

    /// An integer.
    pub(super) fn integer(value: i8) -> Self {
        Self { value: value.into(), significand: value.into(), exponent: 23 }
    }

    /// The product of two integers.
    pub(super) fn product_i32(&self, other: &Self) -> i32 {
        (self.significand * other.significand) as i32
    }
}

/// Cuts off below: towards zero.
fn shift_to_zero(value: i64, right: i32) -> i64 {
    let magnitude = value.unsigned_abs();
    let shifted = match right {
        64.. => 0,
        0..=63 => magnitude >> right,
        _ => magnitude << -right,
    };
    if value < 0 { -(shifted as i64) } else { shifted as i64 }
}

/// Cuts off below: towards minus infinity.
fn shift_down(value: i64, right: i32) -> i64 {
    if right < 0 { value << -right } else { value >> right.min(63) }
}

/// The sum of products at 24 fractional bits below `2^exponent`, and that exponent.
fn products<'a>(pairs: impl Iterator<Item = (&'a Element, &'a Element)> + Clone) -> (i64, i32) {
    let largest = pairs.clone().map(|(a, b)| a.exponent + b.exponent).max().unwrap_or(-252);
    let sum = pairs.map(|(a, b)| {
        // The product has 46 fractional bits.
        shift_to_zero(a.significand * b.significand, 22 + largest - (a.exponent + b.exponent))
    });
    (sum.sum(), largest)
}

/// `a · b + addend` of one group; `interleaved` sums even and odd products apart first, as for 8-bit formats.
pub(super) fn fused(a: &[Element], b: &[Element], addend: f32, interleaved: bool) -> f32 {
    let pairs = a.iter().zip(b);
    if let Some(special) = not_finite(pairs.clone(), addend) {
        return special;
    }
    let (sum, exponent) = if interleaved {
        let (even, even_exponent) = products(pairs.clone().step_by(2));
        let (odd, odd_exponent) = products(pairs.skip(1).step_by(2));
        let exponent = even_exponent.max(odd_exponent);
        (shift_down(even, exponent - even_exponent) + shift_down(odd, exponent - odd_exponent), exponent)
    } else {
        products(pairs)
    };
    let c = Element::f32(addend);
    let largest = exponent.max(c.exponent);
    let sum = shift_down(sum << 7, largest - exponent);
    let gap = largest - c.exponent;
    let c = if interleaved && gap > 25 { 0 } else { shift_down(c.significand << 1, gap) << 7 };
    let total = sum + c;
    soft::round(Round::Nearest, total < 0, total.unsigned_abs().into(), largest - 31)
}

/// The result when a NaN or an infinity takes part, or a product overflows f32.
fn not_finite<'a>(pairs: impl Iterator<Item = (&'a Element, &'a Element)>, addend: f32) -> Option<f32> {
    let mut sum = 0.0;
    let mut special = !addend.is_finite();
    for (a, b) in pairs {
        let product = f64::from(a.value) * f64::from(b.value);
        let overflows = product.abs() >= 2f64.powi(128);
        special |= overflows || !product.is_finite();
        sum += if overflows { f64::INFINITY.copysign(product) } else { product };
    }
    let total = (sum + f64::from(addend)) as f32;
    special.then(|| if total.is_nan() { f32::from_bits(0x7fc0_0000) } else { total })
}
