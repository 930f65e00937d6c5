//! Launch of `attention.hip`: which kernel, how many vectors a block, and whether chunks run one after the other or at once.
//!
//! None of these choices shows in the result: the kernels see to that.

use kernels::ops::Attention;
use kernels::{Breakpoint, DType, Depth, DeviceError, Layout, Numerics, OpForm, Stem, Support};

use super::{Queue, address};
use crate::memory::DeviceBuffer;

/// Interleaved sums, over the columns of a score and over the slots of a tile. What comes after a tile, one step per tile and one
/// per chunk, is less than the part of a row of slots that each of them would have taken.
pub const LANES: usize = 4;
/// Threads of a block, and of one that joins parts.
const BLOCK: u32 = 256;
const JOIN_BLOCK: u32 = 64;
/// Slots of a chunk.
const CHUNK: usize = 256;
/// Slots of a tile of up to `WIDTH` columns; wider ones have fewer.
const KEYS: usize = 32;
const WIDTH: usize = 128;
/// Vectors of a block for which a kernel is made: few rows, many rows.
const VECTORS: [usize; 2] = [8, 24];
/// Largest `head_dim`: one vector of the kernels for few rows.
const MAX_DIM: usize = VECTORS[0] * WIDTH;
/// Blocks that fill a large GPU. With fewer, chunks run at once.
const FILLED: usize = 608;
/// Most bytes that parts may take.
const MAX_PARTS: usize = 1 << 28;

/// Whether the kernels take these operands.
pub(super) fn supports(form: &OpForm) -> Support {
    let Some(q) = form.layout("q") else { return Support::Yes };
    if q.dim(2) > MAX_DIM {
        return Support::No(format!("head_dim {} is beyond {MAX_DIM}", q.dim(2)));
    }
    match q.dim(0).checked_mul(q.dim(1)).map(i32::try_from) {
        Some(Ok(_)) => Support::Yes,
        _ => Support::No(format!("{} rows of {} heads are beyond 2^31 - 1", q.dim(0), q.dim(1))),
    }
}

/// How an op is cut into blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Plan {
    kernel: &'static str,
    /// Query vectors of a block.
    vectors: usize,
    /// Slots of a tile.
    tile_keys: usize,
    /// Blocks over vectors, cached heads and columns.
    blocks: [usize; 3],
    /// Chunks that run at once; 0 where one block goes through all.
    chunks: usize,
}

impl Plan {
    /// For `q` `[rows, heads, head_dim]`, whose longest run of rows of one sequence is `run`, and whose last slot is `last`.
    fn new(q: &Layout, kv_heads: usize, run: usize, last: usize) -> Self {
        let [rows, heads, dim] = [0, 1, 2].map(|axis| q.dim(axis));
        let group = heads / kv_heads;
        let together = run.saturating_mul(group);
        let many = together > VECTORS[0];
        let kernel = match (dim, many) {
            (64, false) => "attention_64_8",
            (64, true) => "attention_64_24",
            (128, false) => "attention_128_8",
            (128, true) => "attention_128_24",
            (_, false) => "attention_any_8",
            (_, true) => "attention_any_24",
        };
        let width = dim.next_multiple_of(4);
        let vectors =
            together.min(VECTORS[usize::from(many)]).min(VECTORS[usize::from(many)] * WIDTH / width);
        let fitting = (KEYS * (WIDTH + 4) / (width + 4)).clamp(1, KEYS);
        let tile_keys = 1 << fitting.ilog2();
        let blocks = [(rows * group).div_ceil(vectors), kv_heads, dim.div_ceil(WIDTH)];
        let all = last / CHUNK + 1;
        let parts = (rows * heads).saturating_mul(all).saturating_mul(part_bytes(dim));
        let split = all > 1 && blocks.iter().product::<usize>() < FILLED && parts <= MAX_PARTS;
        Plan { kernel, vectors, tile_keys, blocks, chunks: if split { all } else { 0 } }
    }
}

/// Bytes of a part: its columns, the largest score and the sum of weights, and what aligns them.
const fn part_bytes(dim: usize) -> usize {
    4 * (dim.next_multiple_of(4) + 4)
}

