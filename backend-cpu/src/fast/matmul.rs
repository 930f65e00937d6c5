//! Product of activations with a weight matrix, transposed; several products in one pass if neither needs the other's result.
//!
//! The output columns are split among the threads. An output is formed by one sequence of roundings, which depends neither on the number
//! of rows, nor on the kernel, nor on what else is computed with it:
//!
//! * Float weights, or any weights with exact activations: eight lanes over `k` by fused multiply-adds, added up at the end (`float`).
//! * Quantised weights with 8-bit activations: groups of 32 as exact integers, each multiplied by its scales and added to one f32, group
//!   after group (`group::add_group`). Up to `int8::GEMV_ROWS` rows read the packed codes directly (`gemv`). For more rows a panel of weights is
//!   unpacked first (`code_panel`) and multiplied in register tiles (`micro_kernel`).

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
mod operation;
mod product;
mod quantized_activations;
mod super_block;

use kernels::ops::Matmul;
use kernels::{DType, Depth, Float, Numerics, OpForm, Weights};

use super::F32;
use super::rows::{floats_mut, rows_mut};
use super::threads::{Activations, Threads};
use crate::HostBuffer;

use activation_cache::ActivationCache;
use column_tiles::{Columns, split_columns};
use product::{Plan, Product};

/// Tiles per thread: so many that no thread waits long for the last.
const TILES_PER_THREAD: usize = 8;

/// Multiply-adds that are worth a tile of their own: about a microsecond.
const WORK_PER_TILE: usize = 1 << 15;

pub fn matmul(threads: &Threads, op: Matmul<'_, HostBuffer>) {
    matmul_batch(threads, vec![op]);
}

/// Computes products that do not need each other's results, as one job. Activations that they share are quantised once.
pub fn matmul_batch(threads: &Threads, ops: Vec<Matmul<'_, HostBuffer>>) {
    let products: Vec<_> = ops.iter().map(|op| Product::of(threads, op)).collect();
    let mut activations = ActivationCache::default();
    let plans: Vec<_> = products.iter().map(|product| plan(product, &mut activations)).collect();
    let work = products.iter().map(Product::work).fold(0, usize::saturating_add);
    let tiles = (work / WORK_PER_TILE).clamp(1, TILES_PER_THREAD * threads.count());
    let outputs = ops.into_iter().enumerate().map(|(nth, op)| {
        let product = &products[nth];
        let own = tiles.saturating_mul(product.work()).div_ceil(work.max(1)).max(1);
        let multiple = plans[nth].column_multiple;
        let columns = (product.n / own / multiple).max(1) * multiple;
        Columns::new(nth, rows_mut(op.out).into_iter().map(floats_mut).collect(), columns)
    });
    threads.parallel_queues(
        |threads| split_columns(outputs, threads),
        work,
        |mut tile| {
            (plans[tile.product].compute)(&mut tile);
            products[tile.product].add_bias(tile);
        },
    );
}

/// True if weights of type `dtype` have offsets, which are multiplied apart from the codes.
pub const fn has_offsets(dtype: DType) -> bool {
    matches!(dtype, DType::Q4_1 | DType::Q5_1 | DType::Q2K | DType::Q4K | DType::Q5K)
}

/// How `product` is computed.
fn plan<'a>(product: &'a Product<'a>, activations: &mut ActivationCache<'a>) -> Plan<'a> {
    match product.weight.dtype() {
        DType::F32 => float::direct::<float::F32, 32>(product),
        DType::F16 => float::direct::<float::F16, 16>(product),
        DType::BF16 => float::direct::<float::Bf16, 16>(product),
        _ if product.threads.activations() == Activations::Exact => float::decoded(product),
        DType::Q4_0 => int8::quantized::<block32::Q4_0, 18, 1>(product, activations),
        DType::Q4_1 => int8::quantized::<block32::Q4_1, 20, 1>(product, activations),
        DType::Q5_0 => int8::quantized::<block32::Q5_0, 22, 1>(product, activations),
        DType::Q5_1 => int8::quantized::<block32::Q5_1, 24, 1>(product, activations),
        DType::Q8_0 => int8::quantized::<block32::Q8_0, 34, 1>(product, activations),
        DType::Q2K => int8::quantized::<super_block::Q2K, 84, 8>(product, activations),
        DType::Q3K => int8::quantized::<super_block::Q3K, 110, 8>(product, activations),
        DType::Q4K => int8::quantized::<super_block::Q4K, 144, 8>(product, activations),
        DType::Q5K => int8::quantized::<super_block::Q5K, 176, 8>(product, activations),
        DType::Q6K => int8::quantized::<super_block::Q6K, 210, 8>(product, activations),
        DType::Iq4Nl => int8::quantized::<block32::Iq4Nl, 18, 1>(product, activations),
        DType::Iq4Xs => int8::quantized::<super_block::Iq4Xs, 136, 8>(product, activations),
        DType::Mxfp4 => int8::quantized::<block32::Mxfp4, 17, 1>(product, activations),
        DType::U32 => unreachable!("validation accepts no indices as weights"),
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
        // A sum of integers has no roundings; what is left is one addition for each group of 32, and one for its offset.
        depth: Depth::Lanes(super::int8_block::INT8_BLOCK / 2),
        activations: kernels::Activations::Int8 { block: super::int8_block::INT8_BLOCK, scale: Float::F32 },
        weights: if has_offsets(dtype) { Weights::Factored } else { Weights::Decoded },
        ..F32
    }
}
