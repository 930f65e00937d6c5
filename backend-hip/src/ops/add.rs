//! Launch of `add.hip`: tiles of rows.

use kernels::ops::Add;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::rows::{self, Rows};
use super::{Queue, address};
use crate::memory::DeviceBuffer;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Add<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (a, b, out) = (op.a.view(&op.out), op.b, op.out.as_view());
    let rows = Rows::of(&[&out.layout, &a.layout, &b.layout]);
    rows.kernel(queue, Stem::Add, "add")?
        .pointer("a", address(a))
        .pointer("b", address(b))
        .pointer("out", address(out))
        .u64("a_stride", rows.stride(&a.layout))
        .u64("b_stride", rows.stride(&b.layout))
        .u64("out_stride", rows.stride(&out.layout))
        .u32("rows", rows.count)
        .u32("n", rows.n)
        .u32("quads", rows.quads(&[a, b, out]))
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
