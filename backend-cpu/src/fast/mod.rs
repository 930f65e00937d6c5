//! The fast backend: f32 arithmetic on all cores, one file per op.
//!
//! Written independently of the [reference](crate::reference): what both get right is right for two reasons.
//!
//! * Work is split over *outputs* only, never over the terms of a sum, and every sum has the same shape
//!   (`sums`) whatever the number of rows. So the bits of a result depend neither on the
//!   number of threads nor on the other rows of a batch.
//! * What is read is what the op needs: no padding, no cache slot that a row does not see.
#![forbid(unsafe_code)]

mod add;
mod argmax;
mod attention;
mod blocks;
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
mod sums;
mod threads;

use kernels::{Depth, DeviceError, Float, Numerics, Op, OpForm, Stem, Support, Valid};

use crate::HostBuffer;
use crate::host::{Compute, Host};

pub use threads::Threads;

/// The fast backend, `cpu` on the command line.
pub type Fast = Host<Threads>;

impl Fast {
    /// The backend on `count` threads; one per core for 0. The results are the same for every count.
    pub fn with_threads(count: usize) -> Self {
        Host::new(Threads::new(count))
    }
}

/// Sums by `sums`. `exp` comes from the standard library, the other functions are evaluated in f64 and rounded, so 1 ulp
/// covers all of them.
const F32: Numerics =
    Numerics { depth: Depth::Lanes(sums::LANES), angle: Float::F64, function_ulps: 1.0, ..Numerics::F32 };

impl Compute for Threads {
    const NAME: &'static str = "cpu";

    fn describe(&self) -> String {
        match self.count() {
            1 => "CPU, f32, 1 thread".into(),
            n => format!("CPU, f32, {n} threads"),
        }
    }

    fn numerics(&self, op: &OpForm) -> Numerics {
        match op.stem {
            // One element at a time, in f64, rounded when stored.
            Stem::SiluMul | Stem::GeluMul => Numerics::F64,
            _ => F32,
        }
    }

    fn supports(&self, _: &OpForm) -> Support {
        Support::Yes
    }

    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        match op.into_inner() {
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
        Ok(())
    }
}

/// Nearest f32.
#[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
fn round(x: f64) -> f32 {
    x as f32
}
