//! Few rows of activations: the packed weights are multiplied as they stream by, eight rows at a time.

use std::marker::PhantomData;

use super::super::simd::{Kernel, Simd, eight};
use super::activations::Block;
use super::format::{Codes, Factors, Format, ROWS};
use super::{AHEAD, LINE};

/// Products of one row of activations with [`ROWS`] rows of weights of format `F`.
pub struct Products<'a, F, const BYTES: usize, const RUNS: usize> {
    x: &'a [Block],
    rows: [&'a [u8]; ROWS],
    format: PhantomData<F>,
}

impl<'a, F, const BYTES: usize, const RUNS: usize> Products<'a, F, BYTES, RUNS> {
    /// `x` and the rows of weights are of one length.
    pub fn new(x: &'a [Block], rows: [&'a [u8]; ROWS]) -> Self {
        Products { x, rows, format: PhantomData }
    }
}

impl<F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize> Kernel for Products<'_, F, BYTES, RUNS> {
    type Output = [f32; ROWS];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [f32; ROWS] {
        let x = self.x.as_chunks::<RUNS>().0;
        let rows = eight!(r => &self.rows[r].as_chunks::<BYTES>().0[..x.len()]);
        let mut sum = s.splat(0.0);
        for (i, x) in x.iter().enumerate() {
            let blocks = eight!(r => &rows[r][i]);
            for line in (0..ROWS * BYTES).step_by(LINE) {
                s.prefetch(self.rows[0], AHEAD + i * ROWS * BYTES + line);
            }
            let factors = F::factors(s, blocks);
            for (run, (x, factors)) in x.iter().zip(&factors).enumerate() {
                let codes = eight!(r => F::codes(s, blocks[r], run));
                sum = add_run(
                    s,
                    sum,
                    integers::<F, S, BYTES, RUNS>(s, codes, x, factors),
                    x,
                    factors,
                    F::OFFSETS,
                );
            }
        }
        s.array(sum)
    }
}

/// Adds to `sum` the products of a run of activations with one of weights: `products` is the sum of what belongs to the scale.
///
/// The one sequence of roundings that an output is made by, run after run, however its integers came about.
#[inline(always)]
pub fn add_run<S: Simd>(
    s: S,
    sum: S::F,
    products: S::I,
    x: &Block,
    factors: &Factors<S>,
    offsets: bool,
) -> S::F {
    let x_scale = s.splat(x.scale);
    let sum = s.add(sum, s.mul(s.floats(products), s.mul(factors.scale, x_scale)));
    if !offsets {
        return sum;
    }
    let minimums = s.dot_shorts(pairs(s, &factors.minimums), sums(s, x));
    s.add(sum, s.mul(s.floats(minimums), s.mul(factors.offset, x_scale)))
}

/// `Σ (code − bias)·part·x` of a run, for each row.
#[inline(always)]
fn integers<F: Format<BYTES, RUNS>, S: Simd, const BYTES: usize, const RUNS: usize>(
    s: S,
    codes: [S::I; ROWS],
    x: &Block,
    factors: &Factors<S>,
) -> S::I {
    let values = s.bytes(&x.bytes);
    let ones = s.splat_halves(1, 1);
    let products = eight!(r => {
        let neighbours = match F::CODES {
            Codes::Signed => s.dot_signed(codes[r], values),
            Codes::Unsigned | Codes::Biased(_) => s.dot_unsigned(codes[r], values),
        };
        let [low, high] = factors.parts[r];
        s.dot_shorts(neighbours, if F::PARTS { s.splat_halves(low, high) } else { ones })
    });
    let sum = s.sums(products);
    match F::CODES {
        Codes::Signed | Codes::Unsigned => sum,
        Codes::Biased(power) => {
            let excess = s.dot_shorts(pairs(s, &factors.parts), sums(s, x));
            s.sub_ints(sum, s.shift_ints(excess, power))
        }
    }
}

/// The pairs of all rows as a vector.
#[inline(always)]
pub fn pairs<S: Simd>(s: S, pairs: &super::format::Pairs) -> S::I {
    s.shorts(&bytemuck::must_cast(*pairs))
}

/// The sums of both halves of a block, for every row.
#[inline(always)]
fn sums<S: Simd>(s: S, x: &Block) -> S::I {
    s.splat_int(bytemuck::must_cast(x.sums))
}
