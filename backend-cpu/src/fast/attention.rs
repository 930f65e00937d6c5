//! Scaled dot-product attention of query rows over the cache.
//!
//! A task is a few rows of one sequence and the query heads that share a cached head. It goes over the keys and then over the values in
//! blocks of slots, each decoded once for all its queries. No more is kept of the scores than those of a task.
//! Where there are many queries the keys are laid side by side ([`Sixteen`]).
//!
//! A query's result is formed by one sequence of roundings whatever else is in its task: a score in eight lanes over the head,
//! the sum of the weights in eight lanes over the slots it sees, each column of the result slot after slot.

mod scores;
mod values;

use std::cell::RefCell;
use std::ops::Range;

use kernels::ops::Attention;
use kernels::{DType, Depth, Numerics, OpForm};

use super::blocks::decode_by_vectors;
use super::f32_panel::{self, AT_A_TIME, Sixteen};
use super::rows::{Rows, Spaced, floats_mut, rows_mut};
use super::simd::{Kernel, LINE, Simd, prefetch};
use super::{F32, Threads};
use crate::HostBuffer;
use scores::{score_block, score_sixteens, side_by_side, weigh};
use values::Values;

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
    sixteens: [Sixteen; BLOCK / f32_panel::ROWS],
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
                let some = padded.chunks(AT_A_TIME * width);
                for (some, scores) in some.zip(scores.chunks_mut(AT_A_TIME * seen.len())) {
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
    head_dim.next_multiple_of(f32_panel::ROWS)
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    // The columns of a result are summed slot after slot.
    Numerics { depth: Depth::Any, function_ulps: super::exp::ULPS, ..F32 }
}
