//! Products with f32 activations: every output is a sum in eight lanes.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::super::blocks::decode_row_simd;
use super::super::f32_panel::{F32Panel, TILE_ROWS};
use super::super::prefetch::PrefetchPlan;
use super::super::rows::{pad_with_last, read_rows, store_clipped};
use super::super::simd::{CACHE_LINE, Kernel, PANEL_ROWS, RowPanel, Simd, WIDTH, prefetch};
use super::column_tiles::ColumnTile;
use super::product::{Plan, Product};

/// Weight formats that are multiplied directly from memory, eight in `BYTES` bytes.
pub trait FloatFormat<const BYTES: usize> {
    /// Eight weights.
    fn eight<S: Simd>(s: S, bytes: &[u8; BYTES]) -> S::F;
}

/// f32.
pub struct F32;

impl FloatFormat<32> for F32 {
    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8; 32]) -> S::F {
        s.load_bytes(bytes)
    }
}

/// f16.
pub struct F16;

impl FloatFormat<16> for F16 {
    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8; 16]) -> S::F {
        s.f16_to_f32(bytemuck::must_cast(*bytes))
    }
}

/// bf16.
pub struct Bf16;

impl FloatFormat<16> for Bf16 {
    #[inline(always)]
    fn eight<S: Simd>(s: S, bytes: &[u8; 16]) -> S::F {
        s.bf16_to_f32(bytemuck::must_cast(*bytes))
    }
}

/// Products of `R` rows of activations with `C` rows of weights.
pub struct Dots<'a, W, const BYTES: usize, const R: usize, const C: usize> {
    x: [&'a [f32]; R],
    weights: [&'a [u8]; C],
    /// What to prefetch meanwhile, if the weights come from memory.
    prefetch: Option<PrefetchPlan>,
    format: PhantomData<W>,
}

impl<'a, W, const BYTES: usize, const R: usize, const C: usize> Dots<'a, W, BYTES, R, C> {
    /// All rows are of one length.
    pub fn new(x: [&'a [f32]; R], weights: [&'a [u8]; C], prefetch: Option<PrefetchPlan>) -> Self {
        Dots { x, weights, prefetch, format: PhantomData }
    }
}

impl<W: FloatFormat<BYTES>, const BYTES: usize, const R: usize, const C: usize> Kernel
    for Dots<'_, W, BYTES, R, C>
{
    type Output = [[f32; C]; R];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [[f32; C]; R] {
        let full = self.x[0].len() / WIDTH;
        let x = self.x.map(|x| &x.as_chunks::<WIDTH>().0[..full]);
        let weights = self.weights.map(|weights| &weights.as_chunks::<BYTES>().0[..full]);
        let ahead = self.prefetch.map(|plan| plan.address(self.weights[0].as_ptr()));
        let mut sums = [[s.splat(0.0); C]; R];
        for i in 0..full {
            if let Some(ahead) = ahead {
                for line in (0..C * BYTES).step_by(CACHE_LINE) {
                    prefetch(ahead + i * C * BYTES + line);
                }
            }
            let mut eights = [s.splat(0.0); R];
            for (eight, x) in eights.iter_mut().zip(x) {
                *eight = s.load(&x[i]);
            }
            for (c, weights) in weights.into_iter().enumerate() {
                add_products(s, &mut sums, c, eights, W::eight(s, &weights[i]));
            }
        }
        let tail = self.x[0].len() % WIDTH;
        if tail > 0 {
            let mut eights = [s.splat(0.0); R];
            for (eight, x) in eights.iter_mut().zip(self.x) {
                let mut padded = [0.0; WIDTH];
                padded[..tail].copy_from_slice(&x[full * WIDTH..]);
                *eight = s.load(&padded);
            }
            for (c, weights) in self.weights.into_iter().enumerate() {
                let mut padded = [0; BYTES];
                let rest = &weights[full * BYTES..];
                padded[..rest.len()].copy_from_slice(rest);
                add_products(s, &mut sums, c, eights, W::eight(s, &padded));
            }
        }
        let mut values = [[0.0; C]; R];
        let (eights, rest) = sums.as_flattened().as_chunks::<8>();
        let (to_eights, to_rest) = values.as_flattened_mut().as_chunks_mut::<8>();
        for (values, sums) in to_eights.iter_mut().zip(eights) {
            *values = s.array(s.reduce_add_rows(*sums));
        }
        for (value, sum) in to_rest.iter_mut().zip(rest) {
            *value = s.reduce_add(*sum);
        }
        values
    }
}

/// Adds `x·weights` to the sums of column `c`.
#[inline(always)]
fn add_products<S: Simd, const R: usize, const C: usize>(
    s: S,
    sums: &mut [[S::F; C]; R],
    c: usize,
    x: [S::F; R],
    weights: S::F,
) {
    for (sums, x) in sums.iter_mut().zip(x) {
        sums[c] = s.mul_add(x, weights, sums[c]);
    }
}

/// Rows of activations from which on it pays to decode the weights first (GEMM rather than GEMV).
const GEMM_ROWS: usize = 3;

/// Output columns, hence rows of weights, that are computed together for one row of activations.
const GEMV_COLUMNS: usize = 8;

/// Panels of weights that are decoded at a time, before all activations are multiplied with them.
const PANELS: usize = 2;

thread_local! {
    /// Weights that this thread has decoded. They stay in cache while the activations are multiplied with them.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// The product of activations and weights of format `W`.
pub fn direct<'a, W: FloatFormat<BYTES>, const BYTES: usize>(product: &'a Product<'a>) -> Plan<'a> {
    if product.m >= GEMM_ROWS {
        return decoded(product);
    }
    let compute = |tile: &mut ColumnTile<'_>| {
        let prefetch = product.prefetch_plan(tile);
        product.threads.compute(DirectTask::<W, BYTES> { product, tile, prefetch, format: PhantomData });
    };
    Plan { column_multiple: GEMV_COLUMNS, compute: Box::new(compute) }
}

/// Computes a tile directly from the weights in memory.
struct DirectTask<'a, 'b, 'c, W, const BYTES: usize> {
    product: &'a Product<'a>,
    tile: &'b mut ColumnTile<'c>,
    prefetch: PrefetchPlan,
    format: PhantomData<W>,
}

