//! [`kernels::ops::attention`] in f64.

use std::ops::Range;

use kernels::View;
use kernels::ops::Attention;
use kernels::ops::attention::{Element, Means};
use kernels::ops::softmax::FAR;
use ndarray::{Array3, ArrayView1, Axis, Ix3};
use rayon::prelude::*;

use super::array::{array, decode_row};
use super::softmax::unsteady;
use crate::HostBuffer;

/// Where a sum begins: the zero that changes no sum, not even one of negative zeros.
const NOTHING: f64 = -0.0;

pub(super) fn attention(op: &Attention<'_, HostBuffer>) -> Array3<Element> {
    let q = array::<Ix3>(&op.q);
    let (rows, heads, dim) = q.dim();
    let kv_heads = op.k_cache.layout.dim(2);
    let sequences = Sequence::of_rows(op, rows);
    let cached = pairs(sequences.len(), kv_heads).into_par_iter();
    let cached: Vec<_> = cached.map(|(s, kv_head)| CachedHead::new(op, &sequences[s], kv_head)).collect();
    let groups = pairs(rows, kv_heads).into_par_iter().flat_map_iter(|(row, kv_head)| {
        let (seq, slots) = seen(op, row);
        let nth = sequences.iter().position(|s| s.seq == seq).expect("every row is of a sequence");
        let head = &cached[nth * kv_heads + kv_head];
        let group = heads / kv_heads;
        let queries = q.index_axis(Axis(0), row);
        let queries = queries.rows().into_iter().skip(kv_head * group).take(group);
        queries.flat_map(|query| attend(&query, head, &slots, op)).collect::<Vec<_>>()
    });
    Array3::from_shape_vec((rows, heads, dim), groups.collect()).expect("one element per output")
}

/// Each of `rows` with each of `columns`.
fn pairs(rows: usize, columns: usize) -> Vec<(usize, usize)> {
    (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).collect()
}

/// Sequence of a row, and the slots that it sees.
fn seen(op: &Attention<'_, HostBuffer>, row: usize) -> (usize, Range<usize>) {
    let end = op.positions.values()[row] as usize + 1;
    let start = op.window.map_or(0, |window| end.saturating_sub(window));
    (op.seqs.values()[row] as usize, start..end)
}

/// A sequence of the cache, and the slots from the first to the last that its rows see.
struct Sequence {
    seq: usize,
    slots: Range<usize>,
}

impl Sequence {
    /// Those that the rows of `op` belong to.
    fn of_rows(op: &Attention<'_, HostBuffer>, rows: usize) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for (seq, slots) in (0..rows).map(|row| seen(op, row)) {
            match all.iter_mut().find(|s| s.seq == seq) {
                Some(s) => s.slots = s.slots.start.min(slots.start)..s.slots.end.max(slots.end),
                None => all.push(Self { seq, slots }),
            }
        }
        all
    }
}

/// Keys and values of one head of a sequence, decoded once for all rows. They lie so that every sum takes its terms in order while
/// many sums run side by side: the sums over a key for all slots, the sums over slots for all elements of a value.
struct CachedHead {
    /// The first slot.
    first: usize,
    /// Number of slots.
    slots: usize,
    /// Keys, `[head_dim, slots]`.
    k: Vec<f64>,
    /// `Σ|k|` of each slot.
    key_sums: Vec<f64>,
    /// Values, `[slots, head_dim]`.
    v: Vec<f64>,
}

