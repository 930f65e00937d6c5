//! Copy of a tensor, of any type, between any strides.

use kernels::ops::Copy;
use kernels::{Numerics, OpForm};

use super::F32;
use super::rows::{Rows, rows_mut};
use super::threads::Threads;
use crate::HostBuffer;

pub fn copy(threads: &Threads, op: Copy<'_, HostBuffer>) {
    let x = Rows::of(op.x);
    let work = op.out.layout.elements().expect("validation has checked the size");
    if op.x.layout.is_transposed() {
        let stride = op.x.layout.stride(1) * op.x.layout.dtype().block_bytes();
        let element = op.x.layout.dtype().block_bytes();
        threads.parallel_for(rows_mut(op.out), work, |r, out| {
            for (to, from) in out.chunks_exact_mut(element).zip(x.bytes_from(r).chunks(stride)) {
                to.copy_from_slice(&from[..element]);
            }
        });
        return;
    }
    threads.parallel_for(rows_mut(op.out), work, |r, out| out.copy_from_slice(x.bytes(r)));
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
