//! Products of quantised weights with 8-bit activations, dealt out.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::super::prefetch::Way;
use super::super::rows::{filled_up, put};
use super::super::simd::{Kernel, Rows16, Simd};
use super::activation_cache::Shelf;
use super::code_panel::{Panel, Unpack};
use super::column_tiles::Piece;
use super::format::{Format, ROWS};
use super::gemv::Products;
use super::group::Operation;
use super::micro_kernel::Tile;
use super::quantized_activations::{Block, Rounded};
use super::{FEW, Plan, Product};

/// Panels of weights that are unpacked at a time.
const PANELS: usize = 2;

thread_local! {
    /// What this thread unpacks weights to.
    static UNPACKED: RefCell<[Panel; PANELS]> = RefCell::default();
}

/// The product of activations, rounded, and weights of format `F`.
pub fn packed<'a, F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize>(
    product: &'a Product<'a>,
    shelf: &mut Shelf<'a>,
) -> Plan<'a> {
    let x = shelf.rounded::<F::Operation>(product);
    if product.m <= FEW {
        let fill = move |piece: &mut Piece<'_>| {
            let way = product.way(piece);
            let kernel = Few::<F, BYTES, RUNS> { product, x: &x, piece, way, format: PhantomData };
            product.threads.compute(kernel);
        };
        return Plan { unit: ROWS, fill: Box::new(fill) };
    }
    let fill = move |piece: &mut Piece<'_>| {
        UNPACKED.with_borrow_mut(|panels| {
            let kernel = Many::<F, BYTES, RUNS> { product, x: &x, piece, panels, format: PhantomData };
            product.threads.compute(kernel);
        });
    };
    Plan { unit: ROWS * PANELS, fill: Box::new(fill) }
}

/// Fills columns from `first` on, straight from the packed weights.
struct Few<'a, 'b, 'c, F, const BYTES: usize, const RUNS: usize> {
    product: &'a Product<'a>,
    x: &'a Rounded<'a>,
    piece: &'b mut Piece<'c>,
    way: Way,
    format: PhantomData<F>,
}

impl<F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize> Kernel
    for Few<'_, '_, '_, F, BYTES, RUNS>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Piece { first, tile, .. } = self.piece;
        let columns = tile.first().map_or(0, |part| part.len());
        let mut padded = Vec::new();
        for column in (0..columns).step_by(ROWS) {
            let Some(rows) = self.product.sixteen(*first + column, &mut padded) else { return };
            let mut row = 0;
            let (pairs, rest) = tile.as_chunks_mut::<2>();
            for parts in pairs {
                multiply::<S, F, BYTES, RUNS, 2>(s, self.x, row, rows, self.way, column, parts);
                row += 2;
            }
            for part in rest.as_chunks_mut::<1>().0 {
                multiply::<S, F, BYTES, RUNS, 1>(s, self.x, row, rows, self.way, column, part);
                row += 1;
            }
        }
    }
}

/// Puts products of `R` rows of activations from `row` on at `column` of `parts`.
#[inline(always)]
fn multiply<S: Simd, F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize, const R: usize>(
    s: S,
    x: &Rounded<'_>,
    row: usize,
    rows: Rows16<'_>,
    way: Way,
    column: usize,
    parts: &mut [&mut [f32]; R],
) {
    let x = std::array::from_fn(|r| x.row(row + r));
    let values = Products::<F, BYTES, RUNS, R> { x, rows, way, format: PhantomData }.run(s);
    for (part, values) in parts.iter_mut().zip(&values) {
        put(part, column, values);
    }
}

/// Fills columns from `first` on, from unpacked weights.
struct Many<'a, 'b, 'c, F, const BYTES: usize, const RUNS: usize> {
    product: &'a Product<'a>,
    x: &'a Rounded<'a>,
    piece: &'b mut Piece<'c>,
    panels: &'a mut [Panel; PANELS],
    format: PhantomData<F>,
}

impl<F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize> Kernel
    for Many<'_, '_, '_, F, BYTES, RUNS>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Piece { first, tile, .. } = self.piece;
        let columns = tile.first().map_or(0, |part| part.len());
        let mut padded = Vec::new();
        let x: Vec<_> = (0..tile.len()).map(|row| self.x.row(row)).collect();
        for column in (0..columns).step_by(ROWS * PANELS) {
            for (p, to) in self.panels.iter_mut().enumerate() {
                let first = (*first + column + p * ROWS).min(self.product.n - 1);
                let Some(rows) = self.product.sixteen(first, &mut padded) else { return };
                s.run(Unpack::<F, BYTES, RUNS> { rows, to, format: PhantomData });
            }
            let panels = [&self.panels[0], &self.panels[1]];
            if S::SPACIOUS {
                pass_over::<S, F::Operation, 6>(s, &x, panels, column, tile);
            } else {
                pass_over::<S, F::Operation, 2>(s, &x, panels, column, tile);
            }
        }
    }
}

/// Multiplies all rows of activations with two panels, `R` rows at a time.
#[inline(always)]
fn pass_over<S: Simd, O: Operation, const R: usize>(
    s: S,
    x: &[&[Block]],
    panels: [&Panel; PANELS],
    column: usize,
    tile: &mut [&mut [f32]],
) {
    for (x, parts) in x.chunks(R).zip(tile.chunks_mut(R)) {
        let x = filled_up::<_, R>(x);
        if S::SPACIOUS {
            let values = s.run(Tile::<O, R, PANELS> { x, panels, operation: PhantomData });
            for (part, values) in parts.iter_mut().zip(&values) {
                for (p, values) in values.iter().enumerate() {
                    put(part, column + p * ROWS, values);
                }
            }
        } else {
            for (p, panel) in panels.into_iter().enumerate() {
                let values = s.run(Tile::<O, R, 1> { x, panels: [panel], operation: PhantomData });
                for (part, values) in parts.iter_mut().zip(&values) {
                    put(part, column + p * ROWS, &values[0]);
                }
            }
        }
    }
}