impl CachedHead {
    fn new(op: &Attention<'_, HostBuffer>, sequence: &Sequence, head: usize) -> Self {
        let (first, slots) = (sequence.slots.start, sequence.slots.len());
        let dim = op.k_cache.layout.dim(3);
        let mut row = vec![0.0f32; dim];
        let mut decode = |cache: &View<'_, HostBuffer>, nth: usize, each: &mut dyn FnMut(&[f32])| {
            decode_row(cache, &[sequence.seq, first + nth, head], &mut row);
            each(&row);
        };
        let (mut k, mut key_sums) = (vec![0.0; dim * slots], Vec::with_capacity(slots));
        let mut v = Vec::with_capacity(slots * dim);
        for nth in 0..slots {
            decode(&op.k_cache, nth, &mut |row| {
                k.iter_mut().skip(nth).step_by(slots).zip(row).for_each(|(k, &x)| *k = x.into());
                key_sums.push(row.iter().map(|&x| f64::from(x).abs()).sum());
            });
            decode(&op.v_cache, nth, &mut |row| v.extend(row.iter().copied().map(f64::from)));
        }
        Self { first, slots, k, key_sums, v }
    }
}

/// The elements of one query head over the slots that it sees.
fn attend(
    query: &ArrayView1<'_, f32>,
    head: &CachedHead,
    slots: &Range<usize>,
    op: &Attention<'_, HostBuffer>,
) -> Vec<Element> {
    let (keys, dim) = (slots.len(), query.len());
    let slots = slots.start - head.first..slots.end - head.first;
    let (scale, softcap) = (f64::from(op.scale), op.softcap.map(f64::from));
    let key_sums = &head.key_sums[slots.clone()];
    let scores = scores(query, head, slots.clone(), scale, softcap);
    let highest = scores.iter().map(|s| s.z).fold(f64::NEG_INFINITY, f64::max);
    let weights = Weights::new(scores.iter().map(|s| (s.z - highest).exp()).collect());

    // A far key counts with magnitude 0.
    let near = |s: &Score, magnitude: f64| if s.is_far(highest) { 0.0 } else { magnitude };
    let dots: Vec<f64> = scores.iter().map(|s| near(s, s.magnitude)).collect();
    let arguments: Vec<f64> = scores.iter().map(|s| near(s, s.z.abs() + (s.z - highest).abs())).collect();
    let unsteady = unsteady(&scores.iter().map(|s| s.z).collect::<Vec<_>>());
    let unsteady: Vec<f64> = scores.iter().zip(unsteady).map(|(s, u)| near(s, u)).collect();
    let (max_dot, max_argument, max_unsteady) = (largest(&dots), largest(&arguments), largest(&unsteady));
    let (mean_dot, mean_argument) = (weights.mean(&dots), weights.mean(&arguments));
    let mean_unsteady = weights.mean(&unsteady);

    let underflows = largest(key_sums) + (1.0 + scale.abs()) * (dim + 4) as f64;
    let scaled_query = scale.abs() * query.iter().map(|&q| q.abs().into()).fold(0.0, f64::max);
    let peak = scores.iter().map(|s| s.peak).fold(0.0, f64::max).max(scaled_query);

    let mut sums = ValueSums::new(dim);
    let values = head.v[slots.start * dim..slots.end * dim].chunks_exact(dim);
    let keys_of = dots.iter().zip(&arguments).zip(&unsteady);
    for ((values, &w), ((&dot, &argument), &unsteady)) in values.zip(&weights.each).zip(keys_of) {
        sums.add(values, w, [dot, argument, unsteady]);
    }
    let mean = |sum: f64| sum / weights.sum;
    let element = |d: usize| {
        let values = mean(sums.magnitudes[d]);
        Element {
            y: mean(sums.values[d]),
            keys,
            dim,
            capped: softcap.is_some(),
            values,
            dots: Means { plain: mean_dot, with_values: mean(sums.dots[d]), max: max_dot },
            arguments: Means {
                plain: mean_argument,
                with_values: mean(sums.arguments[d]),
                max: max_argument,
            },
            unsteady: Means { plain: mean_unsteady, with_values: mean(sums.unsteady[d]), max: max_unsteady },
            largest: 1.0 / weights.sum,
            reach: sums.reach[d],
            underflows,
            peak: peak.max(values * weights.sum),
        }
    };
    (0..dim).map(element).collect()
}

