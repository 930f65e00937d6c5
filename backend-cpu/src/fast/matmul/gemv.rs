//! Few rows of activations (GEMV): the packed weights are read once from memory, a panel at a time, and multiplied on the way.

use std::marker::PhantomData;

use super::super::int8_block::Int8Block;
use super::super::prefetch::PrefetchPlan;
use super::super::simd::{CACHE_LINE, Kernel, PANEL_ROWS, RowPanel, Simd, prefetch};
use super::format::Format;
use super::group::{add_group, dot, prepare_codes};
use super::operation::Operation;

/// Products of `R` rows of activations with a panel of weights of format `F`.
pub struct Gemv<'a, F, const BYTES: usize, const GROUPS: usize, const R: usize> {
    /// All as long as a row of weights.
    pub x: [&'a [Int8Block]; R],
    pub rows: RowPanel<'a>,
    pub prefetch: PrefetchPlan,
    pub format: PhantomData<F>,
}

impl<F, const BYTES: usize, const GROUPS: usize, const R: usize> Kernel for Gemv<'_, F, BYTES, GROUPS, R>
where
    F: Format<BYTES, GROUPS>,
{
    type Output = [[f32; PANEL_ROWS]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let blocks = self.rows.len() / BYTES;
        let x = self.x.map(|x| &x.as_chunks::<GROUPS>().0[..blocks]);
        let ahead = self.prefetch.address(self.rows.bytes().as_ptr());
        let mut sums = [s.splat16(0.0); R];
        for i in 0..blocks {
            let header = F::header(s, self.rows, i * BYTES);
            let mut groups = [[s.splat_int16(0); GROUPS]; R];
            for nth in 0..GROUPS / F::SHARING {
                let bits = F::bits(s, self.rows, i * BYTES, nth);
                for j in 0..F::SHARING {
                    let group = F::group(nth, j);
                    // A few lines at a time: a processor drops prefetches that it has no fill buffers for.
                    for line in (0..PANEL_ROWS * BYTES / GROUPS).step_by(CACHE_LINE) {
                        prefetch(ahead + (i * GROUPS + group) * (PANEL_ROWS * BYTES / GROUPS) + line);
                    }
                    let parts = F::factors(s, &header, group).parts;
                    let codes = prepare_codes::<S, F::Operation>(s, F::codes(s, &bits, group));
                    for (sums, x) in groups.iter_mut().zip(x) {
                        sums[group] = group_sum::<S, F::Operation>(s, codes, &x[i][group], parts);
                    }
                }
            }
            for group in 0..GROUPS {
                let factors = F::factors(s, &header, group);
                for ((sum, groups), x) in sums.iter_mut().zip(&groups).zip(x) {
                    *sum = add_group::<S, F::Operation>(s, *sum, groups[group], &x[i][group], &factors);
                }
            }
        }
        let mut values = [[0.0; PANEL_ROWS]; R];
        for (values, sum) in values.iter_mut().zip(sums) {
            *values = s.array16(sum);
        }
        values
    }
}

/// `Σ (code − bias)·part·x` of a group, for each row.
#[inline(always)]
fn group_sum<S: Simd, O: Operation>(s: S, codes: [S::W; 8], x: &Int8Block, parts: [S::W; 2]) -> S::W {
    // Two independent sums, so that additions do not wait for each other.
    let mut halves = [s.splat_int16(x.initial_sums[0]), s.splat_int16(x.initial_sums[1])];
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
