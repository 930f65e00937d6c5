//! The fast backend: f32 arithmetic on all cores, one file per op.
//!
//! Written independently of the [reference](crate::reference): what both get right is right for two reasons.
//!
//! * Work is split over *outputs* only, never over the terms of a sum, and every sum has the same shape
//!   (`sums`) whatever the number of rows. So the bits of a result depend neither on the
//!   number of threads nor on the other rows of a batch.
//! * Only what the op needs is read: no padding, no cache slot outside a row's mask.
#![allow(
    clippy::inline_always,
    reason = "a kernel is compiled with vector instructions only where it is inlined into `Simd::run`"
)]

mod add;
mod argmax;
mod attention;
mod blocks;
mod cast;
mod copy;
mod dequantize;
mod embed;
mod exp;
mod f32_panel;
mod fill;
mod float16;
mod gelu_mul;
mod int8_block;
mod kv_write;
mod matmul;
mod mul;
mod pool;
mod prefetch;
mod quantize;
mod rms_norm;
mod roofline;
mod rope;
mod rope_table;
mod round;
mod rows;
mod scale;
mod silu_mul;
mod simd;
mod softmax;
mod sums;
mod threads;
mod work_stealing;

use kernels::{DType, Depth, DeviceError, Float, Numerics, Op, OpForm, Stem, Support, Valid, Weights};

use crate::HostBuffer;
use crate::host::{Compute, Host};

pub use roofline::Roofline;
pub use threads::{Activations, Threads};

/// The fast backend, `cpu` on the command line.
pub type Fast = Host<Threads>;

impl Fast {
    /// The backend on `count` threads; one per core for 0. The results are the same for every count.
    pub fn with_threads(count: usize) -> Self {
        Host::new(Threads::new(count))
    }

    /// The same with exact activations, `cpu-exact` on the command line.
    pub fn exact(count: usize) -> Self {
        Host::new(Threads::new(count).with_activations(Activations::Exact))
    }
}

/// Sums by `sums`. `exp` comes from the standard library, the other functions are evaluated in f64 and rounded, so 1 ulp
/// covers all of them.
const F32: Numerics =
    Numerics { depth: Depth::Lanes(sums::LANES), angle: Float::F64, function_ulps: 1.0, ..Numerics::F32 };

impl Compute for Threads {
    fn name(&self) -> &'static str {
        match self.activations() {
            Activations::Int8 => "cpu",
            Activations::Exact => "cpu-exact",
        }
    }

    fn describe(&self) -> String {
        let (arch, activations) = (
            self.arch().name(),
            match self.activations() {
                Activations::Int8 => "8-bit",
                Activations::Exact => "exact",
            },
        );
        match self.count() {
            1 => format!("CPU, {arch}, {activations} activations, 1 thread"),
            n => format!("CPU, {arch}, {activations} activations, {n} threads"),
        }
    }

    fn numerics(&self, op: &OpForm) -> Numerics {
        match op.stem {
            // One element at a time, in f64, rounded when stored.
            Stem::GeluMul => Numerics::F64,
            Stem::SiluMul => Numerics { function_ulps: exp::ULPS, ..F32 },
            // The columns of a result are summed slot after slot.
            Stem::Attention => Numerics { depth: Depth::Any, function_ulps: exp::ULPS, ..F32 },
            Stem::Matmul => self.product_numerics(op.layout("weight").map(kernels::Layout::dtype)),
            _ => F32,
        }
    }

    fn supports(&self, _: &OpForm) -> Support {
        Support::Yes
    }

    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        self.perform(op.into_inner());
        Ok(())
    }

    /// All products as one batch, everything else one by one.
    fn run_together(&self, ops: Vec<Valid<Op<'_, HostBuffer>>>) -> Result<(), (usize, DeviceError)> {
        let mut products = Vec::new();
        for op in ops {
            match op.into_inner() {
                Op::Matmul(op) => products.push(op),
                op => self.perform(op),
            }
        }
        matmul::matmul_batch(self, products);
        Ok(())
    }
}

impl Threads {
    /// Computes `op`.
    fn perform(&self, op: Op<'_, HostBuffer>) {
        match op {
            Op::Embed(op) => embed::embed(self, op),
            Op::RmsNorm(op) => rms_norm::rms_norm(self, op),
            Op::Matmul(op) => matmul::matmul(self, op),
            Op::Rope(op) => rope::rope(self, op),
            Op::KvWrite(op) => kv_write::kv_write(self, op),
            Op::Attention(op) => attention::attention(self, op),
            Op::Softmax(op) => softmax::softmax(self, op),
            Op::SiluMul(op) => silu_mul::silu_mul(self, op),
            Op::GeluMul(op) => gelu_mul::gelu_mul(self, op),
            Op::Add(op) => add::add(self, op),
            Op::Mul(op) => mul::mul(self, op),
            Op::Scale(op) => scale::scale(self, op),
            Op::Argmax(op) => argmax::argmax(self, op),
            Op::Dequantize(op) => dequantize::dequantize(self, op),
            Op::Quantize(op) => quantize::quantize(self, op),
            Op::Cast(op) => cast::cast(self, op),
            Op::Copy(op) => copy::copy(self, op),
            Op::Fill(op) => fill::fill(self, op),
        }
    }

    /// How a product with weights of type `dtype` is computed.
    fn product_numerics(&self, dtype: Option<DType>) -> Numerics {
        let exact = Numerics { depth: Depth::Lanes(simd::WIDTH), ..F32 };
        let Some(dtype) = dtype else { return exact };
        if DType::FLOATS.contains(&dtype) || self.activations() == Activations::Exact {
            return exact;
        }
        Numerics {
            // A sum of integers has no roundings; what is left is one addition for each group of 32, and one for its offset.
            depth: Depth::Lanes(int8_block::INT8_BLOCK / 2),
            activations: kernels::Activations::Int8 { block: int8_block::INT8_BLOCK, scale: Float::F32 },
            weights: if matmul::has_offsets(dtype) { Weights::Factored } else { Weights::Decoded },
            ..F32
        }
    }
}
