//! Launch of `quantize.hip`: a block of values a thread.

use kernels::ops::Quantize;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::{Queue, address, grid, row_bytes};
use crate::memory::DeviceBuffer;

const BLOCK: u32 = 256;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Quantize<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x, op.out.as_view());
    let (rows, n) = (x.layout.dim(0), x.layout.dim(1));
    let parts = (n / out.layout.dtype().block_len()).div_ceil(BLOCK as usize);
    queue
        .kernel(Stem::Quantize, &format!("quantize_{}", out.layout.dtype()))?
        .grid(grid(parts, rows))
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", x.layout.stride(0))
        .u64("out_stride", row_bytes(&out.layout))
        .u32("rows", rows)
        .u32("n", n)
        .run(queue.stream)
}

/// Where a row takes a further block.
pub(super) fn breakpoints(form: &OpForm) -> Vec<Breakpoint> {
    let elements = form.layout("out").map_or(1, |out| out.dtype().block_len()) * BLOCK as usize;
    vec![Breakpoint::dim("out", 1, elements)]
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}
