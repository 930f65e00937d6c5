//! Launch of `copy.hip`: tiles of rows of words, as wide as everything allows.

use kernels::ops::Copy;
use kernels::{Breakpoint, DeviceError, Numerics, OpForm, Stem};

use super::rows::{self, Rows};
use super::{Queue, address};
use crate::memory::DeviceBuffer;

/// Bytes of a word, and the kernel that copies such words.
const WORDS: [(usize, &str); 4] = [(16, "copy_16"), (4, "copy_4"), (2, "copy_2"), (1, "copy_1")];

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Copy<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x, op.out.as_view());
    let rows = Rows::of(&[&out.layout, &x.layout]);
    let dtype = out.layout.dtype();
    let bytes = |elements: usize| elements / dtype.block_len() * dtype.block_bytes();
    let (n, x_stride, out_stride) =
        (bytes(rows.n), bytes(rows.stride(&x.layout)), bytes(rows.stride(&out.layout)));
    let divides = |word: usize| {
        let addresses = [address(x), address(out)];
        addresses.iter().all(|address| address.is_multiple_of(word as u64))
            && [n, x_stride, out_stride].iter().all(|bytes| bytes.is_multiple_of(word))
    };
    let (word, kernel) = WORDS.into_iter().find(|&(word, _)| divides(word)).unwrap_or(WORDS[3]);
    rows.in_words(n / word)
        .kernel(queue, Stem::Copy, kernel)?
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", x_stride / word)
        .u64("out_stride", out_stride / word)
        .u32("rows", rows.count)
        .u32("n", n / word)
        .run(queue.stream)
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}

/// Where the kernel goes another way.
pub(super) fn breakpoints(_: &OpForm) -> Vec<Breakpoint> {
    rows::breakpoints()
}
