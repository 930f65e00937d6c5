//! Softmax of rows.

use kernels::ops::Softmax;
use kernels::{Numerics, OpForm};

use super::F32;
use super::round::round;
use super::sums::sum;
use super::threads::Threads;
use crate::HostBuffer;

pub fn softmax(threads: &Threads, op: Softmax<'_, HostBuffer>) {
    threads.map_rows(&op.x, op.out, |_, row| {
        let total = exponentials(row, op.scale);
        for value in row {
            *value /= total;
        }
    });
}

/// Replaces each score `s` by `exp(scale·s − max)` and returns the sum of these.
///
/// The arguments are formed in f64, where the products are exact and nothing overflows. A NaN makes the sum NaN, and so does
/// an infinite maximum (`∞ − ∞`).
pub fn exponentials(scores: &mut [f32], scale: f32) -> f32 {
    let scaled = |score: f32| f64::from(scale) * f64::from(score);
    let max = scores.iter().map(|&score| scaled(score)).fold(f64::NEG_INFINITY, f64::max);
    for score in &mut *scores {
        *score = round(scaled(*score) - max).exp();
    }
    sum(scores)
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
