//! Products that are added before they are rounded, as [`super::sum`] describes it, by vectors.
//!
//! [`super::sum`] works on integers: significands, shifted and cut off. Here each step is floating-point arithmetic that
//! is exact, so the bits are the same:
//!
//! * A product of two numbers of 11 significant bits has 22, so f32 holds it, as long as it stays in range.
//! * Cut off 24 bits below the point of `2^largest`, it is the integer part of the product times `2^(24 − largest)`. That
//!   is below `2^26`, so i32 holds the sum of 16 of them.
//! * The sum with the addend is on a grid 31 bits below the larger exponent. All of it that the rounding can see fits
//!   i32 ([`in_words`]), which becomes f32 rounded once. Near denormals the parts (37 bits) and the total are taken as f64
//!   instead ([`in_f64`]).
//!
//! Products that f32 cannot hold take the same way in f64.
#![allow(unsafe_code, reason = "the conversion that vectors have is the one without a check of the range")]

use std::marker::PhantomData;

#[cfg(target_arch = "x86_64")]
use super::blocked;
use super::format::{Elements, Format};
use super::tile::{Place, SIDE, Tile};
use super::{Factors, Product, scalar};
use crate::isa::inst::Mfma;
use crate::memory::{Lanes, WAVE};
#[cfg(target_arch = "x86_64")]
use crate::wide::Avx512;
use crate::wide::{Job, widest};

/// Products of `T`, of `A` by `B`; a lane holds `PER` elements.
pub(super) struct Fused<A, B, T, const PER: usize>(PhantomData<(A, B, T)>);

impl<A: Format, B: Format, T: Tile, const PER: usize> Product for Fused<A, B, T, PER> {
    const REGISTERS: usize = A::INPUT.bits() * PER / 32;
    const RESULTS: usize = T::RESULTS;

    fn add(factors: &Factors<'_>, d: &mut [Lanes]) {
        #[cfg(target_arch = "x86_64")]
        if blocked::fits::<A, T>()
            && let Some(avx512) = Avx512::get()
        {
            let mut elements = None;
            let rest = |first, at, lanes: &mut [u32; SIDE]| {
                widest(Rest::<A, T, PER> {
                    factors,
                    elements: &mut elements,
                    first,
                    at,
                    lanes,
                    ty: PhantomData,
                });
            };
            if blocked::add::<A, T>(avx512, factors, d, rest) {
                return;
            }
        }
        widest(Add::<A, B, T, PER> { factors, d, ty: PhantomData });
    }
}

/// The smallest exponent of a product that is not zero for which f32 holds the product, and `2^(24 − exponent)`.
pub(super) const SMALLEST: i32 = -100;
/// The largest exponent of a product for which it is surely below `2^128`.
pub(super) const LARGEST: i32 = 125;

struct Add<'a, A, B, T, const PER: usize> {
    factors: &'a Factors<'a>,
    d: &'a mut [Lanes],
    ty: PhantomData<(A, B, T)>,
}

impl<A: Format, B: Format, T: Tile, const PER: usize> Job for Add<'_, A, B, T, PER> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { factors, d, .. } = self;
        let (mut a, mut b) = (Elements::<PER>::ZERO, Elements::<PER>::ZERO);
        a.fill::<A>(&factors.a);
        b.fill::<B>(&factors.b);
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

/// Sixteen results that [`blocked`] leaves over; exponents are as [`Add::run`] asks for.
#[cfg(target_arch = "x86_64")]
struct Rest<'a, F, T, const PER: usize> {
    factors: &'a Factors<'a>,
    /// A and B, once they have been needed.
    elements: &'a mut Option<[Elements<PER>; 2]>,
    first: usize,
    at: Place,
    lanes: &'a mut [u32; SIDE],
    ty: PhantomData<(F, T)>,
}

#[cfg(target_arch = "x86_64")]
impl<F: Format, T: Tile, const PER: usize> Job for Rest<'_, F, T, PER> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Self { factors, elements, first, at, lanes, .. } = self;
        let [a, b] = elements.get_or_insert_with(|| {
            let mut elements = [Elements::<PER>::ZERO; 2];
            elements[0].fill::<F>(&factors.a);
            elements[1].fill::<F>(&factors.b);
            elements
        });
        let (a, b) = (Side::of(a, &a.value), Side::of(b, &b.value));
        // SAFETY: as in `Add::run`; `blocked` has looked at the exponents.
        unsafe { add_sixteen::<f32, F, T, PER>(a, b, factors.control, first, at, lanes) };
    }
}

