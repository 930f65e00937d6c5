//! Launch of `kv_write.hip`: one block per row, or one for its keys and one for its values.

use kernels::ops::KvWrite;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::{Queue, address};
use crate::memory::DeviceBuffer;

const BLOCK: u32 = 64;
/// Elements of a row from which on its values have a block of their own.
const LONG: usize = 512;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &KvWrite<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (k, v) = (op.k.layout, op.v.layout);
    let (k_cache, v_cache) = (op.k_cache.layout, op.v_cache.layout);
    let v_block = usize::from(k.dim(1) * k.dim(2) >= LONG);
    queue
        .kernel(Stem::KvWrite, &format!("kv_write_{}_{}", k_cache.dtype(), v_cache.dtype()))?
        .grid([k.dim(0), v_block + 1, 1])
        .block(BLOCK)
        .pointer("k", address(op.k))
        .pointer("v", address(op.v))
        .pointer("seqs", address(op.seqs.view()))
        .pointer("positions", address(op.positions.view()))
        .pointer("k_cache", address(op.k_cache.as_view()))
        .pointer("v_cache", address(op.v_cache.as_view()))
        .u64("k_row", k.stride(0))
        .u64("k_head", k.stride(1))
        .u64("v_row", v.stride(0))
        .u64("v_head", v.stride(1))
        .u64("k_seq", k_cache.stride(0))
        .u64("k_slot", k_cache.stride(1))
        .u64("k_cache_head", k_cache.stride(2))
        .u64("v_seq", v_cache.stride(0))
        .u64("v_slot", v_cache.stride(1))
        .u64("v_cache_head", v_cache.stride(2))
        .u32("heads", k.dim(1))
        .u32("head_dim", k.dim(2))
        .u32("v_block", v_block)
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