/// How a query meets each of the keys in `slots`.
fn scores(
    query: &ArrayView1<'_, f32>,
    head: &CachedHead,
    slots: Range<usize>,
    scale: f64,
    softcap: Option<f64>,
) -> Vec<Score> {
    let (mut sums, mut magnitudes) = (vec![NOTHING; slots.len()], vec![NOTHING; slots.len()]);
    for (&q, k) in query.iter().zip(head.k.chunks_exact(head.slots)) {
        let q = f64::from(q);
        for ((sum, magnitude), k) in sums.iter_mut().zip(&mut magnitudes).zip(&k[slots.clone()]) {
            let product = q * k;
            *sum += product;
            *magnitude += product.abs();
        }
    }
    let pairs = sums.into_iter().zip(magnitudes);
    pairs.map(|(sum, magnitude)| Score::new(sum, magnitude, scale, softcap)).collect()
}

/// Sums over the keys, for each element of a head; by weight, but for the last.
struct ValueSums {
    /// Of `v`.
    values: Vec<f64>,
    /// Of `|v|`.
    magnitudes: Vec<f64>,
    /// Of `|v|` times the magnitude of the score.
    dots: Vec<f64>,
    /// Of `|v|` times the magnitude of the exponential's argument.
    arguments: Vec<f64>,
    /// Of `|v|` times what function errors of the weight scale with.
    unsteady: Vec<f64>,
    /// `Σ|v|`.
    reach: Vec<f64>,
}

impl ValueSums {
    fn new(dim: usize) -> Self {
        let nothing = || vec![NOTHING; dim];
        Self {
            values: nothing(),
            magnitudes: nothing(),
            dots: nothing(),
            arguments: nothing(),
            unsteady: nothing(),
            reach: nothing(),
        }
    }

    /// Adds the values of a key of weight `w`, whose errors scale with `dot`, `argument` and `unsteady`.
    fn add(&mut self, values: &[f64], w: f64, [dot, argument, unsteady]: [f64; 3]) {
        let sums = self.values.iter_mut().zip(&mut self.magnitudes).zip(&mut self.dots);
        let sums = sums.zip(&mut self.arguments).zip(&mut self.unsteady).zip(&mut self.reach);
        for ((((((value, magnitude), dots), arguments), unsteadies), reach), v) in sums.zip(values) {
            let size = v.abs();
            *value += w * v;
            *magnitude += w * size;
            *dots += w * (dot * size);
            *arguments += w * (argument * size);
            *unsteadies += w * (unsteady * size);
            *reach += size;
        }
    }
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
    fn mean(&self, x: &[f64]) -> f64 {
        self.each.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() / self.sum
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().copied().fold(0.0, f64::max)
}

/// How a query meets one key.
struct Score {
    /// The score, capped where there is a cap.
    z: f64,
    /// What its error scales with.
    magnitude: f64,
    /// Largest sum that may arise on the way to it.
    peak: f64,
}

impl Score {
    /// From the sum of the products of query and key, and that of their magnitudes.
    fn new(sum: f64, magnitudes: f64, scale: f64, softcap: Option<f64>) -> Self {
        let score = scale * sum;
        let magnitude = scale.abs() * magnitudes;
        let damping = match softcap {
            Some(c) if magnitude <= 8.0 * score.abs() => (4.0 * (-score.abs() / c).exp()).min(1.0),
            _ => 1.0,
        };
        Score {
            z: softcap.map_or(score, |c| c * (score / c).tanh()),
            magnitude: magnitude * damping,
            peak: magnitudes.max(magnitude),
        }
    }

    /// Whether the weight is nothing in any arithmetic, `highest` being the largest score.
    fn is_far(&self, highest: f64) -> bool {
        let gap = self.z - highest;
        gap < -FAR && self.magnitude <= 8.0 * gap.abs() && self.z.abs() <= 8.0 * gap.abs()
    }
}
