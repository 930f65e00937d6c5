//! Launch of `silu_mul.hip`: tiles of rows.

use kernels::ops::SiluMul;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::rows::{self, Rows};
use super::{Queue, address};
use crate::memory::DeviceBuffer;

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &SiluMul<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (gate, up, out) = (op.gate.view(&op.out), op.up, op.out.as_view());
    let rows = Rows::of(&[&out.layout, &gate.layout, &up.layout]);
    rows.kernel(queue, Stem::SiluMul, "silu_mul")?
        .pointer("gate", address(gate))
        .pointer("up", address(up))
        .pointer("out", address(out))
        .u64("gate_stride", rows.stride(&gate.layout))
        .u64("up_stride", rows.stride(&up.layout))
        .u64("out_stride", rows.stride(&out.layout))
        .u32("rows", rows.count)
        .u32("n", rows.n)
        .u32("quads", rows.quads(&[gate, up, out]))
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
