//! Product of activations with a weight matrix, transposed; several of them together where neither needs the other.
//!
//! The columns of the outputs are dealt out to the threads. An output is formed by one sequence of roundings, whatever the number of
//! rows, whichever kernel forms it and whatever else is computed with it:
//!
//! * Weights in f32, f16 or bf16, or any weights with exact activations: eight lanes over `k` by fused multiply-adds, added up at the
//!   end (`float`).
//! * Quantised weights with 8-bit activations: runs of 32 as exact integers, each multiplied by its scales and added to one f32, run
//!   after run (`run::add_run`). Few rows take the packed codes (`single`); for many rows a `panel` of weights is unpacked first and
//!   passed over in `tile`s.

mod activation_cache;
mod block32;
mod code_panel;
mod column_tiles;
mod float;
mod format;
mod gemv;
mod group;
mod int8;
mod micro_kernel;
mod quantized_activations;
mod super_block;

use kernels::ops::Matmul;
use kernels::{DType, Depth, Float, Numerics, OpForm, Weights};

use super::prefetch::{self, Reach, Way};
use super::rows::{Rows, floats_mut, rows_mut};
use super::simd::Rows16;
use super::threads::Activations;
use super::{F32, Threads};
use crate::HostBuffer;

use activation_cache::Shelf;
use column_tiles::{Columns, Piece, share};
pub use quantized_activations::{BLOCK, Block};

/// Pieces per thread: so many that no thread waits long for the last.
const PIECES_PER_THREAD: usize = 8;

/// Rows of activations up to which quantised weights are multiplied as they stream by.
const FEW: usize = 4;

/// Multiply-adds that are worth a piece of their own: about a microsecond.
const WORK_PER_PIECE: usize = 1 << 15;

pub fn matmul(threads: &Threads, op: Matmul<'_, HostBuffer>) {
    together(threads, vec![op]);
}

/// Computes products that do not need each other. What they have in common is done once, and no thread waits between them.
pub fn together(threads: &Threads, ops: Vec<Matmul<'_, HostBuffer>>) {
    let products: Vec<_> = ops.iter().map(|op| Product::of(threads, op)).collect();
    let mut shelf = Shelf::default();
    let plans: Vec<_> = products.iter().map(|product| product.plan(&mut shelf)).collect();
    let work = products.iter().map(Product::work).fold(0, usize::saturating_add);
    let pieces = (work / WORK_PER_PIECE).clamp(1, PIECES_PER_THREAD * threads.count());
    let outputs = ops.into_iter().enumerate().map(|(nth, op)| {
        let product = &products[nth];
        let own = pieces.saturating_mul(product.work()).div_ceil(work.max(1)).max(1);
        let unit = plans[nth].unit;
        let columns = (product.n / own / unit).max(1) * unit;
        Columns::new(nth, rows_mut(op.out).into_iter().map(floats_mut).collect(), columns)
    });
    threads.share_out(
        |threads| share(outputs, threads),
        work,
        |mut piece| {
            (plans[piece.product].fill)(&mut piece);
            products[piece.product].add_bias(piece);
        },
    );
}

/// How a product is computed.
struct Plan<'a> {
    /// Columns that are best computed together.
    unit: usize,
    /// Fills a piece of the output.
    fill: Box<dyn Fn(&mut Piece<'_>) + Sync + 'a>,
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

    /// How it is computed, with activations from the shelf.
    fn plan<'p>(&'p self, shelf: &mut Shelf<'p>) -> Plan<'p> {
        match self.weight.dtype() {
            DType::F32 => float::stored::<float::Single, 32>(self),
            DType::F16 => float::stored::<float::Half, 16>(self),
            DType::BF16 => float::stored::<float::BrainHalf, 16>(self),
            _ if self.threads.activations() == Activations::Exact => float::decoded(self),
            DType::Q4_0 => int8::packed::<block32::Q4_0, 18, 1>(self, shelf),
            DType::Q4_1 => int8::packed::<block32::Q4_1, 20, 1>(self, shelf),
            DType::Q5_0 => int8::packed::<block32::Q5_0, 22, 1>(self, shelf),
            DType::Q5_1 => int8::packed::<block32::Q5_1, 24, 1>(self, shelf),
            DType::Q8_0 => int8::packed::<block32::Q8_0, 34, 1>(self, shelf),
            DType::Q2K => int8::packed::<super_block::Q2K, 84, 8>(self, shelf),
            DType::Q3K => int8::packed::<super_block::Q3K, 110, 8>(self, shelf),
            DType::Q4K => int8::packed::<super_block::Q4K, 144, 8>(self, shelf),
            DType::Q5K => int8::packed::<super_block::Q5K, 176, 8>(self, shelf),
            DType::Q6K => int8::packed::<super_block::Q6K, 210, 8>(self, shelf),
            DType::Iq4Nl => int8::packed::<block32::Iq4Nl, 18, 1>(self, shelf),
            DType::Iq4Xs => int8::packed::<super_block::Iq4Xs, 136, 8>(self, shelf),
            DType::Mxfp4 => int8::packed::<block32::Mxfp4, 17, 1>(self, shelf),
            // Validation lets no indices come here.
            DType::U32 => Plan { unit: 1, fill: Box::new(|_| {}) },
        }
    }

    /// Multiply-adds.
    fn work(&self) -> usize {
        self.m.saturating_mul(self.n).saturating_mul(self.k)
    }

    /// Adds the bias to a piece.
    fn add_bias(&self, piece: Piece<'_>) {
        let Some(bias) = &self.bias else { return };
        for part in piece.tile {
            for (y, bias) in part.iter_mut().zip(&bias[piece.first..]) {
                *y += bias;
            }
        }
    }

    /// What to ask for while the weights of a piece are read, by the thread that is about to.
    fn way(&self, piece: &Piece<'_>) -> Way {
        let columns = piece.tile.first().map_or(0, |part| part.len());
        let small = self.weight.bytes(piece.first).len() < self.k;
        let reach = if small { Reach::SHORT } else { Reach::LONG };
        prefetch::enter(self.weight.stretch(piece.first..piece.first + columns), piece.last, reach)
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
}

/// How a product is computed: it depends on the type of its weights.
pub(super) fn numerics(threads: &Threads, op: &OpForm) -> Numerics {
    let exact = Numerics { depth: Depth::Lanes(super::simd::WIDTH), ..F32 };
    let Some(dtype) = op.dtype("weight") else { return exact };
    if DType::FLOATS.contains(&dtype) || threads.activations() == Activations::Exact {
        return exact;
    }
    Numerics {
        // A sum of integers has no roundings; what is left is one addition for each run of 32, and one for its offset.
        depth: Depth::Lanes(BLOCK / 2),
        activations: kernels::Activations::Int8 { block: BLOCK, scale: Float::F32 },
        weights: if has_offsets(dtype) { Weights::Factored } else { Weights::Decoded },
        ..F32
    }
}
