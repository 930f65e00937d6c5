//! Few rows of activations: the packed weights are multiplied as they stream by, sixteen rows at a time.

use std::marker::PhantomData;

use super::super::prefetch::Way;
use super::super::simd::{Kernel, LINE, Rows16, Simd, prefetch};
use super::format::{Format, ROWS};
use super::group::{Operation, add_run, dot, prepared};
use super::quantized_activations::Block;

/// Products of `R` rows of activations with [`ROWS`] rows of weights of format `F`.
pub struct Products<'a, F, const BYTES: usize, const RUNS: usize, const R: usize> {
    /// All as long as a row of weights.
    pub x: [&'a [Block]; R],
    pub rows: Rows16<'a>,
    pub way: Way,
    pub format: PhantomData<F>,
}

impl<F, const BYTES: usize, const RUNS: usize, const R: usize> Kernel for Products<'_, F, BYTES, RUNS, R>
where
    F: Format<BYTES, RUNS>,
{
    type Output = [[f32; ROWS]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let blocks = self.rows.len() / BYTES;
        let x = self.x.map(|x| &x.as_chunks::<RUNS>().0[..blocks]);
        let ahead = self.way.ahead(self.rows.bytes().as_ptr());
        let mut sums = [s.splat16(0.0); R];
        for i in 0..blocks {
            let header = F::header(s, self.rows, i * BYTES);
            let mut runs = [[s.splat_int16(0); RUNS]; R];
            for nth in 0..RUNS / F::SHARING {
                let bits = F::bits(s, self.rows, i * BYTES, nth);
                for j in 0..F::SHARING {
                    let run = F::run(nth, j);
                    // A few lines at a time: what is needed now would have to wait for them.
                    for line in (0..ROWS * BYTES / RUNS).step_by(LINE) {
                        prefetch(ahead + (i * RUNS + run) * (ROWS * BYTES / RUNS) + line);
                    }
                    let parts = F::factors(s, &header, run).parts;
                    let codes = prepared::<S, F::Operation>(s, F::codes(s, &bits, run));
                    for (runs, x) in runs.iter_mut().zip(x) {
                        runs[run] = products::<S, F::Operation>(s, codes, &x[i][run], parts);
                    }
                }
            }
            for run in 0..RUNS {
                let factors = F::factors(s, &header, run);
                for ((sum, runs), x) in sums.iter_mut().zip(&runs).zip(x) {
                    *sum = add_run::<S, F::Operation>(s, *sum, runs[run], &x[i][run], &factors);
                }
            }
        }
        let mut values = [[0.0; ROWS]; R];
        for (values, sum) in values.iter_mut().zip(sums) {
            *values = s.array16(sum);
        }
        values
    }
}

/// `Σ (code − bias)·part·x` of a run, for each row.
#[inline(always)]
fn products<S: Simd, O: Operation>(s: S, codes: [S::W; 8], x: &Block, parts: [S::W; 2]) -> S::W {
    // Two sums, so that a product need not wait for the one before.
    let mut halves = [s.splat_int16(x.starts[0]), s.splat_int16(x.starts[1])];
    let fours = codes.as_chunks::<4>().0.iter().zip(x.quads.as_chunks::<4>().0);
    for (sum, (codes, quads)) in halves.iter_mut().zip(fours) {
        for (codes, quad) in codes.iter().zip(quads) {
            *sum = dot::<S, O>(s, *sum, *codes, *quad);
        }
    }
    if O::PARTS {
        halves = [s.mul_ints16(halves[0], parts[0]), s.mul_ints16(halves[1], parts[1])];
    }
    s.add_ints16(halves[0], halves[1])
}
