//! The reference: f64 arithmetic, written to be read, and the oracle of the conformance suite.
//!
//! Each op's file has one function that computes the exact result, element by element, together with what
//! the error of a correct implementation scales with (the `Element` of the op's page in [`kernels::ops`]). The reference
//! backend stores the values; the oracle keeps the rest as well.
#![forbid(unsafe_code)]

mod add;
mod answer;
mod argmax;
mod array;
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
mod scale;
mod silu_mul;
mod softmax;

use kernels::{DeviceError, Expected, Numerics, Op, OpForm, Support, Valid};

use crate::HostBuffer;
use crate::host::{Compute, Host};
use answer::Answer;

/// The reference backend, `ref` on the command line.
pub type Reference = Host<Exact>;

/// Computes by the functions of this module.
#[derive(Clone, Debug, Default)]
pub struct Exact(());

/// What is right for each output of `op`, for a backend that computes as `numerics` says.
pub fn oracle(op: &Valid<Op<'_, HostBuffer>>, numerics: &Numerics) -> Vec<Expected> {
    answers(op).into_iter().map(|answer| answer.expected(numerics)).collect()
}

/// The exact outputs of `op`, in the order of its struct.
fn answers(op: &Op<'_, HostBuffer>) -> Vec<Answer> {
    match op {
        Op::Embed(op) => vec![Answer::Bits(embed::embed(op))],
        Op::RmsNorm(op) => vec![Answer::judged(rms_norm::rms_norm(op))],
        Op::Matmul(op) => vec![Answer::judged(matmul::matmul(op))],
        Op::Rope(op) => vec![Answer::judged(rope::rope(op))],
        Op::KvWrite(op) => kv_write::kv_write(op).map(Answer::Bits).into(),
        Op::Attention(op) => vec![Answer::judged(attention::attention(op))],
        Op::Softmax(op) => vec![Answer::judged(softmax::softmax(op))],
        Op::SiluMul(op) => vec![Answer::judged(silu_mul::silu_mul(op))],
        Op::GeluMul(op) => vec![Answer::judged(gelu_mul::gelu_mul(op))],
        Op::Add(op) => vec![Answer::judged(add::add(op))],
        Op::Mul(op) => vec![Answer::judged(mul::mul(op))],
        Op::Scale(op) => vec![Answer::judged(scale::scale(op))],
        Op::Argmax(op) => vec![Answer::Bits(argmax::argmax(op))],
        Op::Dequantize(op) => vec![Answer::Bits(dequantize::dequantize(op))],
        Op::Quantize(op) => vec![Answer::Bits(quantize::quantize(op))],
        Op::Cast(op) => vec![Answer::Bits(cast::cast(op))],
        Op::Copy(op) => vec![Answer::Bits(copy::copy(op))],
        Op::Fill(op) => vec![Answer::Bits(fill::fill(op))],
    }
}

impl Compute for Exact {
    fn name(&self) -> &'static str {
        "ref"
    }

    fn describe(&self) -> String {
        "CPU, f64 reference".into()
    }

    fn numerics(&self, _: &OpForm) -> Numerics {
        Numerics::F64
    }

    fn supports(&self, _: &OpForm) -> Support {
        Support::Yes
    }

    fn run(&self, op: Valid<Op<'_, HostBuffer>>) -> Result<(), DeviceError> {
        let answers = match &*op {
            // A model spends its time here, and only the oracle asks for what errors scale with.
            Op::Matmul(op) => vec![Answer::Bits(matmul::values(op))],
            op => answers(op),
        };
        for (mut out, answer) in op.into_inner().into_outputs().into_iter().zip(answers) {
            answer.store(&mut out);
        }
        Ok(())
    }
}
