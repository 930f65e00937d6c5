//! Scaled dot-product attention of query rows over the cache.
//!
//! A task is a few rows of one sequence and the query heads that share a cached head. It goes over the keys and then over the values in
//! blocks of slots, each decoded once for all its queries. No more is kept of the scores than those of a task.
//! Where there are many queries the keys are laid side by side ([`Sixteen`]).
//!
//! A query's result is formed by one sequence of roundings whatever else is in its task: a score in eight lanes over the head,
//! the sum of the weights in eight lanes over the slots it sees, each column of the result slot after slot.

use std::cell::RefCell;
use std::ops::Range;

use kernels::DType;
use kernels::ops::Attention;

use super::blocks::decode_by_vectors;
use super::exp::exp_of_negative;
use super::rows::{Rows, Spaced, floats_mut, put, rows_mut};
use super::simd::{Kernel, LINE, Rows16, Simd, WIDTH, prefetch};
use super::sixteen::{self, Sixteen};
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

/// Queries of a task from which on it pays to lay the keys side by side.
const MANY: usize = 8;

/// Memory of a task, kept by its thread. Rows are padded with zeros to whole vectors.
#[derive(Default)]
struct Scratch {
    /// `[queries, width]`.
    queries: Vec<f32>,
    /// Keys or values of a block of slots, `[slots, width]`.
    block: Vec<f32>,
    /// Keys of a block.
    sixteens: [Sixteen; BLOCK / sixteen::ROWS],
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
        let Scratch { queries: padded, block, sixteens, scores, sums } = scratch;
        let width = padded_width(cache.head_dim);
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
            if S::SPACIOUS && queries.len() >= MANY {
                let sixteens = side_by_side(s, block, width, slots.len(), sixteens);
                for (some, scores) in padded.chunks(3 * width).zip(scores.chunks_mut(3 * seen.len())) {
                    score_sixteens(s, some, sixteens, width, scores, seen.len(), at..at + slots.len());
                }
            } else {
                for (pair, scores) in padded.chunks(2 * width).zip(scores.chunks_mut(2 * seen.len())) {
                    score_block(s, pair, block, width, scores, seen.len(), at);
                }
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
            let block = Values { slots, rows: block, width, seen: seen.clone() };
            if S::SPACIOUS {
                block.add_to_all::<S, 6>(s, &queries, scores, sums);
            } else {
                block.add_to_all::<S, 2>(s, &queries, scores, sums);
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
fn ask_for(rows: Spaced<'_>, slots: Range<usize>) {
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
    rows: Spaced<'_>,
    slots: Range<usize>,
    head_dim: usize,
    to: &mut Vec<f32>,
) {
    let width = padded_width(head_dim);
    to.resize(slots.len() * width, 0.0);
    for (slot, to) in slots.zip(to.chunks_exact_mut(width)) {
        let (to, padding) = to.split_at_mut(head_dim);
        decode_by_vectors(s, dtype, rows.bytes(slot), to);
        padding.fill(0.0);
    }
}

/// Floats of a row with its padding.
const fn padded_width(head_dim: usize) -> usize {
    head_dim.next_multiple_of(sixteen::ROWS)
}

/// Lays the keys of a block side by side.
#[inline(always)]
fn side_by_side<'a, S: Simd>(
    s: S,
    block: &mut Vec<f32>,
    width: usize,
    count: usize,
    to: &'a mut [Sixteen],
) -> &'a [Sixteen] {
    let sixteens = count.div_ceil(sixteen::ROWS);
    block.resize(sixteens * sixteen::ROWS * width, 0.0);
    for (keys, to) in block.chunks_exact(sixteen::ROWS * width).zip(&mut *to) {
        if let Some(keys) = Rows16::new(bytemuck::cast_slice(keys), 4 * width, 4 * width) {
            to.fill(s, keys);
        }
    }
    &to[..sixteens]
}

/// Scores of up to three queries with the keys of a block, to the columns `at` of `scores`, which has `columns` for each query.
#[inline(always)]
fn score_sixteens<S: Simd>(
    s: S,
    queries: &[f32],
    keys: &[Sixteen],
    width: usize,
    scores: &mut [f32],
    columns: usize,
    at: Range<usize>,
) {
    let query = |q: usize| &queries[(q * width).min(queries.len() - width)..][..width];
    let queries = [query(0), query(1), query(2)];
    for (first, keys) in at.clone().step_by(sixteen::ROWS).zip(keys) {
        let values = keys.products(s, queries);
        for (scores, values) in scores.chunks_exact_mut(columns).zip(&values) {
            put(&mut scores[..at.end], first, values);
        }
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

/// The values of a block of slots.
struct Values<'a> {
    slots: Range<usize>,
    /// `[slots, width]`.
    rows: &'a [f32],
    width: usize,
    /// The slots that the columns of the weights belong to.
    seen: Range<usize>,
}

impl Values<'_> {
    /// Adds them, weighted, to the sums of all queries, `R` at a time.
    #[inline(always)]
    fn add_to_all<S: Simd, const R: usize>(
        &self,
        s: S,
        queries: &[Query<'_>],
        weights: &[f32],
        sums: &mut [f32],
    ) {
        let (full, rest) = queries.as_chunks::<R>();
        let (weights_of_full, weights) = weights.split_at(full.len() * R * self.seen.len());
        let (sums_of_full, sums) = sums.split_at_mut(full.len() * R * self.width);
        let chunks = weights_of_full.chunks_exact(R * self.seen.len());
        for ((queries, weights), sums) in
            full.iter().zip(chunks).zip(sums_of_full.chunks_exact_mut(R * self.width))
        {
            self.add_to::<S, R>(s, queries, weights, sums);
        }
        let chunks = weights.chunks_exact(self.seen.len());
        for ((query, weights), sums) in
            rest.as_chunks::<1>().0.iter().zip(chunks).zip(sums.chunks_exact_mut(self.width))
        {
            self.add_to::<S, 1>(s, query, weights, sums);
        }
    }

    /// Adds them to the sums of a few queries: together where all see a slot, else one by one, slot after slot either way.
    #[inline(always)]
    fn add_to<S: Simd, const R: usize>(
        &self,
        s: S,
        queries: &[Query<'_>; R],
        weights: &[f32],
        sums: &mut [f32],
    ) {
        let clip = |slot: usize| slot.clamp(self.slots.start, self.slots.end);
        let own = queries.each_ref().map(|query| clip(query.seen.start)..clip(query.seen.end));
        let first = own.iter().map(|own| own.start).max().unwrap_or(0);
        let end = own.iter().map(|own| own.end).min().unwrap_or(0);
        for (r, own) in own.iter().enumerate() {
            self.add(
                s,
                own.start..first.min(own.end),
                [self.weights(weights, r)],
                &mut sums[r * self.width..],
            );
        }
        if first < end {
            self.add(s, first..end, std::array::from_fn::<_, R, _>(|r| self.weights(weights, r)), sums);
        }
        for (r, own) in own.iter().enumerate() {
            let rest = end.max(first.min(own.end))..own.end;
            self.add(s, rest, [self.weights(weights, r)], &mut sums[r * self.width..]);
        }
    }

    /// The weights of query `r` of some.
    fn weights<'w>(&self, weights: &'w [f32], r: usize) -> &'w [f32] {
        &weights[r * self.seen.len()..][..self.seen.len()]
    }

    /// Adds those in `slots` to the sums of `R` queries.
    #[inline(always)]
    fn add<S: Simd, const R: usize>(
        &self,
        s: S,
        slots: Range<usize>,
        weights: [&[f32]; R],
        sums: &mut [f32],
    ) {
        if slots.is_empty() {
            return;
        }
        let rows = &self.rows[(slots.start - self.slots.start) * self.width..];
        let weights =
            weights.map(|weights| &weights[slots.start - self.seen.start..slots.end - self.seen.start]);
        let vectors = self.width / sixteen::ROWS;
        let at_once = if S::SPACIOUS { 4 } else { 2 };
        let mut first = 0;
        while first + at_once <= vectors {
            if S::SPACIOUS {
                add_part::<S, R, 4>(s, weights, rows, self.width, first, sums);
            } else {
                add_part::<S, R, 2>(s, weights, rows, self.width, first, sums);
            }
            first += at_once;
        }
        for first in first..vectors {
            add_part::<S, R, 1>(s, weights, rows, self.width, first, sums);
        }
    }
}

/// Adds `N` vectors of each row, from vector `first` on, to the sums of `R` queries.
#[inline(always)]
fn add_part<S: Simd, const R: usize, const N: usize>(
    s: S,
    weights: [&[f32]; R],
    rows: &[f32],
    width: usize,
    first: usize,
    sums: &mut [f32],
) {
    let count = weights[0].len();
    let weights = weights.map(|weights| &weights[..count]);
    let mut registers = [[s.splat16(0.0); N]; R];
    for (registers, sums) in registers.iter_mut().zip(sums.chunks(width)) {
        let sums = &sums.as_chunks().0[first..first + N];
        for (register, sum) in registers.iter_mut().zip(sums) {
            *register = s.load16(sum);
        }
    }
    for (i, row) in rows.chunks_exact(width).take(count).enumerate() {
        let row = &row.as_chunks().0[first..first + N];
        let mut values = [s.splat16(0.0); N];
        for (value, from) in values.iter_mut().zip(row) {
            *value = s.load16(from);
        }
        for (registers, weights) in registers.iter_mut().zip(weights) {
            let weight = s.splat16(weights[i]);
            for (register, value) in registers.iter_mut().zip(values) {
                *register = s.mul_add16(weight, value, *register);
            }
        }
    }
    for (registers, sums) in registers.iter().zip(sums.chunks_mut(width)) {
        let sums = &mut sums.as_chunks_mut().0[first..first + N];
        for (sum, register) in sums.iter_mut().zip(registers) {
            *sum = s.array16(*register);
        }
    }
}

/// `cap·tanh(scale·score / cap)`.
fn soften(score: f32, scale: f32, cap: f32) -> f32 {
    let cap = f64::from(cap);
    round(cap * (f64::from(scale) * f64::from(score) / cap).tanh())
}
