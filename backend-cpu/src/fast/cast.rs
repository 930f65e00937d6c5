//! Conversion between floating-point formats. Every f16 and bf16 is an f32, so going through f32 rounds once.

use kernels::ops::Cast;

use super::Threads;
use super::blocks::encode_row;
use super::rows::{Rows, rows_mut};
use crate::HostBuffer;

pub fn cast(threads: &Threads, op: Cast<'_, HostBuffer>) {
    let x = Rows::of(op.x);
    let (dtype, work) = (op.out.layout.dtype(), op.out.layout.elements().unwrap_or(0));
    threads.each(rows_mut(op.out), work, |r, out| encode_row(dtype, x.read(r, &mut Vec::new()), out));
}
