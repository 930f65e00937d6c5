//! Products of quantised weights with 8-bit activations, dealt out.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::super::simd::{Kernel, Simd};
use super::activations::Rounded;
use super::format::{Format, ROWS};
use super::panel::{Panel, Unpack};
use super::single::Products;
use super::tile::Tile;
use super::{Product, put};

/// Rows of activations from which on it pays to unpack the weights.
const MANY: usize = 4;

/// Rows of activations of a tile.
const TILE_ROWS: usize = 4;

/// Panels of weights of a tile.
const TILE_PANELS: usize = 2;

thread_local! {
    /// The panels that this thread unpacks weights to.
    static PANELS: RefCell<[Panel; TILE_PANELS]> = RefCell::default();
}

/// Fills `out` with the product of activations, rounded, and weights of format `F`.
pub fn packed<F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize>(
    product: &Product<'_>,
    out: Vec<&mut [u8]>,
) {
    let rounded = Rounded::of(product.threads, &product.x, product.m, product.k);
    if product.m < MANY {
        product.spread(out, ROWS, |first, tile| {
            let few = Few::<F, BYTES, RUNS> { product, x: &rounded, first, tile, format: PhantomData };
            product.threads.compute(few);
        });
    } else {
        product.spread(out, ROWS * TILE_PANELS, |first, tile| {
            many::<F, BYTES, RUNS>(product, &rounded, first, tile);
        });
    }
    rounded.keep(product.threads);
}

/// Fills columns from `first` on, straight from the packed weights.
struct Few<'a, 'b, 'c, F, const BYTES: usize, const RUNS: usize> {
    product: &'a Product<'a>,
    x: &'a Rounded,
    first: usize,
    tile: &'b mut [&'c mut [f32]],
    format: PhantomData<F>,
}

impl<F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize> Kernel
    for Few<'_, '_, '_, F, BYTES, RUNS>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let columns = self.tile.first().map_or(0, |part| part.len());
        for column in (0..columns).step_by(ROWS) {
            let weights = self.product.weights(self.first + column);
            for (row, part) in self.tile.iter_mut().enumerate() {
                let products = Products::<F, BYTES, RUNS>::new(self.x.row(row), weights);
                put(part, column, &products.run(s));
            }
        }
    }
}

/// Fills columns from `first` on, a tile at a time.
fn many<F: Format<BYTES, RUNS>, const BYTES: usize, const RUNS: usize>(
    product: &Product<'_>,
    x: &Rounded,
    first: usize,
    tile: &mut [&mut [f32]],
) {
    let columns = tile.first().map_or(0, |part| part.len());
    let last = tile.len() - 1;
    PANELS.with_borrow_mut(|panels| {
        for column in (0..columns).step_by(ROWS * TILE_PANELS) {
            for (p, panel) in panels.iter_mut().enumerate() {
                let weights = product.weights(first + column + p * ROWS);
                product.threads.compute(Unpack::<F, BYTES, RUNS>::new(weights, panel));
            }
            for row in (0..tile.len()).step_by(TILE_ROWS) {
                // The last row stands in for those beyond it.
                let x = std::array::from_fn::<_, TILE_ROWS, _>(|r| x.row((row + r).min(last)));
                let kernel = Tile { x, panels: [&panels[0], &panels[1]], offsets: F::OFFSETS };
                let values = product.threads.compute(kernel);
                for (part, values) in tile[row..].iter_mut().zip(&values) {
                    put(part, column, values.as_flattened());
                }
            }
        }
    });
}
