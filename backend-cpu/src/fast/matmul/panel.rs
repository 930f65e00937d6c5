//! Weights unpacked for many rows of activations: eight rows side by side, their codes widened to i16.

use std::marker::PhantomData;

use super::super::simd::{Kernel, Simd, eight};
use super::format::{Codes, Format, Pairs, ROWS};

/// [`ROWS`] rows of weights, unpacked.
#[derive(Default)]
pub struct Panel {
    /// Runs of the rows.
    pub runs: Vec<Run>,
}

/// A run of 32 weights of each row.
#[derive(Clone, Copy)]
pub struct Run {
    /// `(code − bias)·part`: for each two neighbouring weights, those of all rows.
    pub weights: [[i16; 2 * ROWS]; 16],
    /// Factor on the weights, for each row.
    pub scale: [f32; ROWS],
    /// Integers to be added for each half of the run.
    pub minimums: Pairs,
    /// Factor on these.
    pub offset: [f32; ROWS],
}

/// Unpacks [`ROWS`] rows of weights of format `F` into `to`.
pub struct Unpack<'a, F, const BYTES: usize, const RUNS: usize> {
    rows: [&'a [u8]; ROWS],
    to: &'a mut Panel,
    format: PhantomData<F>,
}

impl<'a, F, const BYTES: usize, const RUNS: usize> Unpack<'a, F, BYTES, RUNS> {
    /// The rows are of one length.
    pub fn new(rows: [&'a [u8]; ROWS], to: &'a mut Panel) -> Self {
        Unpack { rows, to, format: PhantomData }
    }
}

impl<F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize> Kernel for Unpack<'_, F, BYTES, RUNS> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let rows = eight!(r => self.rows[r].as_chunks::<BYTES>().0);
        self.to.runs.clear();
        for (i, first) in rows[0].iter().enumerate() {
            let blocks = eight!(r => if r == 0 { first } else { &rows[r][i] });
            for (run, factors) in F::factors(s, blocks).iter().enumerate() {
                let mut unpacked = Run {
                    weights: [[0; 2 * ROWS]; 16],
                    scale: s.array(factors.scale),
                    minimums: factors.minimums,
                    offset: s.array(factors.offset),
                };
                let wide = widened::<F, S, BYTES, RUNS>(s, blocks, run, &factors.parts);
                for (half, columns) in wide.into_iter().zip(unpacked.weights.as_chunks_mut::<8>().0) {
                    for (column, to) in s.transpose(half).into_iter().zip(columns) {
                        *to = s.short_array(column);
                    }
                }
                self.to.runs.push(unpacked);
            }
        }
    }
}

/// `(code − bias)·part` of a run, each half of it row by row.
#[inline(always)]
fn widened<F: Format<BYTES, RUNS>, S: Simd, const BYTES: usize, const RUNS: usize>(
    s: S,
    blocks: [&[u8; BYTES]; ROWS],
    run: usize,
    parts: &Pairs,
) -> [[S::I; ROWS]; 2] {
    let mut wide = [[s.splat_int(0); ROWS]; 2];
    for (row, block) in blocks.into_iter().enumerate() {
        let codes = F::codes(s, block, run);
        let halves = match F::CODES {
            Codes::Signed => s.widen_signed(codes),
            Codes::Unsigned => s.widen_unsigned(codes),
            Codes::Biased(power) => {
                let bias = s.splat_halves(1 << power, 1 << power);
                let [low, high] = s.widen_unsigned(codes);
                [s.sub_shorts(low, bias), s.sub_shorts(high, bias)]
            }
        };
        for (half, codes) in halves.into_iter().enumerate() {
            let part = parts[row][half];
            wide[half][row] = if F::PARTS { s.mul_shorts(codes, s.splat_halves(part, part)) } else { codes };
        }
    }
    wide
}
