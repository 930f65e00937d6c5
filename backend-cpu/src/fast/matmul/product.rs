//! A product and how it is computed.

use kernels::ops::Matmul;

use super::super::prefetch::{self, PrefetchDistance, PrefetchPlan};
use super::super::rows::Rows;
use super::super::simd::{PANEL_ROWS, RowPanel};
use super::super::threads::Threads;
use super::column_tiles::ColumnTile;
use crate::HostBuffer;

/// How a product is computed.
pub struct Plan<'a> {
    /// Tiles are a multiple of so many columns, as far as possible.
    pub column_multiple: usize,
    /// Computes a tile of the output.
    pub compute: Box<dyn Fn(&mut ColumnTile<'_>) + Sync + 'a>,
}

/// The operands of a product: `x [m, k]`, `weight [n, k]`, `bias [n]`, and the threads that compute it.
pub struct Product<'a> {
    pub threads: &'a Threads,
    pub x: Rows<'a>,
    pub weight: Rows<'a>,
    pub bias: Option<Vec<f32>>,
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl<'a> Product<'a> {
    pub fn of(threads: &'a Threads, op: &Matmul<'a, HostBuffer>) -> Self {
        Product {
            threads,
            x: Rows::of(op.x),
            weight: Rows::of(op.weight),
            bias: op.bias.map(|bias| Rows::of(bias).read(0, &mut Vec::new()).to_vec()),
            m: op.x.layout.dim(0),
            n: op.weight.layout.dim(0),
            k: op.x.layout.dim(1),
        }
    }

    /// Multiply-adds.
    pub fn work(&self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }

    /// Adds the bias to a tile.
    pub fn add_bias(&self, tile: ColumnTile<'_>) {
        let Some(bias) = &self.bias else { return };
        for row in tile.rows {
            for (y, bias) in row.iter_mut().zip(&bias[tile.first..]) {
                *y += bias;
            }
        }
    }

    /// What to prefetch while the weights of a tile are read, by the thread that is about to read them.
    pub fn prefetch_plan(&self, tile: &ColumnTile<'_>) -> PrefetchPlan {
        let small = self.weight.bytes(tile.first).len() < self.k;
        let distance = if small { PrefetchDistance::SHORT } else { PrefetchDistance::LONG };
        let weights = self.weight.byte_span(tile.first..tile.first + tile.columns());
        prefetch::plan(weights, tile.last, distance)
    }

    /// The row panel of weights for the output columns from `first` on. Borrowed if there are [`PANEL_ROWS`] of them, or else copied to
    /// `padded` with zeros after the last.
    pub fn row_panel<'p>(&self, first: usize, padded: &'p mut Vec<u8>) -> RowPanel<'p>
    where
        'a: 'p,
    {
        if first + PANEL_ROWS <= self.n {
            return self.weight.panel(first).expect("the matrix has so many rows");
        }
        let len = self.weight.bytes(first).len();
        padded.clear();
        (first..self.n).for_each(|row| padded.extend_from_slice(self.weight.bytes(row)));
        padded.resize(PANEL_ROWS * len, 0);
        RowPanel::new(padded, len, len).expect("padded to a panel")
    }
}
