//! [`kernels::ops::kv_write`], bit for bit.

use kernels::ops::KvWrite;
use kernels::{View, ViewMut};

use super::array::encoded;
use crate::HostBuffer;

/// The bytes of all elements of both caches afterwards, in row-major order.
pub(super) fn kv_write(op: &KvWrite<'_, HostBuffer>) -> [Vec<u8>; 2] {
    [(&op.k, &op.k_cache), (&op.v, &op.v_cache)].map(|(new, cache)| {
        let slots = op.seqs.values().iter().zip(op.positions.values());
        written(new, cache, slots.map(|(&seq, &slot)| [seq as usize, slot as usize]))
    })
}

/// The content of `cache` once row `r` of `new` is in slot `slots[r]`.
fn written(
    new: &View<'_, HostBuffer>,
    cache: &ViewMut<'_, HostBuffer>,
    slots: impl Iterator<Item = [usize; 2]>,
) -> Vec<u8> {
    let mut bytes = cache.layout.gather(cache.buffer.bytes(), 0).expect("validation has checked the extent");
    let dense = cache.layout.densified();
    let tokens = encoded(new, dense.dtype());
    let token = tokens.len() / new.layout.dim(0);
    for (token_bytes, slot) in tokens.chunks_exact(token).zip(slots) {
        let start = dense.row_offset(&slot);
        bytes[start..start + token].copy_from_slice(token_bytes);
    }
    bytes
}
