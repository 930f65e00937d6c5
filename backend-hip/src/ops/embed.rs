//! Launch of `embed.hip`: 8 elements a thread.

use kernels::ops::Embed;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::dequantize::{BLOCK, PART};
use super::{Queue, address, grid, row_bytes};
use crate::memory::DeviceBuffer;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Embed<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (table, out) = (op.table, op.out.as_view());
    let (rows, n) = (out.layout.dim(0), out.layout.dim(1));
    let parts = n.div_ceil(PART);
    queue
        .kernel(Stem::Embed, &format!("embed_{}", table.layout.dtype()))?
        .grid(grid(parts, rows))
        .block(BLOCK)
        .pointer("table", address(table))
        .pointer("ids", address(op.ids.view()))
        .pointer("out", address(out))
        .u64("table_stride", row_bytes(&table.layout))
        .u64("out_stride", out.layout.stride(0))
        .u32("rows", rows)
        .u32("n", n)
        .run(queue.stream)
}

/// Where a row takes a further block.
pub(super) fn breakpoints(_: &OpForm) -> Vec<Breakpoint> {
    vec![Breakpoint::dim("out", 1, PART)]
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}
