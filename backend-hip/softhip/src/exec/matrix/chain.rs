//! f32 and f64: a chain of fused multiply-adds over `k`, begun with C.

use std::marker::PhantomData;

use super::shape::broadcast;
use super::tile::{Place, SIDE, Tile};
use super::{Factors, Product};
use crate::exec::float::{Float, fma};
use crate::memory::{Lanes, WAVE};
use crate::wide::{Job, widest};

/// The chains of sixteen results; `factors` gives those of result `i` at `k`.
///
/// Which NaN comes out matters only when one does, so it is looked after in a second try.
#[inline(always)]
fn chain<F: Float>(sums: [F; SIDE], k: usize, factors: impl Fn(usize, usize) -> (F, F)) -> [F; SIDE] {
    let mut plain = sums;
    let mut any_nan = false;
    for (i, sum) in plain.iter_mut().enumerate() {
        for k in 0..k {
            let (x, y) = factors(i, k);
            *sum = x.host_fma(y, *sum);
        }
        any_nan |= sum.is_nan();
    }
    if !any_nan {
        return plain;
    }
    let mut settled = sums;
    for (i, sum) in settled.iter_mut().enumerate() {
        for k in 0..k {
            let (x, y) = factors(i, k);
            *sum = fma(x, y, *sum);
        }
    }
    settled
}

/// Products of `T`, of f32.
pub(super) struct ChainF32<T>(PhantomData<T>);

impl<T: Tile> Product for ChainF32<T> {
    const REGISTERS: usize = 1;
    const RESULTS: usize = T::RESULTS;

    fn add(factors: &Factors<'_>, d: &mut [Lanes]) {
        widest(AddF32::<T> { factors, d, ty: PhantomData });
    }
}

struct AddF32<'a, T> {
    factors: &'a Factors<'a>,
    d: &'a mut [Lanes],
    ty: PhantomData<T>,
}

impl<T: Tile> Job for AddF32<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let control = self.factors.control;
        let [a, b] = [&self.factors.a, &self.factors.b].map(|side| [side[0].map(f32::from_bits)]);
        for (r, register) in self.d.iter_mut().enumerate().take(T::RESULTS) {
            for (part, lanes) in register.as_chunks_mut::<SIDE>().0.iter_mut().enumerate() {
                let sums = chain(lanes.map(f32::from_bits), T::K, |i, k| {
                    let at = Place { r, part, i };
                    (T::a(&a, control, at, k), T::b(&b, at, k))
                });
                *lanes = sums.map(f32::to_bits);
            }
        }
    }
}

/// f64 products of `M` rows: 16, or 4 in four blocks.
pub(super) struct ChainF64<const M: usize>;

impl<const M: usize> Product for ChainF64<M> {
    const REGISTERS: usize = 2;
    const RESULTS: usize = if M == 16 { 8 } else { 2 };
    const WIDTH: usize = 2;
    const HAS_LANE_GROUPS: bool = false;

    fn add(factors: &Factors<'_>, d: &mut [Lanes]) {
        widest(AddF64::<M> { factors, d });
    }
}

struct AddF64<'a, const M: usize> {
    factors: &'a Factors<'a>,
    d: &'a mut [Lanes],
}

impl<const M: usize> AddF64<'_, M> {
    /// Elements summed per result.
    const K: usize = 4;

    /// Numbers, negated if `blgp` says so for the operand.
    #[inline(always)]
    fn numbers(&self, [low, high]: [&Lanes; 2], operand: u8) -> [f64; WAVE] {
        let sign = u64::from((self.factors.control.blgp >> operand) & 1) << 63;
        std::array::from_fn(|lane| {
            f64::from_bits((u64::from(low[lane]) | (u64::from(high[lane]) << 32)) ^ sign)
        })
    }
}

impl<const M: usize> Job for AddF64<'_, M> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let control = self.factors.control;
        let side = |[low, high]: &[&Lanes; 2], operand| self.numbers([low, high], operand);
        let (a, b) = (side(&self.factors.a, 0), side(&self.factors.b, 1));
        for r in 0..self.d.len() / 2 {
            let mut sums = self.numbers([&self.d[2 * r], &self.d[2 * r + 1]], 2);
            for (part, sums) in sums.as_chunks_mut::<SIDE>().0.iter_mut().enumerate() {
                *sums = chain(*sums, Self::K, |i, k| {
                    if M == 16 {
                        // Lanes run over rows, then `k`.
                        return (a[(4 * r + part + 16 * k) % WAVE], b[16 * (k % 4) + i]);
                    }
                    // Lanes run over rows, then blocks, then `k`; in D over columns, then blocks, then rows.
                    let place = |block: usize, row: usize| (row + 4 * (block + 4 * k)) % WAVE;
                    (a[place(broadcast(control, i / 4), part)], b[place(i / 4, i % 4)])
                });
            }
            self.d[2 * r] = sums.map(|sum| sum.to_bits() as u32);
            self.d[2 * r + 1] = sums.map(|sum| (sum.to_bits() >> 32) as u32);
        }
    }
}
