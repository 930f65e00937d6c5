//! Weighted sums of the values of a block.

use std::ops::Range;

use super::super::simd::{PANEL_ROWS, Simd};
use super::query::Query;

/// The values of a block of slots.
pub struct Values<'a> {
    pub slots: Range<usize>,
    /// `[slots, width]`.
    pub rows: &'a [f32],
    pub width: usize,
    /// The slots of the task: column `i` of the weights belongs to slot `seen.start + i`.
    pub seen: Range<usize>,
}

impl Values<'_> {
    /// Adds the weighted values to the sums of all queries, `R` queries at a time.
    #[inline(always)]
    pub fn add_to_all<S: Simd, const R: usize>(
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

    /// Adds the weighted values to the sums of `R` queries: together for slots inside the masks of all, else one by one. Slot after slot
    /// either way.
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

    /// The weights of query `r`.
    fn weights<'w>(&self, weights: &'w [f32], r: usize) -> &'w [f32] {
        &weights[r * self.seen.len()..][..self.seen.len()]
    }

    /// Adds the weighted values in `slots` to the sums of `R` queries.
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
        let vectors = self.width / PANEL_ROWS;
        let at_once = if S::MANY_REGISTERS { 4 } else { 2 };
        let mut first = 0;
        while first + at_once <= vectors {
            if S::MANY_REGISTERS {
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

/// Adds `N` vectors of each row, from vector `first` on, to the sums of `R` queries: a register tile of `R` by `N`.
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
