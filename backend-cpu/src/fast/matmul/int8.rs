//! Products of quantised weights with 8-bit activations.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::super::int8_block::Int8Block;
use super::super::prefetch::PrefetchPlan;
use super::super::rows::{pad_with_last, store_clipped};
use super::super::simd::{Kernel, PANEL_ROWS, RowPanel, Simd};
use super::activation_cache::ActivationCache;
use super::code_panel::{CodePanel, Unpack};
use super::column_tiles::ColumnTile;
use super::format::Format;
use super::gemv::Gemv;
use super::micro_kernel::MicroKernel;
use super::operation::Operation;
use super::product::{Plan, Product};
use super::quantized_activations::QuantizedActivations;

/// Rows of activations up to which the packed weights are multiplied directly. With more, it pays to unpack them first.
const GEMV_ROWS: usize = 4;

/// Panels of weights that are unpacked at a time.
const PANELS: usize = 2;

thread_local! {
    /// The panels that this thread unpacks weights to.
    static PANELS_OF_THREAD: RefCell<[CodePanel; PANELS]> = RefCell::default();
}

/// The product of quantised activations and weights of format `F`.
pub fn quantized<'a, F: Format<BYTES, GROUPS>, const BYTES: usize, const GROUPS: usize>(
    product: &'a Product<'a>,
    activations: &mut ActivationCache<'a>,
) -> Plan<'a> {
    let x = activations.quantized::<F::Operation>(product);
    if product.m <= GEMV_ROWS {
        let compute = move |tile: &mut ColumnTile<'_>| {
            let prefetch = product.prefetch_plan(tile);
            let kernel = GemvTask::<F, BYTES, GROUPS> { product, x: &x, tile, prefetch, format: PhantomData };
            product.threads.compute(kernel);
        };
        return Plan { column_multiple: PANEL_ROWS, compute: Box::new(compute) };
    }
    let compute = move |tile: &mut ColumnTile<'_>| {
        PANELS_OF_THREAD.with_borrow_mut(|panels| {
            let kernel = GemmTask::<F, BYTES, GROUPS> { product, x: &x, tile, panels, format: PhantomData };
            product.threads.compute(kernel);
        });
    };
    Plan { column_multiple: PANEL_ROWS * PANELS, compute: Box::new(compute) }
}

/// Computes a tile directly from the packed weights.
struct GemvTask<'a, 'b, 'c, F, const BYTES: usize, const GROUPS: usize> {
    product: &'a Product<'a>,
    x: &'a QuantizedActivations<'a>,
    tile: &'b mut ColumnTile<'c>,
    prefetch: PrefetchPlan,
    format: PhantomData<F>,
}

impl<F: Format<BYTES, GROUPS>, const BYTES: usize, const GROUPS: usize> Kernel
    for GemvTask<'_, '_, '_, F, BYTES, GROUPS>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let columns = self.tile.columns();
        let ColumnTile { first, rows: out, .. } = self.tile;
        let mut padded = Vec::new();
        for column in (0..columns).step_by(PANEL_ROWS) {
            let rows = self.product.row_panel(*first + column, &mut padded);
            let mut row = 0;
            let (pairs, rest) = out.as_chunks_mut::<2>();
            for rows_out in pairs {
                multiply::<S, F, BYTES, GROUPS, 2>(s, self.x, row, rows, self.prefetch, column, rows_out);
                row += 2;
            }
            for row_out in rest.as_chunks_mut::<1>().0 {
                multiply::<S, F, BYTES, GROUPS, 1>(s, self.x, row, rows, self.prefetch, column, row_out);
                row += 1;
            }
        }
    }
}

/// Stores the products of `R` rows of activations, from `row` on, at `column` of `rows_out`.
#[inline(always)]
fn multiply<S: Simd, F: Format<BYTES, GROUPS>, const BYTES: usize, const GROUPS: usize, const R: usize>(
    s: S,
    x: &QuantizedActivations<'_>,
    row: usize,
    rows: RowPanel<'_>,
    prefetch: PrefetchPlan,
    column: usize,
    rows_out: &mut [&mut [f32]; R],
) {
    let x = std::array::from_fn(|r| x.row(row + r));
    let values = Gemv::<F, BYTES, GROUPS, R> { x, rows, prefetch, format: PhantomData }.run(s);
    for (row_out, values) in rows_out.iter_mut().zip(&values) {
        store_clipped(row_out, column, values);
    }
}

/// Computes a tile from unpacked weights.
struct GemmTask<'a, 'b, 'c, F, const BYTES: usize, const GROUPS: usize> {
    product: &'a Product<'a>,
    x: &'a QuantizedActivations<'a>,
    tile: &'b mut ColumnTile<'c>,
    panels: &'a mut [CodePanel; PANELS],
    format: PhantomData<F>,
}

impl<F: Format<BYTES, GROUPS>, const BYTES: usize, const GROUPS: usize> Kernel
    for GemmTask<'_, '_, '_, F, BYTES, GROUPS>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let columns = self.tile.columns();
        let ColumnTile { first, rows: out, .. } = self.tile;
        let mut padded = Vec::new();
        let x: Vec<_> = (0..out.len()).map(|row| self.x.row(row)).collect();
        for column in (0..columns).step_by(PANEL_ROWS * PANELS) {
            for (p, to) in self.panels.iter_mut().enumerate() {
                let first = (*first + column + p * PANEL_ROWS).min(self.product.n - 1);
                let rows = self.product.row_panel(first, &mut padded);
                s.run(Unpack::<F, BYTES, GROUPS> { rows, to, format: PhantomData });
            }
            let panels = [&self.panels[0], &self.panels[1]];
            if S::MANY_REGISTERS {
                multiply_panels::<S, F::Operation, 6>(s, &x, panels, column, out);
            } else {
                multiply_panels::<S, F::Operation, 2>(s, &x, panels, column, out);
            }
        }
    }
}

/// Multiplies all rows of activations with the panels, `R` rows in a register tile.
#[inline(always)]
fn multiply_panels<S: Simd, O: Operation, const R: usize>(
    s: S,
    x: &[&[Int8Block]],
    panels: [&CodePanel; PANELS],
    column: usize,
    out: &mut [&mut [f32]],
) {
    for (x, rows_out) in x.chunks(R).zip(out.chunks_mut(R)) {
        let x = pad_with_last::<_, R>(x);
        if S::MANY_REGISTERS {
            let values = s.run(MicroKernel::<O, R, PANELS> { x, panels, operation: PhantomData });
            for (row_out, values) in rows_out.iter_mut().zip(&values) {
                for (p, values) in values.iter().enumerate() {
                    store_clipped(row_out, column + p * PANEL_ROWS, values);
                }
            }
        } else {
            for (p, panel) in panels.into_iter().enumerate() {
                let values = s.run(MicroKernel::<O, R, 1> { x, panels: [panel], operation: PhantomData });
                for (row_out, values) in rows_out.iter_mut().zip(&values) {
                    store_clipped(row_out, column + p * PANEL_ROWS, &values[0]);
                }
            }
        }
    }
}
