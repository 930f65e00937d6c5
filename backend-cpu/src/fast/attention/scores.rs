//! Scores of queries with the keys of a block, and their softmax weights.

use std::ops::Range;

use super::super::exp::exp_of_negative;
use super::super::f32_panel::{F32Panel, TILE_ROWS};
use super::super::round::round;
use super::super::rows::store_clipped;
use super::super::simd::{PANEL_ROWS, RowPanel, Simd, WIDTH};

/// Packs the `count` keys of a block into panels, zero-padded to whole panels.
#[inline(always)]
pub fn pack_keys<'a, S: Simd>(
    s: S,
    block: &mut Vec<f32>,
    width: usize,
    count: usize,
    to: &'a mut [F32Panel],
) -> &'a [F32Panel] {
    let panels = count.div_ceil(PANEL_ROWS);
    block.resize(panels * PANEL_ROWS * width, 0.0);
    for (keys, to) in block.chunks_exact(PANEL_ROWS * width).zip(&mut *to) {
        let keys = RowPanel::new(bytemuck::cast_slice(keys), 4 * width, 4 * width);
        to.pack(s, keys.expect("a chunk has the rows of a panel"));
    }
    &to[..panels]
}

/// Stores the scores of up to [`TILE_ROWS`] queries with the keys of a block in columns `at` of `scores`, which has `columns` for each
/// query.
#[inline(always)]
pub fn score_panels<S: Simd>(
    s: S,
    queries: &[f32],
    keys: &[F32Panel],
    width: usize,
    scores: &mut [f32],
    columns: usize,
    at: Range<usize>,
) {
    // Beyond the last query, the last query again.
    let queries = std::array::from_fn::<_, TILE_ROWS, _>(|q| {
        &queries[(q * width).min(queries.len() - width)..][..width]
    });
    for (first, keys) in at.clone().step_by(PANEL_ROWS).zip(keys) {
        let values = keys.multiply(s, queries);
        for (scores, values) in scores.chunks_exact_mut(columns).zip(&values) {
            store_clipped(&mut scores[..at.end], first, values);
        }
    }
}

/// Stores the scores of one or two queries with all keys of a block, four at a time, from column `at` of `scores` on, which has `columns`
/// for each query.
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
        let values = s.array(s.reduce_add_rows(sums));
        for (scores, values) in scores.chunks_exact_mut(columns).zip(values.as_chunks::<4>().0) {
            for (to, value) in scores[at + first..at + count].iter_mut().zip(values) {
                *to = *value;
            }
        }
    }
}

/// Replaces scores by their softmax weights before normalisation, `exp(scale·score − max)`, and returns the sum. A NaN makes the sum NaN,
/// and so does an infinite maximum (`∞ − ∞`).
#[inline(always)]
pub fn softmax_weights<S: Simd>(s: S, scores: &mut [f32], scale: f32, softcap: Option<f32>) -> f32 {
    for score in &mut *scores {
        *score = match softcap {
            None => *score * scale,
            Some(cap) => soft_cap(*score, scale, cap),
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
        // The padding has weight 0, unless all scores are −∞; the sum is NaN then.
        let mut padded = [f32::NEG_INFINITY; WIDTH];
        padded[..tail.len()].copy_from_slice(tail);
        let weights = exp_of_negative(s, s.sub(s.load(&padded), s.splat(max)));
        tail.copy_from_slice(&s.array(weights)[..tail.len()]);
        total = s.add(total, weights);
    }
    s.reduce_add(total)
}

/// The largest element of `x` that is not NaN.
#[inline(always)]
fn largest<S: Simd>(s: S, x: &[f32]) -> f32 {
    let (eights, tail) = x.as_chunks::<WIDTH>();
    let mut max = s.splat(f32::NEG_INFINITY);
    for eight in eights {
        max = s.max(s.load(eight), max);
    }
    tail.iter().fold(s.reduce_max(max), |max, &x| if x > max { x } else { max })
}

/// `cap·tanh(scale·score / cap)`.
fn soft_cap(score: f32, scale: f32, cap: f32) -> f32 {
    let cap = f64::from(cap);
    round(cap * (f64::from(scale) * f64::from(score) / cap).tanh())
}
