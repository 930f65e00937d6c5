//! Root-mean-square normalisation of rows.

use kernels::ops::RmsNorm;
use kernels::{Numerics, OpForm};

use super::F32;
use super::round::round;
use super::rows::Rows;
use super::sums::dot;
use super::threads::Threads;
use crate::HostBuffer;

pub fn rms_norm(threads: &Threads, op: RmsNorm<'_, HostBuffer>) {
    let weight = Rows::of(op.weight);
    threads.map_rows(&op.x, op.out, |_, row| {
        let mean_square = dot(row, row) / row.len() as f32;
        let factor = round(1.0 / f64::from(mean_square + op.eps).sqrt());
        for (value, weight) in row.iter_mut().zip(weight.read(0, &mut Vec::new())) {
            *value = *value * factor * weight;
        }
    });
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
