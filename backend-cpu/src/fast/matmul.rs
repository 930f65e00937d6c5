//! Product of activations with a weight matrix, transposed.
//!
//! The columns of the output are dealt out to the threads. An output is formed by one sequence of roundings, whatever the number of
//! rows and whichever kernel forms it:
//!
//! * Weights in f32, f16 or bf16, or any weights with exact activations: eight lanes over `k` by fused multiply-adds, added up at the
//!   end (`float`).
//! * Quantised weights with 8-bit activations: runs of 32 as exact integers, each multiplied by its scales and added to one f32, run
//!   after run (`run::add_run`). Few rows take the packed codes (`single`); for many rows a `panel` of weights is unpacked first and
//!   passed over in `tile`s.

mod activations;
mod float;
mod format;
mod integer;
mod k;
mod panel;
mod plain;
mod run;
mod single;
mod tile;

use kernels::DType;
use kernels::ops::Matmul;

use super::Threads;
use super::rows::{Rows, floats_mut, rows_mut};
use super::simd::Rows16;
use super::threads::Activations;
use crate::HostBuffer;

pub use activations::{BLOCK, Block};

/// Tasks per thread: so many that no thread waits long for the last.
const TASKS_PER_THREAD: usize = 8;

/// Rows of activations up to which quantised weights are multiplied as they stream by.
const FEW: usize = 4;

/// Bytes of a line of memory.
const LINE: usize = 64;

/// How far ahead of their use weights are asked for. Many rows side by side are no pattern that a processor foresees.
const AHEAD: usize = 1 << 14;

/// Multiply-adds that are worth a task of their own: some microseconds.
const WORK_PER_TASK: usize = 1 << 16;

pub fn matmul(threads: &Threads, op: Matmul<'_, HostBuffer>) {
    let dtype = op.weight.layout.dtype();
    let product = Product::of(threads, &op);
    let out = rows_mut(op.out);
    match dtype {
        DType::F32 => float::stored::<float::Single, 32>(&product, out),
        DType::F16 => float::stored::<float::Half, 16>(&product, out),
        DType::BF16 => float::stored::<float::BrainHalf, 16>(&product, out),
        _ if threads.activations() == Activations::Exact => float::decoded(&product, out),
        DType::Q4_0 => integer::packed::<plain::Q4_0, 18, 1>(&product, out),
        DType::Q4_1 => integer::packed::<plain::Q4_1, 20, 1>(&product, out),
        DType::Q5_0 => integer::packed::<plain::Q5_0, 22, 1>(&product, out),
        DType::Q5_1 => integer::packed::<plain::Q5_1, 24, 1>(&product, out),
        DType::Q8_0 => integer::packed::<plain::Q8_0, 34, 1>(&product, out),
        DType::Q2K => integer::packed::<k::Q2K, 84, 8>(&product, out),
        DType::Q3K => integer::packed::<k::Q3K, 110, 8>(&product, out),
        DType::Q4K => integer::packed::<k::Q4K, 144, 8>(&product, out),
        DType::Q5K => integer::packed::<k::Q5K, 176, 8>(&product, out),
        DType::Q6K => integer::packed::<k::Q6K, 210, 8>(&product, out),
        DType::Iq4Nl => integer::packed::<plain::Iq4Nl, 18, 1>(&product, out),
        DType::Iq4Xs => integer::packed::<k::Iq4Xs, 136, 8>(&product, out),
        DType::Mxfp4 => integer::packed::<plain::Mxfp4, 17, 1>(&product, out),
        // Validation lets no indices come here.
        DType::U32 => {}
    }
}

/// Whether weights of type `dtype` have offsets, which are multiplied apart from the codes.
pub const fn has_offsets(dtype: DType) -> bool {
    matches!(dtype, DType::Q4_1 | DType::Q5_1 | DType::Q2K | DType::Q4K | DType::Q5K)
}

/// The operands of a product.
struct Product<'a> {
    threads: &'a Threads,
    x: Rows<'a>,
    weight: Rows<'a>,
    bias: Option<Vec<f32>>,
    m: usize,
    n: usize,
    k: usize,
}

impl<'a> Product<'a> {
    fn of(threads: &'a Threads, op: &Matmul<'a, HostBuffer>) -> Self {
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

    /// Deals the columns out, a multiple of `unit` at a time: `f` is given the first column and, of each row of the output, the
    /// columns that it fills. The bias is added afterwards.
    fn spread(&self, out: Vec<&mut [u8]>, unit: usize, f: impl Fn(usize, &mut [&mut [f32]]) + Sync) {
        let work = self.m.saturating_mul(self.n).saturating_mul(self.k);
        let tasks = (work / WORK_PER_TASK).clamp(1, TASKS_PER_THREAD * self.threads.count());
        let columns = self.n.div_ceil(tasks).next_multiple_of(unit);
        self.threads.each(tiles(out, self.n, columns), work, |task, mut tile| {
            let first = task * columns;
            f(first, &mut tile);
            if let Some(bias) = &self.bias {
                for part in tile {
                    for (y, bias) in part.iter_mut().zip(&bias[first..]) {
                        *y += bias;
                    }
                }
            }
        });
    }

    /// The sixteen rows of weights from column `first` of the output on: where they lie, or in `padded`, with zeros after the last,
    /// where there are fewer.
    fn sixteen<'p>(&self, first: usize, padded: &'p mut Vec<u8>) -> Option<Rows16<'p>>
    where
        'a: 'p,
    {
        if first + format::ROWS <= self.n {
            return self.weight.sixteen(first);
        }
        let len = self.weight.bytes(first).len();
        padded.clear();
        (first..self.n).for_each(|row| padded.extend_from_slice(self.weight.bytes(row)));
        padded.resize(format::ROWS * len, 0);
        Rows16::new(padded, len, len)
    }

    /// `N` rows of weights from column `first` of the output on, the last one again where there are fewer.
    fn weights<const N: usize>(&self, first: usize) -> [&'a [u8]; N] {
        std::array::from_fn(|i| self.weight.bytes((first + i).min(self.n - 1)))
    }
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

/// Puts `values` at `at` of `part`, as far as it goes.
fn put(part: &mut [f32], at: usize, values: &[f32]) {
    for (to, value) in part[at..].iter_mut().zip(values) {
        *to = *value;
    }
}
