//! Launch of `fill.hip`: tiles of rows, one kernel per type.

use kernels::ops::Fill;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::rows::{self, Rows};
use super::{Queue, address};
use crate::memory::DeviceBuffer;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Fill<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let out = op.out.as_view();
    let rows = Rows::of(&[&out.layout]);
    rows.kernel(queue, Stem::Fill, &format!("fill_{}", out.layout.dtype()))?
        .pointer("out", address(out))
        .u64("out_stride", rows.stride(&out.layout))
        .u32("rows", rows.count)
        .u32("n", rows.n)
        .u32("quads", rows.quads(&[out]))
        .f32("value", op.value)
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
