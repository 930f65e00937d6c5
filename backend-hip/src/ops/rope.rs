//! Launch of `rope.hip`: chunks of pairs of each row, and chunks of what is copied.

use kernels::ops::Rope;
use kernels::ops::rope::{Pairing, Scaling, correction_range};
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Source, Stem};

use super::{Queue, address};
use crate::memory::DeviceBuffer;

/// Threads of a block.
const BLOCK: u32 = 128;
/// Pairs, or elements to copy, that a block takes of each head.
const CHUNK: usize = 32;

/// What the kernel is told about [`Scaling`], as `rope.hip` names it.
struct Stretch {
    divided: f64,
    extrapolation: f64,
    low: f64,
    span: f64,
    magnitude: f64,
}

impl Stretch {
    fn of(op: &Rope<'_, DeviceBuffer>) -> Self {
        let linear = |divided| Stretch { divided, extrapolation: 0.0, low: 0.0, span: 1.0, magnitude: 1.0 };
        match op.scaling {
            Scaling::None => linear(1.0),
            Scaling::Linear { factor } => linear(1.0 / f64::from(factor)),
            Scaling::Yarn { factor, original_context, beta_fast, beta_slow, extrapolation, attention } => {
                let [low, high] = correction_range(op.n_rot, op.base, original_context, beta_fast, beta_slow);
                let own = if extrapolation == 0.0 { 1.0 } else { 1.0 + 0.1 * f64::from(factor).ln() };
                Stretch {
                    divided: 1.0 / f64::from(factor),
                    extrapolation: extrapolation.into(),
                    low,
                    span: (high - low).max(0.001),
                    magnitude: f64::from(attention) * own,
                }
            }
        }
    }
}

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Rope<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x.view(&op.out), op.out.as_view());
    let [rows, heads, head_dim] = [0, 1, 2].map(|axis| out.layout.dim(axis));
    let in_place = matches!(op.x, Source::InPlace);
    let copied_to = if in_place { op.n_rot } else { head_dim };
    let chunks = (op.n_rot / 2).div_ceil(CHUNK) + (copied_to - op.n_rot).div_ceil(CHUNK);
    let positions = address(op.positions.view());
    let stretch = Stretch::of(op);
    let kernel = match op.pairing {
        Pairing::Interleaved => "rope_interleaved",
        Pairing::Neox => "rope_neox",
    };
    queue
        .kernel(Stem::Rope, kernel)?
        .grid([rows, chunks, 1])
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("positions", positions)
        .pointer("factors", op.factors.map_or(positions, address))
        .pointer("out", address(out))
        .u64("x_row", x.layout.stride(0))
        .u64("x_head", x.layout.stride(1))
        .u64("out_row", out.layout.stride(0))
        .u64("out_head", out.layout.stride(1))
        .u32("heads", heads)
        .u32("n_rot", op.n_rot)
        .u32("copied_to", copied_to)
        .u32("has_factors", usize::from(op.factors.is_some()))
        .f64("log2_step", -2.0 * f64::from(op.base).log2() / op.n_rot as f64)
        .f64("divided", stretch.divided)
        .f64("extrapolation", stretch.extrapolation)
        .f64("low", stretch.low)
        .f64("span", stretch.span)
        .f64("magnitude", stretch.magnitude)
        .run(queue.stream)
}

/// Where a head takes a further block of pairs.
pub(super) fn breakpoints(_: &OpForm) -> Vec<Breakpoint> {
    vec![Breakpoint::dim("out", 2, 2 * CHUNK)]
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}
