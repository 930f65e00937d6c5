//! Product of a tensor with a number.

use kernels::ops::Scale;
use kernels::{Numerics, OpForm};

use super::{F32, Threads};
use crate::HostBuffer;

pub fn scale(threads: &Threads, op: Scale<'_, HostBuffer>) {
    threads.transform(&op.x, op.out, |_, out| {
        for value in out {
            *value *= op.factor;
        }
    });
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
