//! The host's side of each op: which kernel, which launch shape, which arguments.

mod add;
mod argmax;
mod attention;
mod cast;
mod copy;
mod dequantize;
mod embed;
mod fill;
mod gelu_mul;
mod kv_write;
mod matmul;
mod mul;
mod quantize;
mod rms_norm;
mod rope;
mod rows;
mod scale;
mod silu_mul;
mod softmax;

use kernels::{Depth, DeviceError, Layout, Numerics, Op, OpForm, Stem, Support, Valid, View};

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

/// Bytes from one row of a matrix to the next.
fn row_bytes(layout: &Layout) -> usize {
    layout.row_offset(&[1]) - layout.offset()
}

/// Starts `op`.
pub(crate) fn launch(queue: Queue<'_>, op: Valid<Op<'_, DeviceBuffer>>) -> Result<(), DeviceError> {
    match op.into_inner() {
        Op::Add(op) => add::launch(queue, &op),
        Op::Argmax(op) => argmax::launch(queue, &op),
        Op::Attention(op) => attention::launch(queue, &op),
        Op::Cast(op) => cast::launch(queue, &op),
        Op::Copy(op) => copy::launch(queue, &op),
        Op::Dequantize(op) => dequantize::launch(queue, &op),
        Op::Embed(op) => embed::launch(queue, &op),
        Op::Fill(op) => fill::launch(queue, &op),
        Op::GeluMul(op) => gelu_mul::launch(queue, &op),
        Op::KvWrite(op) => kv_write::launch(queue, &op),
        Op::Matmul(op) => matmul::launch(queue, &op),
        Op::Mul(op) => mul::launch(queue, &op),
        Op::Quantize(op) => quantize::launch(queue, &op),
        Op::RmsNorm(op) => rms_norm::launch(queue, &op),
        Op::Rope(op) => rope::launch(queue, &op),
        Op::Scale(op) => scale::launch(queue, &op),
        Op::SiluMul(op) => silu_mul::launch(queue, &op),
        Op::Softmax(op) => softmax::launch(queue, &op),
    }
}

/// Whether the kernels take these operands.
pub(crate) fn supports(form: &OpForm) -> Support {
    if let Some((name, _, layout)) = form.operands.iter().find(|(.., layout)| too_long(layout)) {
        return Support::No(format!("'{name}' {layout:?} has a dimension beyond 2^31 - 1"));
    }
    match form.stem {
        Stem::Attention => attention::supports(form),
        _ => Support::Yes,
    }
}

/// Kernels count in 32 bits.
fn too_long(layout: &Layout) -> bool {
    layout.shape().iter().any(|&extent| i32::try_from(extent).is_err())
}

/// How the kernels compute.
pub(crate) fn numerics(form: &OpForm) -> Numerics {
    match form.stem {
        Stem::Attention => Numerics { depth: Depth::Lanes(attention::LANES), ..Numerics::F32 },
        Stem::Matmul => Numerics { depth: matmul::depth(form), ..Numerics::F32 },
        Stem::RmsNorm => Numerics { depth: Depth::Lanes(rms_norm::BLOCK as usize), ..Numerics::F32 },
        Stem::Softmax => Numerics { depth: Depth::Lanes(softmax::BLOCK as usize), ..Numerics::F32 },
        _ => Numerics::F32,
    }
}