impl<W: FloatFormat<BYTES>, const BYTES: usize> Kernel for DirectTask<'_, '_, '_, W, BYTES> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let DirectTask { product, tile, prefetch, .. } = self;
        let columns = tile.columns();
        let ColumnTile { first, rows: out, .. } = tile;
        let mut scratch = Vec::new();
        let x = read_rows(&product.x, out.len(), &mut scratch);
        let rows = product.weight.starting_at(*first);
        for column in (0..columns).step_by(GEMV_COLUMNS) {
            // Beyond the last row, the last row again.
            let weights = std::array::from_fn(|c| rows.bytes((column + c).min(columns - 1)));
            for (x, out) in x.iter().zip(out.iter_mut()) {
                let [values] = Dots::<W, BYTES, 1, GEMV_COLUMNS>::new([x], weights, Some(prefetch)).run(s);
                store_clipped(out, column, &values);
            }
        }
    }
}

/// The product of activations and weights of any format. The weights are decoded to f32 first, a panel at a time.
pub fn decoded<'a>(product: &'a Product<'a>) -> Plan<'a> {
    let compute = move |tile: &mut ColumnTile<'_>| {
        SCRATCH.with_borrow_mut(|scratch| product.threads.compute(DecodedTask { product, tile, scratch }));
    };
    Plan { column_multiple: PANEL_ROWS * PANELS, compute: Box::new(compute) }
}

/// Memory of a task, reused by its thread.
#[derive(Default)]
struct Scratch {
    /// [`PANEL_ROWS`] decoded rows of weights, `[rows, k]`.
    rows: Vec<f32>,
    /// The same, packed.
    panels: [F32Panel; PANELS],
    /// Decoded activations.
    x: Vec<f32>,
}

/// Computes a tile from decoded weights.
struct DecodedTask<'a, 'b, 'c> {
    product: &'a Product<'a>,
    tile: &'b mut ColumnTile<'c>,
    scratch: &'b mut Scratch,
}

impl Kernel for DecodedTask<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let DecodedTask { product: &Product { x, weight, k, .. }, tile, scratch } = self;
        let columns = tile.columns();
        let ColumnTile { first, rows: out, .. } = tile;
        let Scratch { rows, panels, x: memory } = scratch;
        let x = read_rows(&x, out.len(), memory);
        rows.resize(PANEL_ROWS * k, 0.0);
        for column in (0..columns).step_by(PANEL_ROWS) {
            let here = PANEL_ROWS.min(columns - column);
            for (c, to) in (column..column + here).zip(rows.chunks_exact_mut(k.max(1))) {
                decode_row_simd(s, weight.dtype(), weight.bytes(*first + c), to);
            }
            if out.len() < GEMM_ROWS {
                multiply::<S, 1, GEMV_COLUMNS>(s, &x, rows, column, here, out);
            } else if S::MANY_REGISTERS {
                let rows =
                    RowPanel::new(bytemuck::cast_slice(rows), 4 * k, 4 * k).expect("resized to a panel");
                let nth = column / PANEL_ROWS % PANELS;
                panels[nth].pack(s, rows);
                if nth + 1 == PANELS || column + PANEL_ROWS >= columns {
                    multiply_panels(s, &x, &panels[..=nth], column - nth * PANEL_ROWS, out);
                }
            } else {
                multiply::<S, 3, 4>(s, &x, rows, column, here, out);
            }
        }
    }
}

/// Multiplies all rows of activations with `here` rows of weights, in register tiles of `R` by `C`.
#[inline(always)]
fn multiply<S: Simd, const R: usize, const C: usize>(
    s: S,
    x: &[&[f32]],
    weights: &[f32],
    column: usize,
    here: usize,
    out: &mut [&mut [f32]],
) {
    let k = weights.len() / PANEL_ROWS;
    for (x, out) in x.chunks(R).zip(out.chunks_mut(R)) {
        let x = pad_with_last::<_, R>(x);
        for first in (0..here).step_by(C) {
            let weights =
                std::array::from_fn(|c| bytemuck::cast_slice(&weights[(first + c).min(here - 1) * k..][..k]));
            let values = s.run(Dots::<F32, 32, R, C>::new(x, weights, None));
            for (out, values) in out.iter_mut().zip(&values) {
                store_clipped(&mut out[..column + here], column + first, values);
            }
        }
    }
}

/// Multiplies all rows of activations with packed panels.
#[inline(always)]
fn multiply_panels<S: Simd>(s: S, x: &[&[f32]], panels: &[F32Panel], column: usize, out: &mut [&mut [f32]]) {
    for (x, out) in x.chunks(TILE_ROWS).zip(out.chunks_mut(TILE_ROWS)) {
        let x = pad_with_last::<_, TILE_ROWS>(x);
        for (p, panel) in panels.iter().enumerate() {
            let values = panel.multiply(s, x);
            for (out, values) in out.iter_mut().zip(&values) {
                store_clipped(out, column + p * PANEL_ROWS, values);
            }
        }
    }
}