/// When there are infinities, NaNs, or products that f32 does not hold.
#[cold]
#[inline(never)]
fn add_rarely<A: Format, B: Format, T: Tile, const PER: usize>(
    factors: &Factors<'_>,
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

    /// How to see a sum as a word, if it is one.
    fn in_words() -> Option<fn(Self::Sum) -> i32>;

    fn add(a: Self::Sum, b: Self::Sum) -> Self::Sum;

    /// Without `places` (not negative) low bits: towards minus infinity.
    fn cut_down(sum: Self::Sum, places: i32) -> Self::Sum;

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
    fn in_words() -> Option<fn(i32) -> i32> {
        Some(|sum| sum)
    }

    #[inline(always)]
    fn add(a: i32, b: i32) -> i32 {
        a + b
    }

    #[inline(always)]
    fn cut_down(sum: i32, places: i32) -> i32 {
        sum >> places.min(31)
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
    fn in_words() -> Option<fn(Self) -> i32> {
        None
    }

    #[inline(always)]
    fn add(a: Self, b: Self) -> Self {
        a + b
    }

    #[inline(always)]
    fn cut_down(sum: Self, places: i32) -> Self {
        (sum * Self::power_of_two(-places)).floor()
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
                // SAFETY: the caller's promise is the one asked for.
                unsafe { add_sixteen::<R, F, T, PER>(a, b, control, first, Place { r, part, i: 0 }, lanes) };
            }
        }
    }
}

/// Adds the products of the group that begins at `first` to the sixteen lanes at a place.
///
/// # Safety
/// As of [`add`].
#[inline(always)]
unsafe fn add_sixteen<R: Real, F: Format, T: Tile, const PER: usize>(
    a: Side<'_, R, PER>,
    b: Side<'_, R, PER>,
    control: Mfma,
    first: usize,
    Place { r, part, .. }: Place,
    lanes: &mut [u32; SIDE],
) {
    let group = F::GROUP.min(T::K);
    let products = Products::<R, T, PER> { a, b, control, r, part, ty: PhantomData };
    if F::INTERLEAVED {
        // SAFETY: the caller's promise is the one asked for.
        let even = unsafe { products.sums(first, 2, group / 2) };
        // SAFETY: likewise.
        let odd = unsafe { products.sums(first + 1, 2, group / 2) };
        round::<R, F>(lanes, |i| join::<R>(even.of(i), odd.of(i)));
    } else {
        // SAFETY: likewise.
        let sums = unsafe { products.sums(first, 1, group) };
        round::<R, F>(lanes, |i| sums.of(i));
    }
}

/// Sums of sixteen results, each in units of 24 bits below its power of two.
struct Sums<R: Real> {
    sum: [R::Sum; SIDE],
    exponent: [i32; SIDE],
}

