//! Scaled dot-product attention of query rows over the cache, one task per row and head.

use kernels::ops::Attention;

use super::rows::{Rows, floats_mut, rows_mut};
use super::softmax::exponentials;
use super::sums::{RowSum, dot};
use super::{Threads, round};
use crate::HostBuffer;

pub fn attention(threads: &Threads, op: Attention<'_, HostBuffer>) {
    let [heads, head_dim] = [op.q.layout.dim(1), op.q.layout.dim(2)];
    let group = heads / op.k_cache.layout.dim(2);
    let (q, keys, values) = (Rows::of(op.q), Rows::of(op.k_cache), Rows::of(op.v_cache));
    let (seqs, positions) = (op.seqs.values(), op.positions.values());
    let slots: usize = positions.iter().map(|&position| position as usize + 1).sum();

    threads.each(rows_mut(op.out), 2 * slots * heads * head_dim, |nth, out| {
        let (row, head) = (nth / heads, nth % heads);
        let (seq, last) = (seqs[row] as usize, positions[row] as usize);
        let first = op.window.map_or(0, |window| (last + 1).saturating_sub(window));
        let place = |slot| [seq, slot, head / group];

        let (mut q_scratch, mut scratch) = (Vec::new(), Vec::new());
        let q = q.read(nth, &mut q_scratch);
        let scores = (first..=last).map(|slot| dot(q, keys.read_at(&place(slot), &mut scratch)));
        let (mut weights, scale): (Vec<f32>, f32) = match op.softcap {
            None => (scores.collect(), op.scale),
            Some(cap) => (scores.map(|score| soften(score, op.scale, cap)).collect(), 1.0),
        };
        let total = exponentials(&mut weights, scale);

        let mut mean = RowSum::new(head_dim);
        for (slot, weight) in (first..).zip(weights) {
            mean.add(weight, values.read_at(&place(slot), &mut scratch));
        }
        for (out, sum) in floats_mut(out).iter_mut().zip(mean.total()) {
            *out = sum / total;
        }
    });
}

/// `cap·tanh(scale·score / cap)`.
fn soften(score: f32, scale: f32, cap: f32) -> f32 {
    let cap = f64::from(cap);
    round(cap * (f64::from(scale) * f64::from(score) / cap).tanh())
}
