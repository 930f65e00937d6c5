//! The derivations of the op pages, put to the test.
//!
//! For each bounded op, in two directions: f32 implementations that sum in various orders stay inside the bound, and an
//! implementation that leaves out one term of an exact case falls outside. A bound that is too tight fails the first,
//! one that is too loose the second.

#![expect(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

mod attention;
mod correctly_rounded;
mod gelu_mul;
mod layer_norm;
mod matmul;
mod rms_norm;
mod rope;
mod silu_mul;
mod softmax;

use backend_cpu::HostBuffer;
use backend_cpu::reference::{Reference, oracle};
use kernels::{Backend, DType, Layout, Numerics, Record, Role, SplitMix64, Verdict};

/// A dense f32 input.
pub fn input(record: Record, name: &str, shape: &[usize], values: &[f32]) -> Record {
    record.operand(
        name,
        Role::Input,
        Layout::contiguous(DType::F32, shape),
        bytemuck::cast_slice(values).to_vec(),
    )
}

/// A dense `u32` operand whose values the host knows.
pub fn indices(record: Record, name: &str, values: &[u32]) -> Record {
    let layout = Layout::contiguous(DType::U32, &[values.len()]);
    record.operand(name, Role::Indices, layout, bytemuck::cast_slice(values).to_vec())
}

/// A dense f32 output.
pub fn output(record: Record, name: &str, shape: &[usize]) -> Record {
    let layout = Layout::contiguous(DType::F32, shape);
    record.operand(name, Role::Output, layout, vec![0; layout.byte_range().unwrap().end])
}

/// Compares `got` with the oracle's answer to `record`, an op of one output, for a backend that computes as `numerics` says.
pub fn judge(record: &Record, numerics: &Numerics, got: &[f32]) -> Verdict {
    let backend = Reference::default();
    let stream = backend.stream().unwrap();
    let mut buffers: Vec<HostBuffer> = record.upload(&backend, &stream).unwrap();
    let op = record.bind(&mut buffers).unwrap().validate().unwrap();
    let layout = record.operands().iter().find(|o| o.role == Role::Output).unwrap().layout;
    oracle(&op, numerics)[0].judge(&layout, bytemuck::cast_slice(got))
}

/// Uniform numbers in -1..1 from a seed.
pub struct Numbers(SplitMix64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Numbers(SplitMix64::new(seed))
    }

    pub(crate) fn next(&mut self) -> f32 {
        let top = u32::try_from(self.0.next_u64() >> 40).unwrap();
        f32::from_bits(0x3f80_0000 | (top >> 1)).mul_add(2.0, -3.0)
    }

    pub(crate) fn take(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.next()).collect()
    }
}

/// The orders of summation in which correct implementations differ.
pub const ORDERS: [fn(&[f32]) -> f32; 4] = [forward, backward, lanes, pairwise];

fn forward(terms: &[f32]) -> f32 {
    terms.iter().sum()
}

fn backward(terms: &[f32]) -> f32 {
    terms.iter().rev().sum()
}

fn lanes(terms: &[f32]) -> f32 {
    let mut partial = [0.0f32; 8];
    for (i, term) in terms.iter().enumerate() {
        partial[i % 8] += term;
    }
    pairwise(&partial)
}

fn pairwise(terms: &[f32]) -> f32 {
    match terms {
        [] => 0.0,
        [one] => *one,
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            pairwise(left) + pairwise(right)
        }
    }
}