/// A cache's type as `cache.h` numbers it.
const fn cache_type(layout: &Layout) -> usize {
    match layout.dtype() {
        DType::F32 => 0,
        DType::F16 => 1,
        DType::BF16 => 3,
        _ => 2,
    }
}

/// Length of the longest run of equal numbers.
fn longest_run(values: &[u32]) -> usize {
    values.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(0)
}

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Attention<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (q, k, v, out) = (op.q.layout, op.k_cache.layout, op.v_cache.layout, op.out.layout);
    let [rows, heads, dim] = [0, 1, 2].map(|axis| q.dim(axis));
    let last = op.positions.values().iter().max().map_or(0, |&position| position as usize);
    let plan = Plan::new(&q, k.dim(2), longest_run(op.seqs.values()), last);
    let window = op.window.unwrap_or(usize::MAX).min(u32::MAX as usize);
    let workspace = queue.stream.workspace(rows * heads * plan.chunks * part_bytes(dim))?;
    let [tiles, kv_heads, slabs] = plan.blocks;
    queue
        .kernel(Stem::Attention, plan.kernel)?
        .grid([tiles, kv_heads, slabs * plan.chunks.max(1)])
        .block(BLOCK)
        .pointer("q", address(op.q))
        .pointer("k_cache", address(op.k_cache))
        .pointer("v_cache", address(op.v_cache))
        .pointer("seqs", address(op.seqs.view()))
        .pointer("positions", address(op.positions.view()))
        .pointer("out", address(op.out.as_view()))
        .pointer("parts", workspace.address())
        .u64("q_row", q.stride(0))
        .u64("q_head", q.stride(1))
        .u64("k_seq", k.stride(0))
        .u64("k_slot", k.stride(1))
        .u64("k_head", k.stride(2))
        .u64("v_seq", v.stride(0))
        .u64("v_slot", v.stride(1))
        .u64("v_head", v.stride(2))
        .u64("out_row", out.stride(0))
        .u64("out_head", out.stride(1))
        .u32("k_type", cache_type(&k))
        .u32("v_type", cache_type(&v))
        .u32("rows", rows)
        .u32("heads", heads)
        .u32("group", heads / kv_heads)
        .u32("head_dim", dim)
        .u32("vectors", plan.vectors)
        .u32("tile_keys", plan.tile_keys)
        .u32("window", window)
        .u32("chunks", plan.chunks)
        .f32("scale", op.scale)
        .f32("softcap", op.softcap.unwrap_or(0.0))
        .run(queue.stream)?;
    if plan.chunks == 0 {
        return Ok(());
    }
    queue
        .kernel(Stem::Attention, "attention_join")?
        .grid([rows, heads, 1])
        .block(JOIN_BLOCK)
        .pointer("parts", workspace.address())
        .pointer("positions", address(op.positions.view()))
        .pointer("out", address(op.out.as_view()))
        .u64("out_row", out.stride(0))
        .u64("out_head", out.stride(1))
        .u32("heads", heads)
        .u32("head_dim", dim)
        .u32("window", window)
        .u32("chunks", plan.chunks)
        .run(queue.stream)
}

/// Where another kernel takes over, where a block has all its vectors, and where slots take a further tile or chunk.
pub(super) fn breakpoints(form: &OpForm) -> Vec<Breakpoint> {
    let (Some(q), Some(k)) = (form.layout("q"), form.layout("k_cache")) else { return Vec::new() };
    let group = (q.dim(1) / k.dim(2)).max(1);
    let rows = VECTORS.map(|vectors| Breakpoint::dim("q", 0, vectors / group));
    let columns = [WIDTH / 2, WIDTH].map(|width| Breakpoint::dim("q", 2, width));
    let slots = [KEYS, CHUNK].map(|slots| Breakpoint::position(slots - 1));
    rows.into_iter().chain(columns).chain(slots).filter(|point| point.last > 0).collect()
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics { depth: Depth::Lanes(LANES), ..Numerics::F32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_code_has_the_same_sizes() {
        let source = kernels::device_code::source("attention").unwrap();
        for (name, value) in [("CHUNK", CHUNK), ("KEYS", KEYS), ("WIDTH", WIDTH)] {
            assert!(source.contains(&format!("#define {name} {value}\n")), "{name}");
        }
    }
}
