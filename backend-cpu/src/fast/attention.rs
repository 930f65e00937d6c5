//! Scaled dot-product attention of query rows over the cache.
//!
//! A task is a few rows of one sequence and the query heads that share a cached head. It goes over the keys and then over the values in
//! blocks of slots, each decoded once for all its queries. No more is kept of the scores than those of a task.
//!
//! A query's result is formed by one sequence of roundings whatever else is in its task: a score in eight lanes over the head,
//! the sum of the weights in eight lanes over the slots it sees, each column of the result slot after slot.

use std::cell::RefCell;
use std::ops::Range;

use kernels::DType;
use kernels::ops::Attention;

use super::blocks::decode_by_vectors;
use super::exp::exp_of_negative;
use super::rows::{Rows, Slots, floats_mut, rows_mut};
use super::simd::{Kernel, LINE, Simd, WIDTH, prefetch};
use super::{Threads, round};
use crate::HostBuffer;

/// Slots that are decoded at a time.
const BLOCK: usize = 64;

/// Scores that a task keeps, unless one row has more.
const SCORES: usize = 1 << 16;

/// Rows of a task at most.
const ROWS: usize = 16;

pub fn attention(threads: &Threads, op: Attention<'_, HostBuffer>) {
    let cache = Cache::of(&op);
    let heads = op.q.layout.dim(1);
    let q = Rows::of(op.q);
    let chunks = cache.chunks();
    // A key is decoded once for all heads that read it, unless threads would go without work.
    let heads_per_task =
        if chunks.len() * (heads / cache.group) >= threads.count() { cache.group } else { 1 };

    let mut tasks: Vec<Vec<(usize, &mut [f32])>> = Vec::new();
    tasks.resize_with(chunks.len() * heads.div_ceil(heads_per_task), Vec::new);
    let chunk_of: Vec<_> =
        chunks.iter().enumerate().flat_map(|(c, rows)| rows.clone().map(move |_| c)).collect();
    for (nth, out) in rows_mut(op.out).into_iter().enumerate() {
        let (row, head) = (nth / heads, nth % heads);
        let task = chunk_of[row] * heads.div_ceil(heads_per_task) + head / heads_per_task;
        tasks[task].push((nth, floats_mut(out)));
    }
    let work = 2 * cache.positions.iter().map(|&p| p as usize + 1).sum::<usize>() * heads * cache.head_dim;
    threads.each(tasks, work, |_, outs| {
        let queries = outs.into_iter().map(|(nth, out)| Query::new(&cache, nth, heads, out)).collect();
        SCRATCH.with_borrow_mut(|scratch| {
            threads.compute(Task { cache: &cache, q: &q, queries, scratch });
        });
    });
}

/// What all tasks share.
struct Cache<'a> {
    keys: Rows<'a>,
    values: Rows<'a>,
    seqs: &'a [u32],
    positions: &'a [u32],
    head_dim: usize,
    /// Query heads that read one cached head.
    group: usize,
    scale: f32,
    window: Option<usize>,
    softcap: Option<f32>,
}

impl<'a> Cache<'a> {
    fn of(op: &Attention<'a, HostBuffer>) -> Self {
        Cache {
            keys: Rows::of(op.k_cache),
            values: Rows::of(op.v_cache),
            seqs: op.seqs.values(),
            positions: op.positions.values(),
            head_dim: op.q.layout.dim(2),
            group: op.q.layout.dim(1) / op.k_cache.layout.dim(2),
            scale: op.scale,
            window: op.window,
            softcap: op.softcap,
        }
    }

    /// Neighbouring rows of one sequence, as many as a task takes.
    fn chunks(&self) -> Vec<Range<usize>> {
        let mut chunks: Vec<Range<usize>> = Vec::new();
        for (row, (seq, &position)) in self.seqs.iter().zip(self.positions).enumerate() {
            let slots = (position as usize + 1) * self.group;
            let most = (SCORES / slots).clamp(1, ROWS);
            match chunks.last_mut() {
                Some(chunk) if self.seqs[chunk.start] == *seq && chunk.len() < most => chunk.end = row + 1,
                _ => chunks.push(row..row + 1),
            }
        }
        chunks
    }
}

