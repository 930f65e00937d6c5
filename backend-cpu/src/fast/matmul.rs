//! Product of activations with a weight matrix, transposed.
//!
//! The columns of the output are dealt out to the threads. A weight row is decoded once and then multiplied with every row
//! of activations; each output is one [`dot`], whatever the number of rows.

use kernels::ops::Matmul;

use super::Threads;
use super::rows::{Rows, floats_mut, rows_mut};
use super::sums::dot;
use crate::HostBuffer;

/// Tasks per thread: so many that no thread waits long for the last.
const TASKS_PER_THREAD: usize = 4;

pub fn matmul(threads: &Threads, op: Matmul<'_, HostBuffer>) {
    let [m, k] = [op.x.layout.dim(0), op.x.layout.dim(1)];
    let n = op.weight.layout.dim(0);
    let columns = n.div_ceil(TASKS_PER_THREAD * threads.count());
    let (x, weight, bias) = (Rows::of(op.x), Rows::of(op.weight), op.bias.map(Rows::of));

    let work = m.saturating_mul(n).saturating_mul(k);
    threads.each(tiles(rows_mut(op.out), n, columns), work, |task, mut tile| {
        let (mut weight_scratch, mut x_scratch, mut bias_scratch) = (Vec::new(), Vec::new(), Vec::new());
        let bias = bias.as_ref().map(|bias| bias.read(0, &mut bias_scratch));
        let first = task * columns;
        for column in first..n.min(first + columns) {
            let weight = weight.read(column, &mut weight_scratch);
            for (row, part) in tile.iter_mut().enumerate() {
                let product = dot(x.read(row, &mut x_scratch), weight);
                part[column - first] = bias.map_or(product, |bias| product + bias[column]);
            }
        }
    });
}

/// Cuts rows of `n` values every `columns`: tile `t` has, of every row, the values from `t·columns` on.
fn tiles(rows: Vec<&mut [u8]>, n: usize, columns: usize) -> Vec<Vec<&mut [f32]>> {
    let mut tiles: Vec<_> = (0..n.div_ceil(columns)).map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        for (tile, part) in tiles.iter_mut().zip(floats_mut(row).chunks_mut(columns)) {
            tile.push(part);
        }
    }
    tiles
}
