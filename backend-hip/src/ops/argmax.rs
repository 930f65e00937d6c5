//! Launch of `argmax.hip`: one block per row.

use kernels::ops::Argmax;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::{Queue, address};
use crate::memory::DeviceBuffer;

const BLOCK: u32 = 1024;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Argmax<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x, op.out.as_view());
    queue
        .kernel(Stem::Argmax, "argmax")?
        .grid([x.layout.dim(0), 1, 1])
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", x.layout.stride(0))
        .u32("n", x.layout.dim(1))
        .run(queue.stream)
}

/// Where a thread takes a further element.
pub(super) fn breakpoints(_: &OpForm) -> Vec<Breakpoint> {
    vec![Breakpoint::dim("x", 1, BLOCK as usize)]
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}
