//! Many rows of activations with unpacked weights.

use std::hint::black_box;
use std::marker::PhantomData;
use std::ops::Range;

use super::super::simd::{Kernel, Simd};
use super::code_panel::Panel;
use super::format::ROWS;
use super::group::{Operation, add_run, dot};
use super::quantized_activations::Block;

/// Products of `R` rows of activations with `P` panels of weights.
pub struct Tile<'a, O, const R: usize, const P: usize> {
    /// The activations.
    pub x: [&'a [Block]; R],
    /// The weights, of the same length.
    pub panels: [&'a Panel; P],
    pub operation: PhantomData<O>,
}

impl<O: Operation, const R: usize, const P: usize> Kernel for Tile<'_, O, R, P> {
    type Output = [[[f32; ROWS]; P]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let runs = self.x[0].len();
        // A number that the compiler does not know: it would unroll the loop over a run and spill half of the sums.
        let all = black_box(8).min(8);
        let x = self.x.map(|x| &x[..runs]);
        let mut sums = [[s.splat16(0.0); P]; R];
        for i in 0..runs {
            let products = if O::PARTS {
                let halves =
                    [Self::dots(s, x, self.panels, i, 0..all / 2), Self::dots(s, x, self.panels, i, 4..all)];
                Self::weighted(s, self.panels, i, halves)
            } else {
                Self::dots(s, x, self.panels, i, 0..all)
            };
            for p in 0..P {
                let factors = self.panels[p].factors::<S, O>(s, i);
                for r in 0..R {
                    sums[r][p] = add_run::<S, O>(s, sums[r][p], products[r][p], &x[r][i], &factors);
                }
            }
        }
        let mut values = [[[0.0; ROWS]; P]; R];
        for (value, sum) in values.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *value = s.array16(*sum);
        }
        values
    }
}

impl<O: Operation, const R: usize, const P: usize> Tile<'_, O, R, P> {
    /// Products of integers of run `i`, of the `quads` of its weights.
    #[inline(always)]
    fn dots<S: Simd>(
        s: S,
        x: [&[Block]; R],
        panels: [&Panel; P],
        i: usize,
        quads: Range<usize>,
    ) -> [[S::W; P]; R] {
        let mut products = [[s.splat_int16(0); P]; R];
        for (products, x) in products.iter_mut().zip(x) {
            *products = [s.splat_int16(x[i].starts[quads.start / 4]); P];
        }
        for q in quads {
            let mut codes = [s.splat_int16(0); P];
            for (codes, panel) in codes.iter_mut().zip(panels) {
                *codes = s.bytes16(&panel.codes(i)[q]);
            }
            for (products, x) in products.iter_mut().zip(x) {
                for (product, codes) in products.iter_mut().zip(codes) {
                    *product = dot::<S, O>(s, *product, codes, x[i].quads[q]);
                }
            }
        }
        products
    }

    /// The products of both halves of run `i`, each times its integer factor, together.
    #[inline(always)]
    fn weighted<S: Simd>(
        s: S,
        panels: [&Panel; P],
        i: usize,
        [mut low, high]: [[[S::W; P]; R]; 2],
    ) -> [[S::W; P]; R] {
        for p in 0..P {
            let parts = panels[p].factors::<S, O>(s, i).parts;
            for (low, high) in low.iter_mut().zip(high) {
                let high = s.mul_ints16(high[p], parts[1]);
                low[p] = s.add_ints16(s.mul_ints16(low[p], parts[0]), high);
            }
        }
        low
    }
}
