//! Launch of `cast.hip`: tiles of rows, one kernel per pair of types.

use kernels::ops::Cast;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::rows::{self, Rows};
use super::{Queue, address};
use crate::memory::DeviceBuffer;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Cast<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x, op.out.as_view());
    let kernel = format!("cast_{}_{}", x.layout.dtype(), out.layout.dtype());
    let rows = Rows::of(&[&out.layout, &x.layout]);
    rows.kernel(queue, Stem::Cast, &kernel)?
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", rows.stride(&x.layout))
        .u64("out_stride", rows.stride(&out.layout))
        .u32("rows", rows.count)
        .u32("n", rows.n)
        .u32("quads", rows.quads(&[x, out]))
        .run(queue.stream)
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}

/// Where the kernel goes another way.
pub(super) fn breakpoints(_: &OpForm) -> Vec<Breakpoint> {
    rows::breakpoints()
}
