//! Sets every element to one value.

use kernels::ops::Fill;
use kernels::{Numerics, OpForm};

use super::F32;
use super::blocks::encode_row;
use super::rows::rows_mut;
use super::threads::Threads;
use crate::HostBuffer;

pub fn fill(threads: &Threads, op: Fill<'_, HostBuffer>) {
    let layout = op.out.layout;
    let values = vec![op.value; layout.dim(1)];
    threads.parallel_for(
        rows_mut(op.out),
        layout.elements().expect("validation has checked the size"),
        |_, out| {
            encode_row(layout.dtype(), &values, out);
        },
    );
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
