//! [`kernels::ops::attention`] in f64.

use std::ops::RangeInclusive;

use kernels::View;
use kernels::ops::Attention;
use kernels::ops::attention::{Element, Means};
use kernels::ops::softmax::FAR;
use ndarray::{Array2, Array3, ArrayView1, Axis, Ix3};
use rayon::prelude::*;

use super::array::{array, decode_row};
use crate::HostBuffer;

pub(super) fn attention(op: &Attention<'_, HostBuffer>) -> Array3<Element> {
    let q = array::<Ix3>(&op.q);
    let (rows, heads, dim) = q.dim();
    let kv_heads = op.k_cache.layout.dim(2);
    let pairs: Vec<_> = (0..rows).flat_map(|row| (0..kv_heads).map(move |kv_head| (row, kv_head))).collect();
    let groups = pairs.into_par_iter().flat_map_iter(|(row, kv_head)| {
        let seq = op.seqs.values()[row] as usize;
        let slots = seen(op.positions.values()[row] as usize, op.window);
        let k = decoded(&op.k_cache, seq, slots.clone(), kv_head);
        let v = decoded(&op.v_cache, seq, slots, kv_head);
        let group = heads / kv_heads;
        let queries = q.index_axis(Axis(0), row);
        let queries = queries.rows().into_iter().skip(kv_head * group).take(group);
        queries.flat_map(|query| attend(&query, &k, &v, op)).collect::<Vec<_>>()
    });
    Array3::from_shape_vec((rows, heads, dim), groups.collect()).expect("one element per output")
}

/// Slots that a row at `position` sees.
fn seen(position: usize, window: Option<usize>) -> RangeInclusive<usize> {
    let first = window.map_or(0, |window| (position + 1).saturating_sub(window));
    first..=position
}

/// One head of the slots of a sequence, `[slots, head_dim]`.
fn decoded(
    cache: &View<'_, HostBuffer>,
    seq: usize,
    slots: RangeInclusive<usize>,
    head: usize,
) -> Array2<f32> {
    let mut values = Array2::zeros((slots.clone().count(), cache.layout.dim(3)));
    for (slot, mut row) in slots.zip(values.rows_mut()) {
        decode_row(cache, &[seq, slot, head], row.as_slice_mut().expect("a fresh array is dense"));
    }
    values
}

/// The elements of one query head over the keys and values that it sees, each `[keys, head_dim]`.
fn attend(
    query: &ArrayView1<'_, f32>,
    k: &Array2<f32>,
    v: &Array2<f32>,
    op: &Attention<'_, HostBuffer>,
) -> Vec<Element> {
    let (keys, dim) = k.dim();
    let (scale, softcap) = (f64::from(op.scale), op.softcap.map(f64::from));
    let scores: Vec<Score> = k.rows().into_iter().map(|k| Score::new(query, &k, scale, softcap)).collect();
    let highest = scores.iter().map(|s| s.z).fold(f64::NEG_INFINITY, f64::max);
    let weights = Weights::new(scores.iter().map(|s| (s.z - highest).exp()).collect());

    // A far key counts with magnitude 0.
    let near = |s: &Score, magnitude: f64| if s.is_far(highest) { 0.0 } else { magnitude };
    let dots: Vec<f64> = scores.iter().map(|s| near(s, s.magnitude)).collect();
    let arguments: Vec<f64> = scores.iter().map(|s| near(s, s.z.abs() + (s.z - highest).abs())).collect();
    let (max_dot, max_argument) = (largest(dots.iter().copied()), largest(arguments.iter().copied()));
    let mean_dot = weights.mean(dots.iter().copied());
    let mean_argument = weights.mean(arguments.iter().copied());

    let underflows = largest(scores.iter().map(|s| s.key)) + (1.0 + scale.abs()) * (dim + 4) as f64;
    let scaled_query = scale.abs() * largest(query.iter().map(|&q| q.abs().into()));
    let peak = largest(scores.iter().map(|s| s.peak)).max(scaled_query);

    let column = |v: ArrayView1<'_, f32>| {
        let v = || v.iter().copied().map(f64::from);
        let with_values = |x: &[f64]| weights.mean(x.iter().zip(v()).map(|(x, v)| x * v.abs()));
        let values = weights.mean(v().map(f64::abs));
        Element {
            y: weights.mean(v()),
            keys,
            dim,
            capped: softcap.is_some(),
            values,
            dots: Means { plain: mean_dot, with_values: with_values(&dots), max: max_dot },
            arguments: Means {
                plain: mean_argument,
                with_values: with_values(&arguments),
                max: max_argument,
            },
            reach: v().map(f64::abs).sum(),
            underflows,
            peak: peak.max(values * weights.sum),
        }
    };
    v.columns().into_iter().map(column).collect()
}

/// Weights of the keys, not yet normalised.
struct Weights {
    each: Vec<f64>,
    sum: f64,
}

impl Weights {
    fn new(each: Vec<f64>) -> Self {
        Weights { sum: each.iter().sum(), each }
    }

    /// `Σ wᵢ·xᵢ / Σ w`.
    fn mean(&self, x: impl Iterator<Item = f64>) -> f64 {
        self.each.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() / self.sum
    }
}

fn largest(x: impl Iterator<Item = f64>) -> f64 {
    x.fold(0.0, f64::max)
}

/// How a query meets one key.
struct Score {
    /// The score, capped where there is a cap.
    z: f64,
    /// What its error scales with.
    magnitude: f64,
    /// Largest sum that may arise on the way to it.
    peak: f64,
    /// `Σ|k|`.
    key: f64,
}

impl Score {
    fn new(query: &ArrayView1<'_, f32>, key: &ArrayView1<'_, f32>, scale: f64, softcap: Option<f64>) -> Self {
        let products = || query.iter().zip(key).map(|(&q, &k)| f64::from(q) * f64::from(k));
        let score = scale * products().sum::<f64>();
        let sum = products().map(f64::abs).sum::<f64>();
        let magnitude = scale.abs() * sum;
        let damping = match softcap {
            Some(c) if magnitude <= 8.0 * score.abs() => (4.0 * (-score.abs() / c).exp()).min(1.0),
            _ => 1.0,
        };
        Score {
            z: softcap.map_or(score, |c| c * (score / c).tanh()),
            magnitude: magnitude * damping,
            peak: sum.max(magnitude),
            key: key.iter().map(|&k| f64::from(k).abs()).sum(),
        }
    }

    /// Whether the weight is nothing in any arithmetic, `highest` being the largest score.
    fn is_far(&self, highest: f64) -> bool {
        let gap = self.z - highest;
        gap < -FAR && self.magnitude <= 8.0 * gap.abs() && self.z.abs() <= 8.0 * gap.abs()
    }
}
