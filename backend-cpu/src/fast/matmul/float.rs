//! Weights as floats and activations as they are: every output is a sum in eight lanes.

use std::cell::RefCell;
use std::marker::PhantomData;

use kernels::DType;

use super::super::blocks::decode_by_vectors;
use super::super::simd::{Kernel, Simd, WIDTH};
use super::{Product, put};

/// Weight formats that are multiplied as they lie in memory.
pub trait Stored {
    /// Bytes of eight weights.
    const BYTES: usize;

    /// Eight weights; `bytes` has [`Stored::BYTES`].
    fn eight<S: Simd>(s: S, bytes: &[u8]) -> S::F;
}

/// f32.
pub struct Single;

impl Stored for Single {
    const BYTES: usize = 32;

    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8]) -> S::F {
        s.load_bytes(bytes.first_chunk().unwrap_or(&[0; 32]))
    }
}

/// f16.
pub struct Half;

impl Stored for Half {
    const BYTES: usize = 16;

    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8]) -> S::F {
        s.halves(bytemuck::must_cast::<[u8; 16], _>(*bytes.first_chunk().unwrap_or(&[0; 16])))
    }
}

/// bf16.
pub struct BrainHalf;

impl Stored for BrainHalf {
    const BYTES: usize = 16;

    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8]) -> S::F {
        s.brain_halves(bytemuck::must_cast::<[u8; 16], _>(*bytes.first_chunk().unwrap_or(&[0; 16])))
    }
}

/// Products of `R` rows of activations with `C` rows of weights.
pub struct Dots<'a, W, const R: usize, const C: usize> {
    /// The activations.
    pub x: [&'a [f32]; R],
    /// The weights, in bytes, as many as activations.
    pub weights: [&'a [u8]; C],
    /// How they are stored.
    pub stored: PhantomData<W>,
}

impl<W: Stored, const R: usize, const C: usize> Kernel for Dots<'_, W, R, C> {
    type Output = [[f32; C]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [[f32; C]; R] {
        let full = self.x[0].len() / WIDTH;
        let x = self.x.map(|x| &x.as_chunks::<WIDTH>().0[..full]);
        let weights = self.weights.map(|weights| &weights[..full * W::BYTES]);
        let mut sums = [[s.splat(0.0); C]; R];
        for i in 0..full {
            let mut eights = [s.splat(0.0); C];
            for (eight, weights) in eights.iter_mut().zip(weights) {
                *eight = W::eight(s, &weights[i * W::BYTES..(i + 1) * W::BYTES]);
            }
            for (sums, x) in sums.iter_mut().zip(x) {
                add_products(s, sums, s.load(&x[i]), eights);
            }
        }
        let tail = self.x[0].len() % WIDTH;
        if tail > 0 {
            let mut eights = [s.splat(0.0); C];
            for (eight, weights) in eights.iter_mut().zip(self.weights) {
                let mut padded = [0; 32];
                let rest = &weights[full * W::BYTES..];
                padded[..rest.len()].copy_from_slice(rest);
                *eight = W::eight(s, &padded[..W::BYTES]);
            }
            for (sums, x) in sums.iter_mut().zip(self.x) {
                let mut padded = [0.0; WIDTH];
                padded[..tail].copy_from_slice(&x[full * WIDTH..]);
                add_products(s, sums, s.load(&padded), eights);
            }
        }
        let mut values = [[0.0; C]; R];
        for (value, sum) in values.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
            *value = s.total(*sum);
        }
        values
    }
}

/// Adds to the sums of a row of activations.
#[inline(always)]
fn add_products<S: Simd, const C: usize>(s: S, sums: &mut [S::F; C], x: S::F, weights: [S::F; C]) {
    for (sum, weights) in sums.iter_mut().zip(weights) {
        *sum = s.mul_add(x, weights, *sum);
    }
}

/// Rows of activations from which on it pays to decode the weights first.
const MANY: usize = 3;

/// Rows of activations of a tile.
const TILE_ROWS: usize = 3;

/// Rows of weights of a tile.
const TILE_COLUMNS: usize = 4;

/// Rows of weights that are multiplied side by side with one row of activations.
const SIDE_BY_SIDE: usize = 8;

/// Rows of weights that are decoded at a time: they stay near while the activations pass by.
const DECODED: usize = 16;

thread_local! {
    /// Rows of weights that this thread has decoded, one after the other.
    static WEIGHTS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// Fills `out` with the product of activations and weights that are stored as `W`.
pub fn stored<W: Stored>(product: &Product<'_>, out: Vec<&mut [u8]>) {
    if product.m >= MANY {
        return decoded(product, out);
    }
    product.spread(out, SIDE_BY_SIDE, |first, tile| {
        let columns = tile.first().map_or(0, |part| part.len());
        let mut scratch = Vec::new();
        for column in (0..columns).step_by(SIDE_BY_SIDE) {
            let weights = product.weights::<SIDE_BY_SIDE>(first + column);
            for (row, part) in tile.iter_mut().enumerate() {
                let x = [product.x.read(row, &mut scratch)];
                let [values] = product.threads.compute(Dots { x, weights, stored: PhantomData::<W> });
                put(part, column, &values);
            }
        }
    });
}

/// Fills `out` with the product of activations and weights, which are decoded to f32 first.
pub fn decoded(product: &Product<'_>, out: Vec<&mut [u8]>) {
    let k = product.k;
    product.spread(out, DECODED, |first, tile| {
        let columns = tile.first().map_or(0, |part| part.len());
        WEIGHTS.with_borrow_mut(|weights| {
            for column in (0..columns).step_by(DECODED) {
                let here = DECODED.min(columns - column);
                weights.resize(DECODED * k, 0.0);
                for (row, to) in
                    (first + column..first + column + here).zip(weights.chunks_exact_mut(k.max(1)))
                {
                    let weight = product.weight;
                    product.threads.compute(Decode { dtype: weight.dtype(), bytes: weight.bytes(row), to });
                }
                let mut tile: Vec<_> = tile.iter_mut().map(|part| &mut part[column..column + here]).collect();
                multiply(product, weights, &mut tile);
            }
        });
    });
}

/// Fills a tile, given the rows of weights of its columns.
fn multiply(product: &Product<'_>, weights: &[f32], tile: &mut [&mut [f32]]) {
    let k = product.k;
    let last = tile.len() - 1;
    let mut scratch = [const { Vec::new() }; TILE_ROWS];
    for row in (0..tile.len()).step_by(TILE_ROWS) {
        let mut rows = (row..).map(|row| row.min(last));
        let x = scratch.each_mut().map(|scratch| product.x.read(rows.next().unwrap_or(last), scratch));
        let columns = tile[row].len();
        for column in (0..columns).step_by(TILE_COLUMNS) {
            let at = |c: usize| (column + c).min(columns - 1) * k;
            let weights: [_; TILE_COLUMNS] =
                std::array::from_fn(|c| bytemuck::cast_slice(&weights[at(c)..at(c) + k]));
            let values = product.threads.compute(Dots { x, weights, stored: PhantomData::<Single> });
            for (part, values) in tile[row..].iter_mut().zip(&values) {
                put(part, column, values);
            }
        }
    }
}

/// Decodes a row of weights.
struct Decode<'a> {
    dtype: DType,
    bytes: &'a [u8],
    to: &'a mut [f32],
}

impl Kernel for Decode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        decode_by_vectors(s, self.dtype, self.bytes, self.to);
    }
}