/// A row and head.
struct Query<'a> {
    nth: usize,
    seq: usize,
    cached_head: usize,
    /// The slots that it sees.
    seen: Range<usize>,
    out: &'a mut [f32],
}

impl<'a> Query<'a> {
    fn new(cache: &Cache<'_>, nth: usize, heads: usize, out: &'a mut [f32]) -> Self {
        let (row, head) = (nth / heads, nth % heads);
        let last = cache.positions[row] as usize;
        let first = cache.window.map_or(0, |window| (last + 1).saturating_sub(window));
        Query {
            nth,
            seq: cache.seqs[row] as usize,
            cached_head: head / cache.group,
            seen: first..last + 1,
            out,
        }
    }
}

/// Memory of a task, kept by its thread. Rows are padded with zeros to whole vectors.
#[derive(Default)]
struct Scratch {
    /// `[queries, width]`.
    queries: Vec<f32>,
    /// Keys or values of a block of slots, `[slots, width]`.
    block: Vec<f32>,
    /// Scores and then weights, `[queries, slots]`.
    scores: Vec<f32>,
    /// Sums of weighted values, `[queries, width]`.
    sums: Vec<f32>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

struct Task<'a, 'b> {
    cache: &'b Cache<'a>,
    q: &'b Rows<'a>,
    queries: Vec<Query<'b>>,
    scratch: &'b mut Scratch,
}

impl Kernel for Task<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Task { cache, q, mut queries, scratch } = self;
        let Scratch { queries: padded, block, scores, sums } = scratch;
        let width = cache.head_dim.next_multiple_of(WIDTH);
        let seen = queries.iter().map(|query| query.seen.start).min().unwrap_or(0)
            ..queries.iter().map(|query| query.seen.end).max().unwrap_or(0);
        let blocks = seen.clone().step_by(BLOCK).map(|first| first..seen.end.min(first + BLOCK));

        padded.clear();
        padded.resize(queries.len() * width, 0.0);
        for (query, to) in queries.iter().zip(padded.chunks_exact_mut(width)) {
            to[..cache.head_dim].copy_from_slice(q.read(query.nth, &mut Vec::new()));
        }
        scores.resize(queries.len() * seen.len(), 0.0);
        let Some(Query { seq, cached_head, .. }) = queries.first() else { return };
        let [keys, values] = [&cache.keys, &cache.values].map(|rows| rows.slots(*seq, *cached_head));
        let first = seen.start..seen.end.min(seen.start + BLOCK);
        ask_for(keys, first.clone());
        for slots in blocks.clone() {
            let next = slots.end..seen.end.min(slots.end + BLOCK);
            if next.is_empty() {
                ask_for(values, first.clone());
            } else {
                ask_for(keys, next);
            }
            decode(s, cache.keys.dtype(), keys, slots.clone(), cache.head_dim, block);
            let at = slots.start - seen.start;
            for (pair, scores) in padded.chunks(2 * width).zip(scores.chunks_mut(2 * seen.len())) {
                score_block(s, pair, block, width, scores, seen.len(), at);
            }
        }
        let own = |query: &Query<'_>| query.seen.start - seen.start..query.seen.end - seen.start;
        let mut totals = Vec::with_capacity(queries.len());
        for (query, scores) in queries.iter().zip(scores.chunks_exact_mut(seen.len())) {
            totals.push(weigh(s, &mut scores[own(query)], cache.scale, cache.softcap));
        }

        sums.clear();
        sums.resize(queries.len() * width, 0.0);
        for slots in blocks {
            ask_for(values, slots.end..seen.end.min(slots.end + BLOCK));
            decode(s, cache.values.dtype(), values, slots.clone(), cache.head_dim, block);
            for ((query, weights), sums) in
                queries.iter().zip(scores.chunks_exact(seen.len())).zip(sums.chunks_exact_mut(width))
            {
                let here = query.seen.start.max(slots.start)..query.seen.end.min(slots.end).max(slots.start);
                let Some(values) = block.get((here.start - slots.start) * width..) else { continue };
                let Some(weights) = weights.get(here.start - seen.start..here.end - seen.start) else {
                    continue;
                };
                add_values(s, weights, values, sums);
            }
        }
        for ((query, total), sums) in queries.iter_mut().zip(totals).zip(sums.chunks_exact(width)) {
            for (out, sum) in query.out.iter_mut().zip(sums) {
                *out = sum / total;
            }
        }
    }
}

