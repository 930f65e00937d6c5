//! Launch of `dequantize.hip`: 8 elements a thread.

use kernels::ops::Dequantize;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::{Queue, address, grid, row_bytes};
use crate::memory::DeviceBuffer;

/// Threads of a block of any kernel that decodes rows.
pub(super) const BLOCK: u32 = 256;
/// Elements that a block decodes.
pub(super) const PART: usize = 2048;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Dequantize<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x, op.out.as_view());
    let (rows, n) = (x.layout.dim(0), x.layout.dim(1));
    let parts = n.div_ceil(PART);
    queue
        .kernel(Stem::Dequantize, &format!("dequantize_{}", x.layout.dtype()))?
        .grid(grid(parts, rows))
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", row_bytes(&x.layout))
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
