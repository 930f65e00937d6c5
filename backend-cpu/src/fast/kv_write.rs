//! Stores keys and values of new tokens in the cache.

use kernels::ops::KvWrite;
use kernels::{DType, View, ViewMut};
use kernels::{Numerics, OpForm};

use super::F32;
use super::blocks::encode_row_simd;
use super::rows::{Rows, row_bytes, split_disjoint};
use super::simd::{Kernel, Simd};
use super::threads::Threads;
use crate::HostBuffer;

pub fn kv_write(threads: &Threads, op: KvWrite<'_, HostBuffer>) {
    let slots: Vec<_> = op.seqs.values().iter().zip(op.positions.values()).collect();
    for (new, cache) in [(op.k, op.k_cache), (op.v, op.v_cache)] {
        store(threads, new, cache, |row| [*slots[row].0 as usize, *slots[row].1 as usize]);
    }
}

/// Encodes row `[row, head]` of `new` to row `[seq, slot, head]` of `cache`, with `[seq, slot] = slot_of(row)`.
fn store(
    threads: &Threads,
    new: View<'_, HostBuffer>,
    cache: ViewMut<'_, HostBuffer>,
    slot_of: impl Fn(usize) -> [usize; 2],
) {
    let ViewMut { buffer, layout } = cache;
    let heads = layout.dim(2);
    if layout.is_transposed() {
        return scatter(threads, new, ViewMut { buffer, layout }, slot_of);
    }
    let len = row_bytes(&layout);
    let target = |nth: usize| {
        let [seq, slot] = slot_of(nth / heads);
        let start = layout.row_offset(&[seq, slot, nth % heads]);
        start..start + len
    };
    let targets = split_disjoint(buffer.bytes_mut(), (0..new.layout.dim(0) * heads).map(target));
    let new_rows = Rows::of(new);
    threads.parallel_for(
        targets,
        new.layout.elements().expect("validation has checked the size"),
        |nth, target| {
            threads.compute(Encode {
                dtype: layout.dtype(),
                values: new_rows.read(nth, &mut Vec::new()),
                to: target,
            });
        },
    );
}

/// As [`store`], to a cache in which the elements of a row lie apart: one by one, as slices of it would overlap.
fn scatter(
    threads: &Threads,
    new: View<'_, HostBuffer>,
    cache: ViewMut<'_, HostBuffer>,
    slot_of: impl Fn(usize) -> [usize; 2],
) {
    let ViewMut { buffer, layout } = cache;
    let (heads, dtype) = (layout.dim(2), layout.dtype());
    let stride = layout.stride(3) * dtype.block_bytes();
    let (bytes, new_rows) = (buffer.bytes_mut(), Rows::of(new));
    let (mut row, mut scratch) = (vec![0; row_bytes(&layout)], Vec::new());
    for nth in 0..new.layout.dim(0) * heads {
        threads.compute(Encode { dtype, values: new_rows.read(nth, &mut scratch), to: &mut row });
        let [seq, slot] = slot_of(nth / heads);
        let start = layout.row_offset(&[seq, slot, nth % heads]);
        let elements = row.chunks_exact(dtype.block_bytes());
        for (from, to) in elements.zip(bytes[start..].chunks_mut(stride)) {
            to[..from.len()].copy_from_slice(from);
        }
    }
}

/// Encodes a row.
struct Encode<'a> {
    dtype: DType,
    values: &'a [f32],
    to: &'a mut [u8],
}

impl Kernel for Encode<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        encode_row_simd(s, self.dtype, self.values, self.to);
    }
}

/// How the op is computed.
pub(super) fn numerics(_: &Threads, _: &OpForm) -> Numerics {
    F32
}