/// Asks for the keys or values that will be read in `slots`: since the last token all weights have passed through the caches.
#[inline(always)]
fn ask_for(rows: Slots<'_>, slots: Range<usize>) {
    for slot in slots {
        for line in rows.bytes(slot).chunks(LINE) {
            prefetch(line.as_ptr().addr());
        }
    }
}

/// Decodes the keys or values in `slots`.
#[inline(always)]
fn decode<S: Simd>(
    s: S,
    dtype: DType,
    rows: Slots<'_>,
    slots: Range<usize>,
    head_dim: usize,
    to: &mut Vec<f32>,
) {
    let width = head_dim.next_multiple_of(WIDTH);
    to.resize(slots.len() * width, 0.0);
    for (slot, to) in slots.zip(to.chunks_exact_mut(width)) {
        let (to, padding) = to.split_at_mut(head_dim);
        decode_by_vectors(s, dtype, rows.bytes(slot), to);
        padding.fill(0.0);
    }
}

/// Scores of one or two queries with all keys of a block, four at a time, to column `at` and on of `scores`, which has `columns` for each
/// query.
#[inline(always)]
fn score_block<S: Simd>(
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
fn weigh<S: Simd>(s: S, scores: &mut [f32], scale: f32, softcap: Option<f32>) -> f32 {
    for score in &mut *scores {
        *score = match softcap {
            None => *score * scale,
            Some(cap) => soften(*score, scale, cap),
        };
    }
    let max = scores.iter().fold(f32::NEG_INFINITY, |max, &score| if score > max { score } else { max });
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

/// Vectors of a result that are summed side by side.
const SIDE_BY_SIDE: usize = 8;

/// Adds the rows of `values`, weighted, to `sums`, which is as wide as they are.
#[inline(always)]
fn add_values<S: Simd>(s: S, weights: &[f32], values: &[f32], sums: &mut [f32]) {
    let width = sums.len();
    let (parts, rest) = sums.as_chunks_mut::<WIDTH>().0.as_chunks_mut::<SIDE_BY_SIDE>();
    for (i, part) in parts.iter_mut().enumerate() {
        add_part(s, weights, values, width, i * SIDE_BY_SIDE, part);
    }
    let first = parts.len() * SIDE_BY_SIDE;
    for (i, part) in rest.as_chunks_mut::<1>().0.iter_mut().enumerate() {
        add_part(s, weights, values, width, first + i, part);
    }
}

/// The same for `N` vectors of each row, from vector `first` on.
#[inline(always)]
fn add_part<S: Simd, const N: usize>(
    s: S,
    weights: &[f32],
    values: &[f32],
    width: usize,
    first: usize,
    sums: &mut [[f32; WIDTH]; N],
) {
    let mut registers = [s.splat(0.0); N];
    for (register, sum) in registers.iter_mut().zip(&*sums) {
        *register = s.load(sum);
    }
    for (weight, row) in weights.iter().zip(values.chunks_exact(width)) {
        let weight = s.splat(*weight);
        let row = &row.as_chunks::<WIDTH>().0[first..first + N];
        for (sum, value) in registers.iter_mut().zip(row) {
            *sum = s.mul_add(weight, s.load(value), *sum);
        }
    }
    for (sum, register) in sums.iter_mut().zip(registers) {
        *sum = s.array(register);
    }
}

/// `cap·tanh(scale·score / cap)`.
fn soften(score: f32, scale: f32, cap: f32) -> f32 {
    let cap = f64::from(cap);
    round(cap * (f64::from(scale) * f64::from(score) / cap).tanh())
}
