//! Products that are added before they are rounded, as [`super::sum`] describes it, by vectors.
//!
//! [`super::sum`] works on integers: significands, shifted and cut off. Here each step is floating-point arithmetic that
//! is exact, so the bits are the same:
//!
//! * A product of two numbers of 11 significant bits has 22, so f32 holds it, as long as it stays in range.
//! * Cut off 24 bits below the point of `2^largest`, it is the integer part of the product times `2^(24 − largest)`. That
//!   is below `2^26`, so i32 holds the sum of 16 of them.
//! * The sum with the addend is on a grid `2^−31` below the larger exponent: f64 holds the parts (37 bits) and the
//!   total. What f64 makes of the total as an f32 is rounded once, denormals, overflow and signed zeros included.
//!
//! Products that f32 cannot hold take the same way in f64.
#![allow(unsafe_code, reason = "the conversion that vectors have is the one without a check of the range")]

use std::marker::PhantomData;

use super::format::{Elements, Format};
use super::tile::{Place, SIDE, Tile};
use super::{Factors, Product, scalar};
use crate::isa::inst::Mfma;
use crate::memory::{Lanes, WAVE};
use crate::wide::{Job, widest};

/// Products of `T`, of `A` by `B`; a lane holds `PER` elements.
pub(super) struct Fused<A, B, T, const PER: usize>(PhantomData<(A, B, T)>);

impl<A: Format, B: Format, T: Tile, const PER: usize> Product for Fused<A, B, T, PER> {
    const REGISTERS: usize = A::INPUT.bits() * PER / 32;
    const RESULTS: usize = T::RESULTS;

    fn add(factors: &Factors, d: &mut [Lanes]) {
        widest(Add::<A, B, T, PER> { factors, d, ty: PhantomData });
    }
}

/// The smallest exponent of a product that is not zero for which f32 holds the product, and `2^(24 − exponent)`.
const SMALLEST: i32 = -100;
/// The largest exponent of a product for which it is surely below `2^128`.
const LARGEST: i32 = 125;

struct Add<'a, A, B, T, const PER: usize> {
    factors: &'a Factors,
    d: &'a mut [Lanes],
    ty: PhantomData<(A, B, T)>,
}

impl<A: Format, B: Format, T: Tile, const PER: usize> Job for Add<'_, A, B, T, PER> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { factors, d, .. } = self;
        let a = Elements::<PER>::new::<A>(&factors.a);
        let b = Elements::<PER>::new::<B>(&factors.b);
        let small = A::WIDE && a.smallest + b.smallest < SMALLEST;
        let large = A::WIDE && a.largest + b.largest > LARGEST;
        if a.all_finite && b.all_finite && !small && !large {
            let (a, b) = (Side::of(&a, &a.value), Side::of(&b, &b.value));
            // SAFETY: exponents of products that are not zero are in SMALLEST..=LARGEST: those of the `WIDE` formats
            // have just been looked at, those of the others are within -30 and 30.
            unsafe { add::<f32, A, T, PER>(a, b, factors.control, d) };
        } else {
            add_rarely::<A, B, T, PER>(factors, &a, &b, large, d);
        }
    }
}

/// When there are infinities, NaNs, or products that f32 does not hold.
#[cold]
#[inline(never)]
fn add_rarely<A: Format, B: Format, T: Tile, const PER: usize>(
    factors: &Factors,
    a: &Elements<PER>,
    b: &Elements<PER>,
    overflows: bool,
    d: &mut [Lanes],
) {
    let shape = T::shape(A::INPUT, B::INPUT);
    let mut by_scalar = Vec::new();
    if overflows || !a.all_finite || !b.all_finite {
        for (r, register) in d.iter().enumerate() {
            for (lane, &addend) in register.iter().enumerate() {
                let special = |k: usize| {
                    let (from_a, from_b) = shape.lanes(factors.control, r, lane, k);
                    a.not_finite[from_a] || b.not_finite[from_b]
                };
                if overflows || (0..shape.k).any(special) {
                    by_scalar.push((r, lane, scalar::result(shape, factors, r, lane, addend)));
                }
            }
        }
    }
    if !overflows {
        widest(InF64::<A, T, PER> { a, b, control: factors.control, d, ty: PhantomData });
    }
    for (r, lane, result) in by_scalar {
        d[r][lane] = result;
    }
}

