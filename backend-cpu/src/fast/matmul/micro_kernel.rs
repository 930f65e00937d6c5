//! The integer micro-kernel: a register tile of rows of activations and panels of unpacked weights.

use std::hint::black_box;
use std::marker::PhantomData;
use std::ops::Range;

use super::super::int8_block::Int8Block;
use super::super::simd::{Kernel, PANEL_ROWS, Simd};
use super::code_panel::CodePanel;
use super::group::{add_group, dot};
use super::operation::Operation;

/// Products of `R` rows of activations with `P` panels of weights.
pub struct MicroKernel<'a, O, const R: usize, const P: usize> {
    /// The activations.
    pub x: [&'a [Int8Block]; R],
    /// The weights, of the same length.
    pub panels: [&'a CodePanel; P],
    pub operation: PhantomData<O>,
}

impl<O: Operation, const R: usize, const P: usize> Kernel for MicroKernel<'_, O, R, P> {
    type Output = [[[f32; PANEL_ROWS]; P]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let groups = self.x[0].len();
        // Unknown to the compiler, which would otherwise unroll the loop over a group and spill half of the sums.
        let all = black_box(8).min(8);
        let x = self.x.map(|x| &x[..groups]);
        let mut sums = [[s.splat16(0.0); P]; R];
        for i in 0..groups {
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
                    sums[r][p] = add_group::<S, O>(s, sums[r][p], products[r][p], &x[r][i], &factors);
                }
            }
        }
        let mut values = [[[0.0; PANEL_ROWS]; P]; R];
        for (value, sum) in values.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *value = s.array16(*sum);
        }
        values
    }
}

impl<O: Operation, const R: usize, const P: usize> MicroKernel<'_, O, R, P> {
    /// Integer sums of group `i` over the `quads` of its weights.
    #[inline(always)]
    fn dots<S: Simd>(
        s: S,
        x: [&[Int8Block]; R],
        panels: [&CodePanel; P],
        i: usize,
        quads: Range<usize>,
    ) -> [[S::W; P]; R] {
        let mut products = [[s.splat_int16(0); P]; R];
        for (products, x) in products.iter_mut().zip(x) {
            *products = [s.splat_int16(x[i].initial_sums[quads.start / 4]); P];
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

    /// The integer sums of both halves of group `i`, each times its integer factor, added up.
    #[inline(always)]
    fn weighted<S: Simd>(
        s: S,
        panels: [&CodePanel; P],
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
