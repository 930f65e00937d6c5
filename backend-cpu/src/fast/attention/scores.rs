//! Scores of queries with the keys of a block, and the weights that come of them.

use std::ops::Range;

use super::super::exp::exp_of_negative;
use super::super::f32_panel::{self, AT_A_TIME, Sixteen};
use super::super::round;
use super::super::rows::put;
use super::super::simd::{Rows16, Simd, WIDTH};

/// Lays the keys of a block side by side.
#[inline(always)]
pub fn side_by_side<'a, S: Simd>(
    s: S,
    block: &mut Vec<f32>,
    width: usize,
    count: usize,
    to: &'a mut [Sixteen],
) -> &'a [Sixteen] {
    let sixteens = count.div_ceil(f32_panel::ROWS);
    block.resize(sixteens * f32_panel::ROWS * width, 0.0);
    for (keys, to) in block.chunks_exact(f32_panel::ROWS * width).zip(&mut *to) {
        if let Some(keys) = Rows16::new(bytemuck::cast_slice(keys), 4 * width, 4 * width) {
            to.fill(s, keys);
        }
    }
    &to[..sixteens]
}

/// Scores of up to [`AT_A_TIME`] queries with the keys of a block, to the columns `at` of `scores`, which has `columns` for each query.
#[inline(always)]
pub fn score_sixteens<S: Simd>(
    s: S,
    queries: &[f32],
    keys: &[Sixteen],
    width: usize,
    scores: &mut [f32],
    columns: usize,
    at: Range<usize>,
) {
    // The last query stands in for those beyond it.
    let queries = std::array::from_fn::<_, AT_A_TIME, _>(|q| {
        &queries[(q * width).min(queries.len() - width)..][..width]
    });
    for (first, keys) in at.clone().step_by(f32_panel::ROWS).zip(keys) {
        let values = keys.products(s, queries);
        for (scores, values) in scores.chunks_exact_mut(columns).zip(&values) {
            put(&mut scores[..at.end], first, values);
        }
    }
}

/// Scores of one or two queries with all keys of a block, four at a time, to column `at` and on of `scores`, which has `columns` for each
/// query.
#[inline(always)]
pub fn score_block<S: Simd>(
    s: S,
    queries: &[f32],
    keys: &[f32],
    width: usize,
    scores: &mut [f32],
    columns: usize,
    at: usize,
) {
    let count = keys.len() / width;
    let query = |q: usize| {
        let start = (q * width).min(queries.len() - width);
        queries[start..start + width].as_chunks::<WIDTH>().0
    };
    let queries = [query(0), query(1)];
    for first in (0..count).step_by(4) {
        let key = |k: usize| {
            let key = (first + k).min(count - 1);
            &keys[key * width..(key + 1) * width].as_chunks::<WIDTH>().0[..queries[0].len()]
        };
        let keys = [key(0), key(1), key(2), key(3)];
        let mut sums = [s.splat(0.0); 8];
        for i in 0..queries[0].len() {
            let keys = [s.load(&keys[0][i]), s.load(&keys[1][i]), s.load(&keys[2][i]), s.load(&keys[3][i])];
            for q in 0..2 {
                let query = s.load(&queries[q][i]);
                for k in 0..4 {
                    sums[4 * q + k] = s.mul_add(query, keys[k], sums[4 * q + k]);
                }
            }
        }
        let values = s.array(s.totals(sums));
        for (scores, values) in scores.chunks_exact_mut(columns).zip(values.as_chunks::<4>().0) {
            for (to, value) in scores[at + first..at + count].iter_mut().zip(values) {
                *to = *value;
            }
        }
    }
}

/// Turns scores into weights, `exp(scale·score − max)`, and returns their sum. A NaN makes the sum NaN, and so does an infinite maximum
/// (`∞ − ∞`).
#[inline(always)]
pub fn weigh<S: Simd>(s: S, scores: &mut [f32], scale: f32, softcap: Option<f32>) -> f32 {
    for score in &mut *scores {
        *score = match softcap {
            None => *score * scale,
            Some(cap) => soften(*score, scale, cap),
        };
    }
    let max = largest(s, scores);
    let mut total = s.splat(0.0);
    let (full, tail) = scores.as_chunks_mut::<WIDTH>();
    for eight in full {
        let weights = exp_of_negative(s, s.sub(s.load(eight), s.splat(max)));
        *eight = s.array(weights);
        total = s.add(total, weights);
    }
    if !tail.is_empty() {
        // Padded with what weighs nothing, unless all weigh nothing and the sum is NaN anyway.
        let mut padded = [f32::NEG_INFINITY; WIDTH];
        padded[..tail.len()].copy_from_slice(tail);
        let weights = exp_of_negative(s, s.sub(s.load(&padded), s.splat(max)));
        tail.copy_from_slice(&s.array(weights)[..tail.len()]);
        total = s.add(total, weights);
    }
    s.total(total)
}

/// The largest of `x` that is a number.
#[inline(always)]
fn largest<S: Simd>(s: S, x: &[f32]) -> f32 {
    let (eights, tail) = x.as_chunks::<WIDTH>();
    let mut max = s.splat(f32::NEG_INFINITY);
    for eight in eights {
        max = s.max(s.load(eight), max);
    }
    tail.iter().fold(s.peak(max), |max, &x| if x > max { x } else { max })
}

/// `cap·tanh(scale·score / cap)`.
fn soften(score: f32, scale: f32, cap: f32) -> f32 {
    let cap = f64::from(cap);
    round(cap * (f64::from(scale) * f64::from(score) / cap).tanh())
}
