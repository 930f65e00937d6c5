//! Launch of `kv_write.hip`: one block per row, or one for its keys and one for its values. A transposed cache has a launch of its own.

use kernels::ops::KvWrite;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem, View};

use super::{Queue, address};
use crate::memory::DeviceBuffer;

const BLOCK: u32 = 64;
/// Elements of a row from which on its values have a block of their own.
const LONG: usize = 512;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &KvWrite<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (k_cache, v_cache) = (op.k_cache.as_view(), op.v_cache.as_view());
    if k_cache.layout.is_transposed() || v_cache.layout.is_transposed() {
        for (new, cache) in [(op.k, k_cache), (op.v, v_cache)] {
            if cache.layout.is_transposed() {
                columns(queue, op, new, cache)?;
            } else {
                rows(queue, op, [(new, cache); 2], [1, 1])?;
            }
        }
        return Ok(());
    }
    let v_block = usize::from(op.k.layout.dim(1) * op.k.layout.dim(2) >= LONG);
    rows(queue, op, [(op.k, k_cache), (op.v, v_cache)], [v_block + 1, v_block])
}

/// New rows and the cache that they go to.
type Pair<'a> = (View<'a, DeviceBuffer>, View<'a, DeviceBuffer>);

/// Stores keys and values to caches whose heads lie in one piece. With one block in y, and values in the next one, keys alone.
#[track_caller]
fn rows(
    queue: Queue<'_>,
    op: &KvWrite<'_, DeviceBuffer>,
    [(k, k_cache), (v, v_cache)]: [Pair<'_>; 2],
    [blocks, v_block]: [usize; 2],
) -> Result<(), DeviceError> {
    queue
        .kernel(Stem::KvWrite, &format!("kv_write_{}_{}", k_cache.layout.dtype(), v_cache.layout.dtype()))?
        .grid([k.layout.dim(0), blocks, 1])
        .block(BLOCK)
        .pointer("k", address(k))
        .pointer("v", address(v))
        .pointer("seqs", address(op.seqs.view()))
        .pointer("positions", address(op.positions.view()))
        .pointer("k_cache", address(k_cache))
        .pointer("v_cache", address(v_cache))
        .u64("k_row", k.layout.stride(0))
        .u64("k_head", k.layout.stride(1))
        .u64("v_row", v.layout.stride(0))
        .u64("v_head", v.layout.stride(1))
        .u64("k_seq", k_cache.layout.stride(0))
        .u64("k_slot", k_cache.layout.stride(1))
        .u64("k_cache_head", k_cache.layout.stride(2))
        .u64("v_seq", v_cache.layout.stride(0))
        .u64("v_slot", v_cache.layout.stride(1))
        .u64("v_cache_head", v_cache.layout.stride(2))
        .u32("heads", k.layout.dim(1))
        .u32("head_dim", k.layout.dim(2))
        .u32("v_block", v_block)
        .run(queue.stream)
}

/// Stores to one cache in which the elements of a head lie apart.
#[track_caller]
fn columns(
    queue: Queue<'_>,
    op: &KvWrite<'_, DeviceBuffer>,
    x: View<'_, DeviceBuffer>,
    cache: View<'_, DeviceBuffer>,
) -> Result<(), DeviceError> {
    queue
        .kernel(Stem::KvWrite, &format!("kv_write_columns_{}", cache.layout.dtype()))?
        .grid([x.layout.dim(0), 1, 1])
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("seqs", address(op.seqs.view()))
        .pointer("positions", address(op.positions.view()))
        .pointer("cache", address(cache))
        .u64("x_row", x.layout.stride(0))
        .u64("x_head", x.layout.stride(1))
        .u64("seq", cache.layout.stride(0))
        .u64("slot", cache.layout.stride(1))
        .u64("cache_head", cache.layout.stride(2))
        .u64("cache_dim", cache.layout.stride(3))
        .u32("heads", x.layout.dim(1))
        .u32("head_dim", x.layout.dim(2))
        .run(queue.stream)
}

/// Where values get a block of their own.
pub(super) fn breakpoints(form: &OpForm) -> Vec<Breakpoint> {
    let heads = form.layout("k").map_or(1, |k| k.dim(1));
    vec![Breakpoint::dim("k", 2, (LONG - 1) / heads)]
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}
