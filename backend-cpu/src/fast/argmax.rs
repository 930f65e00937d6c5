//! Index of the largest element of each row.

use kernels::ops::Argmax;
use kernels::{Numerics, OpForm};

use super::F32;
use super::rows::{Rows, rows_mut};
use super::threads::Threads;
use crate::HostBuffer;

pub fn argmax(threads: &Threads, op: Argmax<'_, HostBuffer>) {
    let x = Rows::of(op.x);
    let work = op.x.layout.elements().expect("validation has checked the size");
    let indices = rows_mut(op.out).into_iter().flat_map(bytemuck::cast_slice_mut::<u8, u32>);
    let indices: Vec<_> = indices.collect();
    threads
        .parallel_for(indices, work, |r, index: &mut u32| *index = first_largest(x.read(r, &mut Vec::new())));
}

/// The first of the largest elements; NaN is below every number, and a row of nothing else has 0.
fn first_largest(row: &[f32]) -> u32 {
    let mut best = (0, f32::NAN);
    for (i, &value) in (0..).zip(row) {
        // `best` is NaN until the first number.
        if value > best.1 || (best.1.is_nan() && !value.is_nan()) {
            best = (i, value);
        }
    }
    best.0
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
