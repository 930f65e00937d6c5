//! Softmax of rows.

use kernels::ops::Softmax;

use super::Threads;
use super::sums::sum;
use crate::HostBuffer;

pub fn softmax(threads: &Threads, op: Softmax<'_, HostBuffer>) {
    threads.transform(&op.x, op.out, |_, row| {
        for value in &mut *row {
            *value *= op.scale;
        }
        let total = exponentials(row);
        for value in row {
            *value /= total;
        }
    });
}

/// Replaces each score by `exp(score − max)` and returns the sum of these. A NaN makes the sum NaN, and so does an infinite
/// maximum (`∞ − ∞`).
pub fn exponentials(scores: &mut [f32]) -> f32 {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for score in &mut *scores {
        *score = (*score - max).exp();
    }
    sum(scores)
}
