//! Decoding of a weight format to f32.

use kernels::ops::Dequantize;
use kernels::{Numerics, OpForm};

use super::F32;
use super::blocks::decode_row;
use super::rows::{Rows, floats_mut, rows_mut};
use super::threads::Threads;
use crate::HostBuffer;

pub fn dequantize(threads: &Threads, op: Dequantize<'_, HostBuffer>) {
    let x = Rows::of(op.x);
    let work = op.out.layout.elements().expect("validation has checked the size");
    threads.parallel_for(rows_mut(op.out), work, |r, out| decode_row(x.dtype(), x.bytes(r), floats_mut(out)));
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
