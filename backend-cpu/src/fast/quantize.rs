//! Encoding of f32 in a simple block format.

use kernels::ops::Quantize;
use kernels::{Numerics, OpForm};

use super::F32;
use super::blocks::encode_row;
use super::rows::{Rows, rows_mut};
use super::threads::Threads;
use crate::HostBuffer;

pub fn quantize(threads: &Threads, op: Quantize<'_, HostBuffer>) {
    let x = Rows::of(op.x);
    let (dtype, work) =
        (op.out.layout.dtype(), op.out.layout.elements().expect("validation has checked the size"));
    threads.parallel_for(rows_mut(op.out), work, |r, out| encode_row(dtype, x.read(r, &mut Vec::new()), out));
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
