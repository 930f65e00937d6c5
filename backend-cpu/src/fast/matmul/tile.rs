//! Many rows of activations: tiles of the output that stay in registers while the terms of their sums pass by.

use super::super::simd::{Kernel, Simd};
use super::activations::Block;
use super::format::{Factors, ROWS};
use super::panel::Panel;
use super::single::add_run;

/// Products of `R` rows of activations with `P` panels of weights.
pub struct Tile<'a, const R: usize, const P: usize> {
    /// The activations.
    pub x: [&'a [Block]; R],
    /// The weights, of the same length.
    pub panels: [&'a Panel; P],
    /// Whether the format has offsets.
    pub offsets: bool,
}

impl<const R: usize, const P: usize> Kernel for Tile<'_, R, P> {
    type Output = [[[f32; ROWS]; P]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let runs = self.x[0].len();
        let (x, panels) = (self.x.map(|x| &x[..runs]), self.panels.map(|panel| &panel.runs[..runs]));
        let mut sums = [[s.splat(0.0); P]; R];
        for i in 0..runs {
            let mut products = [[s.splat_int(0); P]; R];
            for pair in 0..16 {
                let mut weights = [s.splat_int(0); P];
                for (weights, panel) in weights.iter_mut().zip(panels) {
                    *weights = s.shorts(&panel[i].weights[pair]);
                }
                for (products, x) in products.iter_mut().zip(x) {
                    let [a, b] = x[i].shorts.as_chunks::<2>().0[pair];
                    let x = s.splat_int(bytemuck::must_cast([a, b]));
                    for (product, weights) in products.iter_mut().zip(weights) {
                        *product = s.add_ints(*product, s.dot_shorts(x, weights));
                    }
                }
            }
            for p in 0..P {
                let run = &panels[p][i];
                let factors = Factors {
                    scale: s.load(&run.scale),
                    parts: super::format::ONES,
                    offset: s.load(&run.offset),
                    minimums: run.minimums,
                };
                for r in 0..R {
                    sums[r][p] = add_run(s, sums[r][p], products[r][p], &x[r][i], &factors, self.offsets);
                }
            }
        }
        let mut values = [[[0.0; ROWS]; P]; R];
        for (value, sum) in values.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *value = s.array(*sum);
        }
        values
    }
}
