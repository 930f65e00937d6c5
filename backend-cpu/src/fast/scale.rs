//! Product of a tensor with a number.

use kernels::ops::Scale;

use super::Threads;
use crate::HostBuffer;

pub fn scale(threads: &Threads, op: Scale<'_, HostBuffer>) {
    threads.transform(&op.x, op.out, |_, out| {
        for value in out {
            *value *= op.factor;
        }
    });
}
