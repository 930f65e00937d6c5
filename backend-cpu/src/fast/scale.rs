//! Product of a tensor with a number.

use kernels::ops::Scale;

use super::threads::Threads;
use crate::HostBuffer;

pub fn scale(threads: &Threads, op: Scale<'_, HostBuffer>) {
    threads.map_rows(&op.x, op.out, |_, out| {
        for value in out {
            *value *= op.factor;
        }
    });
}
