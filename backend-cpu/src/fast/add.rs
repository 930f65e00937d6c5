//! Sum of two tensors, or of a tensor and a row.

use kernels::ops::Add;
use kernels::{Numerics, OpForm};

use super::F32;
use super::rows::Rows;
use super::threads::Threads;
use crate::HostBuffer;

pub fn add(threads: &Threads, op: Add<'_, HostBuffer>) {
    let (b, step) = (Rows::of(op.b), usize::from(op.b.layout.dim(0) > 1));
    threads.map_rows(&op.a, op.out, |r, out| {
        for (out, b) in out.iter_mut().zip(b.read(r * step, &mut Vec::new())) {
            *out += b;
        }
    });
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
