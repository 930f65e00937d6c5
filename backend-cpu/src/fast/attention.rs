//! Scaled dot-product attention of query rows over the cache.
//!
//! A task is a few rows of one sequence and the query heads that share a cached head. It goes over the keys and then over the values in
//! blocks of slots, each decoded once for all its queries. Only the scores of one task are in memory at a time.
//! With many queries the keys are packed into panels ([`F32Panel`]).
//!
//! A query's result is formed by one sequence of roundings, whatever else is in its task: a score in eight lanes over the head, the sum of
//! the weights in eight lanes over the slots inside its mask, each column of the result slot after slot.

mod query;
mod scores;
mod values;

use std::cell::RefCell;
use std::ops::Range;

use kernels::ops::Attention;
use kernels::{DType, Depth, Numerics, OpForm};

use super::F32;
use super::blocks::decode_row_simd;
use super::f32_panel::{F32Panel, TILE_ROWS};
use super::rows::{Rows, StridedRows, floats_mut, rows_mut};
use super::simd::{CACHE_LINE, Kernel, PANEL_ROWS, Simd, prefetch};
use super::threads::Threads;
use crate::HostBuffer;
use query::{Cache, Query};
use scores::{pack_keys, score_block, score_panels, softmax_weights};
use values::Values;

/// Slots that are decoded at a time.
const BLOCK: usize = 64;

pub fn attention(threads: &Threads, op: Attention<'_, HostBuffer>) {
    let cache = Cache::of(&op);
    let heads = op.q.layout.dim(1);
    let q = Rows::of(op.q);
    let chunks = cache.chunks();
    // A key is decoded once for all heads that read it, unless some threads would then have no task.
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
    threads.parallel_for(tasks, work, |_, outs| {
        let queries = outs.into_iter().map(|(nth, out)| Query::new(&cache, nth, heads, out)).collect();
        SCRATCH.with_borrow_mut(|scratch| {
            threads.compute(Task { cache: &cache, q: &q, queries, scratch });
        });
    });
}

/// Queries of a task from which on it pays to pack the keys.
const MIN_QUERIES_TO_PACK: usize = 8;

/// Memory of a task, reused by its thread. Rows are zero-padded to whole vectors.
#[derive(Default)]
struct Scratch {
    /// `[queries, width]`.
    queries: Vec<f32>,
    /// Keys or values of a block of slots, `[slots, width]`.
    block: Vec<f32>,
    /// Packed keys of a block.
    panels: [F32Panel; BLOCK / PANEL_ROWS],
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
        let Scratch { queries: padded, block, panels, scores, sums } = scratch;
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
        let Some(Query { seq, cached_head, .. }) = queries.first() else {
            unreachable!("a task has at least one query")
        };
        let [keys, values] = [&cache.keys, &cache.values].map(|rows| rows.slots(*seq, *cached_head));
        let first = seen.start..seen.end.min(seen.start + BLOCK);
        prefetch_slots(keys, first.clone());
        for slots in blocks.clone() {
            let next = slots.end..seen.end.min(slots.end + BLOCK);
            if next.is_empty() {
                prefetch_slots(values, first.clone());
            } else {
                prefetch_slots(keys, next);
            }
            decode(s, cache.keys.dtype(), keys, slots.clone(), cache.head_dim, block);
            let at = slots.start - seen.start;
            if S::MANY_REGISTERS && queries.len() >= MIN_QUERIES_TO_PACK {
                let keys = pack_keys(s, block, width, slots.len(), panels);
                let tiles = padded.chunks(TILE_ROWS * width);
                for (tile, scores) in tiles.zip(scores.chunks_mut(TILE_ROWS * seen.len())) {
                    score_panels(s, tile, keys, width, scores, seen.len(), at..at + slots.len());
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
            totals.push(softmax_weights(s, &mut scores[own(query)], cache.scale, cache.softcap));
        }

        sums.clear();
        sums.resize(queries.len() * width, 0.0);
        for slots in blocks {
            prefetch_slots(values, slots.end..seen.end.min(slots.end + BLOCK));
            decode(s, cache.values.dtype(), values, slots.clone(), cache.head_dim, block);
            let block = Values { slots, rows: block, width, seen: seen.clone() };
            if S::MANY_REGISTERS {
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

/// Prefetches the keys or values in `slots`. Since the last token all weights of the model have gone through the caches, so the slots
/// are in memory.
#[inline(always)]
fn prefetch_slots(rows: StridedRows<'_>, slots: Range<usize>) {
    for slot in slots {
        for line in rows.bytes(slot).chunks(CACHE_LINE) {
            prefetch(line.as_ptr().addr());
        }
    }
}

/// Decodes the keys or values in `slots`.
#[inline(always)]
fn decode<S: Simd>(
    s: S,
    dtype: DType,
    rows: StridedRows<'_>,
    slots: Range<usize>,
    head_dim: usize,
    to: &mut Vec<f32>,
) {
    let width = padded_width(head_dim);
    to.resize(slots.len() * width, 0.0);
    for (slot, to) in slots.zip(to.chunks_exact_mut(width)) {
        let (to, padding) = to.split_at_mut(head_dim);
        decode_row_simd(s, dtype, rows.bytes(slot), to);
        padding.fill(0.0);
    }
}

/// Floats of a row with its padding.
const fn padded_width(head_dim: usize) -> usize {
    head_dim.next_multiple_of(PANEL_ROWS)
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    // The columns of a result are summed slot after slot.
    Numerics { depth: Depth::Any, function_ulps: super::exp::ULPS, ..F32 }
}
