//! The host's side of each op: which kernel, which launch shape, which arguments.

mod norms;
mod rows;

use kernels::{Breakpoint, DeviceError, Layout, Numerics, Op, OpForm, Stem, Support, View};

use crate::launch::Launch;
use crate::memory::DeviceBuffer;
use crate::module::Modules;
use crate::stream::HipStream;

/// Where an op is launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue<'q> {
    pub modules: &'q Modules,
    pub stream: &'q HipStream,
}

impl Queue<'_> {
    /// A launch of kernel `name` of the object of `stem`.
    fn kernel(&self, stem: Stem, name: &str) -> Result<Launch, DeviceError> {
        Ok(Launch::new(self.modules.function(stem.name(), name)?))
    }
}

/// Address of a tensor's first element.
fn address(view: View<'_, DeviceBuffer>) -> u64 {
    view.buffer.address(view.layout.offset())
}

/// Most rows of a grid in y, `GRID_ROWS` of `common.h`. More are in z.
const GRID_ROWS: usize = 1 << 12;
/// Blocks of a grid in z.
const GRID_DEPTH: usize = 65_535;

/// The grid of kernels that take a row in `parts` blocks.
fn grid(parts: usize, rows: usize) -> [usize; 3] {
    [parts, rows.min(GRID_ROWS), rows.div_ceil(GRID_ROWS)]
}

/// Bytes from one row of a matrix to the next.
fn row_bytes(layout: &Layout) -> usize {
    layout.row_offset(&[1]) - layout.offset()
}

/// Declares a module per op: its `launch` starts the op, its `numerics` says how the kernel computes, its
/// `breakpoints` at which sizes it goes another way.
macro_rules! ops {
    ($($op:ident $Op:ident,)+) => {
        $(mod $op;)+

        /// Starts `op`, which has passed validation and whose floats are f32.
        pub(crate) fn launch(queue: Queue<'_>, op: Op<'_, DeviceBuffer>) -> Result<(), DeviceError> {
            match op { $(Op::$Op(op) => $op::launch(queue, &op),)+ }
        }

        /// How the kernels compute.
        pub(crate) fn numerics(form: &OpForm) -> Numerics {
            match form.stem { $(Stem::$Op => $op::numerics(form),)+ }
        }

        /// Where the kernels change from one way of computing to another.
        pub(crate) fn breakpoints(form: &OpForm) -> Vec<Breakpoint> {
            match form.stem { $(Stem::$Op => $op::breakpoints(form),)+ }
        }
    };
}
kernels::for_each_op!(ops);

/// Whether the kernels take these operands.
pub(crate) fn supports(form: &OpForm) -> Support {
    if let Some((name, _, layout)) = form.operands.iter().find(|(.., layout)| too_long(layout)) {
        return Support::No(format!("'{name}' {layout:?} has a dimension beyond 2^31 - 1"));
    }
    match form.stem {
        Stem::Attention => attention::supports(form),
        _ if too_many_rows(form) => Support::No(format!("more than {GRID_ROWS} · {GRID_DEPTH} rows")),
        _ => Support::Yes,
    }
}

/// Whether an op that takes rows in y and z of a grid has more than that. Of some, dense operands are one row.
fn too_many_rows(form: &OpForm) -> bool {
    let apart = |layout: &Layout| match form.stem {
        Stem::Embed | Stem::Dequantize | Stem::Quantize => true,
        Stem::Add
        | Stem::Mul
        | Stem::Scale
        | Stem::SiluMul
        | Stem::GeluMul
        | Stem::Cast
        | Stem::Copy
        | Stem::Fill => !layout.is_contiguous(),
        _ => false,
    };
    form.layout("out").is_some_and(|out| out.dim(0).div_ceil(GRID_ROWS) > GRID_DEPTH && apart(out))
}

/// Kernels count in 32 bits.
fn too_long(layout: &Layout) -> bool {
    layout.shape().iter().any(|&extent| i32::try_from(extent).is_err())
}
