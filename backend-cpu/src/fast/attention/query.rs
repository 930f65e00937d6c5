//! The queries of an attention op, and what they attend to.

use std::ops::Range;

use kernels::ops::Attention;

use super::super::rows::Rows;
use crate::HostBuffer;

/// Most scores in memory per task, unless one row has more.
const MAX_SCORES: usize = 1 << 16;

/// Most rows of a task.
const MAX_ROWS: usize = 16;

/// The operands of an attention op.
pub struct Cache<'a> {
    pub keys: Rows<'a>,
    pub values: Rows<'a>,
    pub seqs: &'a [u32],
    pub positions: &'a [u32],
    pub head_dim: usize,
    /// Query heads that read one cached head.
    pub group: usize,
    pub scale: f32,
    pub window: Option<usize>,
    pub softcap: Option<f32>,
}

impl<'a> Cache<'a> {
    pub fn of(op: &Attention<'a, HostBuffer>) -> Self {
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

    /// The rows of the op, split into tasks of consecutive rows of one sequence.
    pub fn chunks(&self) -> Vec<Range<usize>> {
        let mut chunks: Vec<Range<usize>> = Vec::new();
        for (row, (seq, &position)) in self.seqs.iter().zip(self.positions).enumerate() {
            let slots = (position as usize + 1) * self.group;
            let most = (MAX_SCORES / slots).clamp(1, MAX_ROWS);
            match chunks.last_mut() {
                Some(chunk) if self.seqs[chunk.start] == *seq && chunk.len() < most => chunk.end = row + 1,
                _ => chunks.push(row..row + 1),
            }
        }
        chunks
    }
}

/// One query: a row and head of `q`.
pub struct Query<'a> {
    /// Row of `q` in row-major order.
    pub nth: usize,
    pub seq: usize,
    pub cached_head: usize,
    /// The slots inside its mask.
    pub seen: Range<usize>,
    pub out: &'a mut [f32],
}

impl<'a> Query<'a> {
    pub fn new(cache: &Cache<'_>, nth: usize, heads: usize, out: &'a mut [f32]) -> Self {
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