struct InF64<'a, F, T, const PER: usize> {
    a: &'a Elements<PER>,
    b: &'a Elements<PER>,
    control: Mfma,
    d: &'a mut [Lanes],
    ty: PhantomData<(F, T)>,
}

impl<F: Format, T: Tile, const PER: usize> Job for InF64<'_, F, T, PER> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let [a, b] = [self.a, self.b].map(|side| side.value.map(|lanes| lanes.map(f64::from)));
        let (a, b) = (Side::of(self.a, &a), Side::of(self.b, &b));
        // SAFETY: f64 asks for nothing.
        unsafe { add::<f64, F, T, PER>(a, b, self.control, self.d) };
    }
}

/// A type that holds products exactly.
trait Real: Copy {
    /// Holds sums of their integer parts exactly.
    type Sum: Copy + Into<f64>;
    const NOTHING: Self::Sum;
    /// Products with smaller exponents are zero.
    const SMALLEST: i32;

    fn power_of_two(exponent: i32) -> Self;

    /// The sum and the integer part of `a · b · scale`.
    ///
    /// # Safety
    /// As f32, the scaled product must be finite and below `2^31`.
    unsafe fn add_integer_part(sum: Self::Sum, a: Self, b: Self, scale: Self) -> Self::Sum;
}

impl Real for f32 {
    type Sum = i32;
    const NOTHING: i32 = 0;
    const SMALLEST: i32 = SMALLEST;

    #[inline(always)]
    fn power_of_two(exponent: i32) -> Self {
        Self::from_bits(((127 + exponent) as u32) << 23)
    }

    #[inline(always)]
    unsafe fn add_integer_part(sum: i32, a: Self, b: Self, scale: Self) -> i32 {
        // SAFETY: the caller vouches for a finite value within i32.
        sum.wrapping_add(unsafe { (a * b * scale).to_int_unchecked::<i32>() })
    }
}

impl Real for f64 {
    type Sum = Self;
    const NOTHING: Self = 0.0;
    const SMALLEST: i32 = i32::MIN;

    #[inline(always)]
    fn power_of_two(exponent: i32) -> Self {
        Self::from_bits(((1023 + exponent) as u64) << 52)
    }

    #[inline(always)]
    unsafe fn add_integer_part(sum: Self, a: Self, b: Self, scale: Self) -> Self {
        sum + (a * b * scale).trunc()
    }
}

/// One operand.
#[derive(Clone, Copy)]
struct Side<'a, R, const PER: usize> {
    value: &'a [[R; WAVE]; PER],
    exponent: &'a [[i32; WAVE]; PER],
}

impl<'a, R, const PER: usize> Side<'a, R, PER> {
    #[inline(always)]
    fn of(elements: &'a Elements<PER>, value: &'a [[R; WAVE]; PER]) -> Self {
        Self { value, exponent: &elements.exponent }
    }
}

/// Adds the product to `d`.
///
/// # Safety
/// As f32, the exponents of products that are not zero must be in [`SMALLEST`]`..=`[`LARGEST`].
#[inline(always)]
unsafe fn add<R: Real, F: Format, T: Tile, const PER: usize>(
    a: Side<'_, R, PER>,
    b: Side<'_, R, PER>,
    control: Mfma,
    d: &mut [Lanes],
) {
    let group = F::GROUP.min(T::K);
    for first in (0..T::K).step_by(group) {
        for part in 0..WAVE / SIDE {
            // The columns of B are the same for all registers, or for all of a block.
            for (r, register) in d.iter_mut().enumerate().take(T::RESULTS) {
                let Some(lanes) = register.as_chunks_mut::<SIDE>().0.get_mut(part) else { continue };
                let products = Products::<R, T, PER> { a, b, control, r, part, ty: PhantomData };
                if F::INTERLEAVED {
                    // SAFETY: the caller's promise is the one asked for.
                    let even = unsafe { products.sums(first, 2, group / 2) };
                    // SAFETY: likewise.
                    let odd = unsafe { products.sums(first + 1, 2, group / 2) };
                    round::<F>(lanes, |i| join(even.of(i), odd.of(i)));
                } else {
                    // SAFETY: likewise.
                    let sums = unsafe { products.sums(first, 1, group) };
                    round::<F>(lanes, |i| sums.of(i));
                }
            }
        }
    }
}

