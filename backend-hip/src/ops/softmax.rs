//! Launch of `softmax.hip`: one block per row.

use kernels::ops::Softmax;
use kernels::{DeviceError, Stem};

use super::{Queue, address};
use crate::memory::DeviceBuffer;

/// Threads of a block. The sum has one lane per thread.
pub const BLOCK: u32 = 256;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Softmax<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x.view(&op.out), op.out.as_view());
    queue
        .kernel(Stem::Softmax, "softmax")?
        .grid([out.layout.dim(0), 1, 1])
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", x.layout.stride(0))
        .u64("out_stride", out.layout.stride(0))
        .u32("n", x.layout.dim(1))
        .f32("scale", op.scale)
        .run(queue.stream)
}
