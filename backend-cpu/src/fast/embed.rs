//! Row lookup in a table, with decoding of quantised rows.

use kernels::ops::Embed;
use kernels::{Numerics, OpForm};

use super::F32;
use super::blocks::decode_row;
use super::rows::{Rows, floats_mut, rows_mut};
use super::threads::Threads;
use crate::HostBuffer;

pub fn embed(threads: &Threads, op: Embed<'_, HostBuffer>) {
    let table = Rows::of(op.table);
    let ids = op.ids.values();
    let work = op.out.layout.elements().expect("validation has checked the size");
    threads.parallel_for(rows_mut(op.out), work, |r, out| {
        decode_row(table.dtype(), table.bytes(ids[r] as usize), floats_mut(out));
    });
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