/// Sums of sixteen results, each in units of 24 bits below its power of two.
struct Sums<R: Real> {
    sum: [R::Sum; SIDE],
    exponent: [i32; SIDE],
}

impl<R: Real> Sums<R> {
    #[inline(always)]
    fn of(&self, i: usize) -> (f64, i32) {
        (self.sum[i].into(), self.exponent[i])
    }
}

struct Products<'a, R, T, const PER: usize> {
    a: Side<'a, R, PER>,
    b: Side<'a, R, PER>,
    control: Mfma,
    r: usize,
    part: usize,
    ty: PhantomData<T>,
}

impl<R: Real, T: Tile, const PER: usize> Products<'_, R, T, PER> {
    /// The sums of every `step`th product, cut off 24 bits below the largest.
    ///
    /// # Safety
    /// As of [`add`].
    #[inline(always)]
    unsafe fn sums(&self, first: usize, step: usize, count: usize) -> Sums<R> {
        let Self { a, b, control, r, part, .. } = *self;
        let mut sums = Sums { sum: [R::NOTHING; SIDE], exponent: [0; SIDE] };
        for i in 0..SIDE {
            let at = Place { r, part, i };
            let mut exponent = i32::MIN;
            for n in 0..count {
                let k = first + n * step;
                exponent = exponent.max(T::a(a.exponent, control, at, k) + T::b(b.exponent, at, k));
            }
            // Below R::SMALLEST all products are zero, and so they are with any scale.
            let scale = R::power_of_two(24 - exponent.max(R::SMALLEST));
            let mut sum = R::NOTHING;
            for n in 0..count {
                let k = first + n * step;
                let (x, y) = (T::a(a.value, control, at, k), T::b(b.value, at, k));
                // SAFETY: |x| < 2^(e + 1) and |y| < 2^(f + 1), where e + f <= exponent; so either both the product
                // and the scaled product are zero, or the latter is below 2^(e + f + 2 + 24 - exponent). The product
                // itself is finite, because e + f <= LARGEST.
                sum = unsafe { R::add_integer_part(sum, x, y, scale) };
            }
            (sums.sum[i], sums.exponent[i]) = (sum, exponent);
        }
        sums
    }
}

/// Even and odd products: the one with the smaller exponent is cut off (towards minus infinity) as the other.
#[inline(always)]
fn join((even, even_exponent): (f64, i32), (odd, odd_exponent): (f64, i32)) -> (f64, i32) {
    let exponent = even_exponent.max(odd_exponent);
    let cut = |sum: f64, own: i32| (sum * f64::power_of_two(own - exponent)).floor();
    (cut(even, even_exponent) + cut(odd, odd_exponent), exponent)
}

/// Adds `sum · 2^(exponent − 24)` to each lane, cut off and rounded as the matrix units do it.
#[inline(always)]
fn round<F: Format>(lanes: &mut [u32; SIDE], sums: impl Fn(usize) -> (f64, i32)) {
    let addends = *lanes;
    let mut any_special = false;
    for i in 0..SIDE {
        let (sum, exponent) = sums(i);
        let magnitude = addends[i] & 0x7fff_ffff;
        any_special |= magnitude >= INFINITY;
        let addend_exponent = ((magnitude >> 23) as i32).max(1) - 127;
        let largest = exponent.max(addend_exponent);
        // 31 bits below the larger one.
        let sum = (sum * f64::power_of_two(exponent - largest + 7)).floor();
        let kept = (f64::from(f32::from_bits(addends[i])) * f64::power_of_two(24 - largest)).floor();
        let kept = if F::INTERLEAVED && largest - addend_exponent > 25 { 0.0 } else { kept };
        lanes[i] = (((sum + 128.0 * kept) * f64::power_of_two(largest - 31)) as f32).to_bits();
    }
    if any_special {
        // Finite products change neither an infinity nor a NaN.
        for (lane, addend) in lanes.iter_mut().zip(addends) {
            let magnitude = addend & 0x7fff_ffff;
            let passed_on = if magnitude > INFINITY { 0x7fc0_0000 } else { addend };
            *lane = if magnitude >= INFINITY { passed_on } else { *lane };
        }
    }
}

/// The bits of an f32's infinity.
const INFINITY: u32 = 0x7f80_0000;
