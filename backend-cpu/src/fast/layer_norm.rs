//! Layer normalisation of rows: a pass for the mean, one for the variance, one for the result.

use kernels::ops::LayerNorm;
use kernels::{Numerics, OpForm};

use super::F32;
use super::round::round;
use super::rows::Rows;
use super::sums::{dot, sum};
use super::threads::Threads;
use crate::HostBuffer;

pub fn layer_norm(threads: &Threads, op: LayerNorm<'_, HostBuffer>) {
    let (weight, bias) = (Rows::of(op.weight), op.bias.map(Rows::of));
    threads.map_rows(&op.x, op.out, |_, row| {
        let mean = sum(row) / row.len() as f32;
        row.iter_mut().for_each(|value| *value -= mean);
        let variance = dot(row, row) / row.len() as f32;
        let factor = round(1.0 / f64::from(variance + op.eps).sqrt());
        for (value, weight) in row.iter_mut().zip(weight.read(0, &mut Vec::new())) {
            *value = *value * factor * weight;
        }
        if let Some(bias) = &bias {
            for (value, bias) in row.iter_mut().zip(bias.read(0, &mut Vec::new())) {
                *value += bias;
            }
        }
    });
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