impl<R: Real> Sums<R> {
    #[inline(always)]
    fn of(&self, i: usize) -> (R::Sum, i32) {
        (self.sum[i], self.exponent[i])
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
fn join<R: Real>((even, even_exponent): (R::Sum, i32), (odd, odd_exponent): (R::Sum, i32)) -> (R::Sum, i32) {
    let exponent = even_exponent.max(odd_exponent);
    let cut = |sum: R::Sum, own: i32| R::cut_down(sum, exponent - own);
    (R::add(cut(even, even_exponent), cut(odd, odd_exponent)), exponent)
}

/// As [`in_words`] if the addend can be brought to the unit of the sum, which is the usual case; otherwise the second
/// value is true, and the first means nothing.
#[inline(always)]
fn in_unit<F: Format>(sum: i32, exponent: i32, addend: u32) -> (u32, bool) {
    let scaled = f32::from_bits(addend) * f32::power_of_two(24 - exponent);
    // Denormal numbers may have lost bits.
    let is_exact = scaled.abs() >= f32::MIN_POSITIVE || addend << 1 == 0;
    let fits = scaled.abs() < 1_073_741_824.0 && exponent >= SMALLEST && is_exact;
    let small = if fits { scaled } else { 0.0 };
    // SAFETY: below 2^30, as `fits` says.
    let kept = unsafe { small.floor().to_int_unchecked::<i32>() };
    let kept = if F::INTERLEAVED && small.abs() < 0.5 { 0 } else { kept };
    // The sum is below 2^30 as well.
    let total = sum.wrapping_add(kept);
    ((total as f32 * f32::power_of_two(exponent - 24)).to_bits(), !fits)
}

/// The exponent field of the smallest exponent for which [`in_words`] does.
const LOWEST_FIELD: i32 = -102 + 127;

/// `sum · 2^(exponent − 24) + addend`, cut off and rounded as the matrix units do it, in words of 32 bits; addend and
/// result are bits. The addend is finite, and the larger exponent, or 32 times the addend's, is at least `2^-102`.
///
/// Up to `2^5` times the larger power of two of the products, the addend is brought to the unit of the sum, which is
/// `2^(exponent − 24)`. It is below `2^30` then, the sum below `2^29` (16 products of 8-bit formats: `2^29.9`). A larger
/// addend has a unit of its own, 29 bits below it, and the sum is brought to that. All bits that the sum loses on the
/// way from 31 to 29 bits below the addend go to its last bit, which is far below the last place of the result:
/// the total is above `2^26`, as the sum is below `2^28` (`2^28.9`) then.
#[inline(always)]
fn in_words<F: Format>(sum: i32, exponent: i32, addend: u32) -> u32 {
    let field = ((addend >> 23) & 0xff) as i32;
    let addend_exponent = field.max(1) - 127;
    let significand = ((addend & 0x7f_ffff) | ((field.min(1) as u32) << 23)).cast_signed();
    let sign = addend.cast_signed() >> 31;
    let above = addend_exponent - exponent;
    let kept = (((significand ^ sign) - sign) << 6) >> (5 - above).clamp(0, 31);
    let kept = if F::INTERLEAVED && above < -25 { 0 } else { kept };
    // Bits that the sum loses: first those that count for nothing, then up to two that do.
    let lost = (above - 5).max(0);
    let sticky = lost.min(2);
    let cut = sum >> (lost - sticky).min(31);
    let short = cut >> sticky;
    let short = if short << sticky == cut { short } else { short | 1 };
    let unit = exponent.max(addend_exponent - 5) - 24;
    ((short + kept) as f32 * f32::power_of_two(unit)).to_bits()
}

/// As [`in_words`], for any addend and all exponents.
#[inline(always)]
fn in_f64<F: Format>(sum: f64, exponent: i32, addend: u32) -> u32 {
    let magnitude = addend & 0x7fff_ffff;
    let addend_exponent = ((magnitude >> 23) as i32).max(1) - 127;
    let largest = exponent.max(addend_exponent);
    // 31 bits below the larger one.
    let sum = (sum * f64::power_of_two(exponent - largest + 7)).floor();
    let kept = (f64::from(f32::from_bits(addend)) * f64::power_of_two(24 - largest)).floor();
    let kept = if F::INTERLEAVED && largest - addend_exponent > 25 { 0.0 } else { kept };
    let total = ((sum + 128.0 * kept) * f64::power_of_two(largest - 31)) as f32;
    // Finite products change neither an infinity nor a NaN.
    let passed_on = if magnitude > INFINITY { 0x7fc0_0000 } else { addend };
    if magnitude >= INFINITY { passed_on } else { total.to_bits() }
}

/// Adds `sum · 2^(exponent − 24)` to each lane.
#[inline(always)]
fn round<R: Real, F: Format>(lanes: &mut [u32; SIDE], sums: impl Fn(usize) -> (R::Sum, i32)) {
    let addends = *lanes;
    let mut rare = true;
    if let Some(words) = R::in_words() {
        let mut any_left = 0;
        for i in 0..SIDE {
            let (sum, exponent) = sums(i);
            let (result, left) = in_unit::<F>(words(sum), exponent, addends[i]);
            any_left |= u32::from(left);
            lanes[i] = result;
        }
        if any_left == 0 {
            return;
        }
        let mut any_rare = 0;
        for i in 0..SIDE {
            let (sum, exponent) = sums(i);
            let field = ((addends[i] >> 23) & 0xff) as i32;
            any_rare |= u32::from(field == 255) | u32::from((exponent + 127).max(field - 5) < LOWEST_FIELD);
            lanes[i] = in_words::<F>(words(sum), exponent, addends[i]);
        }
        rare = any_rare != 0;
    }
    if rare {
        for i in 0..SIDE {
            let (sum, exponent) = sums(i);
            lanes[i] = in_f64::<F>(sum.into(), exponent, addends[i]);
        }
    }
}

/// The bits of an f32's infinity.
const INFINITY: u32 = 0x7f80_0000;
