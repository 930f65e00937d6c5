//! Decoding of a weight format to f32.

use kernels::ops::Dequantize;
use kernels::{Numerics, OpForm};

use super::blocks::decode_row;
use super::rows::{Rows, floats_mut, rows_mut};
use super::{F32, Threads};
use crate::HostBuffer;

pub fn dequantize(threads: &Threads, op: Dequantize<'_, HostBuffer>) {
    let x = Rows::of(op.x);
    let work = op.out.layout.elements().unwrap_or(0);
    threads.each(rows_mut(op.out), work, |r, out| decode_row(x.dtype(), x.bytes(r), floats_mut(out)));
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
