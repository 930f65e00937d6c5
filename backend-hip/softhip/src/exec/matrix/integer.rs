//! Bytes: exact sums that wrap.

use std::marker::PhantomData;

use super::tile::{Place, SIDE, Tile};
use super::{Factors, Product};
use crate::memory::{Lanes, WAVE};
use crate::wide::{Job, widest};

/// Products of `T`, of signed bytes; a lane holds `PER` of them.
pub(super) struct Integer<T, const PER: usize>(PhantomData<T>);

impl<T: Tile, const PER: usize> Product for Integer<T, PER> {
    const REGISTERS: usize = PER / 4;
    const RESULTS: usize = T::RESULTS;

    fn add(factors: &Factors<'_>, d: &mut [Lanes]) {
        widest(Add::<T, PER> { factors, d, ty: PhantomData });
    }
}

struct Add<'a, T, const PER: usize> {
    factors: &'a Factors<'a>,
    d: &'a mut [Lanes],
    ty: PhantomData<T>,
}

/// The bytes of a lane. f32 holds them, and the sum of 32 products, exactly.
#[inline(always)]
fn bytes<const PER: usize>(registers: &[&Lanes; 2]) -> [[f32; WAVE]; PER] {
    let mut bytes = [[0.0; WAVE]; PER];
    for (e, lanes) in bytes.iter_mut().enumerate() {
        for (value, word) in lanes.iter_mut().zip(registers[e / 4]) {
            *value = f32::from((word >> (8 * (e % 4))) as i8);
        }
    }
    bytes
}

impl<T: Tile, const PER: usize> Job for Add<'_, T, PER> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let (a, b) = (bytes::<PER>(&self.factors.a), bytes::<PER>(&self.factors.b));
        let control = self.factors.control;
        for (r, register) in self.d.iter_mut().enumerate().take(T::RESULTS) {
            for (part, lanes) in register.as_chunks_mut::<SIDE>().0.iter_mut().enumerate() {
                for (i, lane) in lanes.iter_mut().enumerate() {
                    let at = Place { r, part, i };
                    let sum = (0..T::K).fold(0.0, |sum, k| sum + T::a(&a, control, at, k) * T::b(&b, at, k));
                    *lane = lane.wrapping_add((sum as i32).cast_unsigned());
                }
            }
        }
    }
}
