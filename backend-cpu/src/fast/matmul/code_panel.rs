//! Weights unpacked for many rows of activations: sixteen rows side by side.

use std::marker::PhantomData;

use super::super::simd::{Kernel, Rows16, Simd};
use super::format::{Factors, Format, Offsets, ROWS};
use super::group::{Operation, prepared};

/// [`ROWS`] rows of weights, unpacked. Each list has an entry for each run of 32 weights, or none where the format has no such thing.
#[derive(Default)]
pub struct Panel {
    /// For each four neighbouring weights, the codes of all rows.
    codes: Vec<[[u8; 4 * ROWS]; 8]>,
    scales: Vec<[f32; ROWS]>,
    parts: Vec<[[i32; ROWS]; 2]>,
    offsets: Vec<[f32; ROWS]>,
    minimums: Vec<[[i32; ROWS]; 2]>,
}

impl Panel {
    /// Codes of run `i`.
    #[inline(always)]
    pub fn codes(&self, i: usize) -> &[[u8; 4 * ROWS]; 8] {
        &self.codes[i]
    }

    /// Factors of run `i`.
    #[inline(always)]
    pub fn factors<S: Simd, O: Operation>(&self, s: S, i: usize) -> Factors<S> {
        let mut factors = Factors::plain(s, s.load16(&self.scales[i]));
        if O::PARTS {
            let [low, high] = &self.parts[i];
            factors.parts = [s.ints16(low), s.ints16(high)];
        }
        if O::OFFSETS != Offsets::None {
            factors.offset = s.load16(&self.offsets[i]);
        }
        if O::OFFSETS == Offsets::Halves {
            let [low, high] = &self.minimums[i];
            factors.minimums = [s.ints16(low), s.ints16(high)];
        }
        factors
    }

    fn clear(&mut self) {
        self.codes.clear();
        self.scales.clear();
        self.parts.clear();
        self.offsets.clear();
        self.minimums.clear();
    }

    #[inline(always)]
    fn push_factors<S: Simd, O: Operation>(&mut self, s: S, factors: &Factors<S>) {
        self.scales.push(s.array16(factors.scale));
        if O::PARTS {
            self.parts.push([s.int_array16(factors.parts[0]), s.int_array16(factors.parts[1])]);
        }
        if O::OFFSETS != Offsets::None {
            self.offsets.push(s.array16(factors.offset));
        }
        if O::OFFSETS == Offsets::Halves {
            self.minimums.push([s.int_array16(factors.minimums[0]), s.int_array16(factors.minimums[1])]);
        }
    }
}

/// Unpacks [`ROWS`] rows of weights of format `F` into `to`.
pub struct Unpack<'a, F, const BYTES: usize, const RUNS: usize> {
    pub rows: Rows16<'a>,
    pub to: &'a mut Panel,
    pub format: PhantomData<F>,
}

impl<F, const BYTES: usize, const RUNS: usize> Kernel for Unpack<'_, F, BYTES, RUNS>
where
    F: Format<BYTES, RUNS>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        self.to.clear();
        for at in (0..self.rows.len()).step_by(BYTES) {
            let header = F::header(s, self.rows, at);
            let mut runs = [[[0; 4 * ROWS]; 8]; RUNS];
            for nth in 0..RUNS / F::SHARING {
                let bits = F::bits(s, self.rows, at, nth);
                for i in 0..F::SHARING {
                    let run = F::run(nth, i);
                    let codes = prepared::<S, F::Operation>(s, F::codes(s, &bits, run));
                    for (bytes, codes) in runs[run].iter_mut().zip(codes) {
                        *bytes = s.byte_array16(codes);
                    }
                }
            }
            self.to.codes.extend_from_slice(&runs);
            for run in 0..RUNS {
                self.to.push_factors::<S, F::Operation>(s, &F::factors(s, &header, run));
            }
        }
    }
}
