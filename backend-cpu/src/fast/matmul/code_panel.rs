//! Panels of unpacked weights, for many rows of activations.

use std::marker::PhantomData;

use super::super::simd::{Kernel, PANEL_ROWS, RowPanel, Simd};
use super::format::{Factors, Format};
use super::group::prepare_codes;
use super::operation::{Offsets, Operation};

/// [`PANEL_ROWS`] rows of weights, one byte per code. Each vector has an entry for each group, or none if the format has no such factor.
#[derive(Default)]
pub struct CodePanel {
    /// For each quad (four consecutive weights), the codes of all rows.
    codes: Vec<[[u8; 4 * PANEL_ROWS]; 8]>,
    scales: Vec<[f32; PANEL_ROWS]>,
    parts: Vec<[[i32; PANEL_ROWS]; 2]>,
    offsets: Vec<[f32; PANEL_ROWS]>,
    minimums: Vec<[[i32; PANEL_ROWS]; 2]>,
}

impl CodePanel {
    /// Codes of group `i`.
    #[inline(always)]
    pub fn codes(&self, i: usize) -> &[[u8; 4 * PANEL_ROWS]; 8] {
        &self.codes[i]
    }

    /// Factors of group `i`.
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

/// Unpacks a row panel of weights of format `F` into `to`.
pub struct Unpack<'a, F, const BYTES: usize, const GROUPS: usize> {
    pub rows: RowPanel<'a>,
    pub to: &'a mut CodePanel,
    pub format: PhantomData<F>,
}

impl<F, const BYTES: usize, const GROUPS: usize> Kernel for Unpack<'_, F, BYTES, GROUPS>
where
    F: Format<BYTES, GROUPS>,
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        self.to.clear();
        for at in (0..self.rows.len()).step_by(BYTES) {
            let header = F::header(s, self.rows, at);
            let mut groups = [[[0; 4 * PANEL_ROWS]; 8]; GROUPS];
            for nth in 0..GROUPS / F::SHARING {
                let bits = F::bits(s, self.rows, at, nth);
                for i in 0..F::SHARING {
                    let group = F::group(nth, i);
                    let codes = prepare_codes::<S, F::Operation>(s, F::codes(s, &bits, group));
                    for (bytes, codes) in groups[group].iter_mut().zip(codes) {
                        *bytes = s.byte_array16(codes);
                    }
                }
            }
            self.to.codes.extend_from_slice(&groups);
            for group in 0..GROUPS {
                self.to.push_factors::<S, F::Operation>(s, &F::factors(s, &header, group));
            }
        }
    }
}
