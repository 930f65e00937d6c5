//! Launch of `softmax.hip`: one block per row.

use kernels::ops::Softmax;
use kernels::{Breakpoint, Depth, DeviceError, Numerics, OpForm, Stem};

use super::{Queue, address, norms};
use crate::memory::DeviceBuffer;

/// Threads of a block. The sum has one lane per thread.
pub const BLOCK: u32 = 256;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Softmax<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x.view(&op.out), op.out.as_view());
    let n = x.layout.dim(1);
    queue
        .kernel(Stem::Softmax, &norms::kernel(Stem::Softmax, n))?
        .grid([out.layout.dim(0), 1, 1])
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", x.layout.stride(0))
        .u64("out_stride", out.layout.stride(0))
        .u32("n", n)
        .f32("scale", op.scale)
        .run(queue.stream)
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics { depth: Depth::Lanes(BLOCK as usize), ..Numerics::F32 }
}

/// Where the kernel goes another way.
pub(super) fn breakpoints(_: &OpForm) -> Vec<Breakpoint> {
    norms::breakpoints()
}
