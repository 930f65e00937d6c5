//! Product of a tensor with a number.

use kernels::ops::Scale;
use kernels::{Numerics, OpForm};

use super::F32;
use super::threads::Threads;
use crate::HostBuffer;

pub fn scale(threads: &Threads, op: Scale<'_, HostBuffer>) {
    threads.map_rows(&op.x, op.out, |_, out| {
        for value in out {
            *value *= op.factor;
        }
    });
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
