//! Launch of `copy.hip`: tiles of rows of words, as wide as everything allows; of a transposed tensor, squares of elements.

use kernels::ops::Copy;
use kernels::{Breakpoint, DeviceError, Layout, Numerics, OpForm, Stem, View};

use super::rows::{self, Rows};
use super::{Queue, address, grid};
use crate::memory::DeviceBuffer;

/// Bytes of a word, and the kernel that copies such words.
const WORDS: [(usize, &str); 4] = [(16, "copy_16"), (4, "copy_4"), (2, "copy_2"), (1, "copy_1")];

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Copy<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, out) = (op.x, op.out.as_view());
    if x.layout.is_transposed() {
        return columns(queue, x, out);
    }
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

/// Rows and columns of a block of the kernels for a transposed `x`: `SIDE` of `copy.hip`.
const SIDE: usize = 32;
/// Threads of such a block.
const BLOCK: u32 = 256;

#[track_caller]
fn columns(
    queue: Queue<'_>,
    x: View<'_, DeviceBuffer>,
    out: View<'_, DeviceBuffer>,
) -> Result<(), DeviceError> {
    let [rows, n] = [0, 1].map(|axis| x.layout.dim(axis));
    queue
        .kernel(Stem::Copy, &format!("copy_columns_{}", x.layout.dtype().block_bytes()))?
        .grid(grid(n.div_ceil(SIDE), rows.div_ceil(SIDE)))
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("out", address(out))
        .u64("x_stride", x.layout.stride(0))
        .u64("x_step", x.layout.stride(1))
        .u64("out_stride", out.layout.stride(0))
        .u32("rows", rows)
        .u32("n", n)
        .run(queue.stream)
}

/// How the kernel computes.
pub(super) fn numerics(_: &OpForm) -> Numerics {
    Numerics::F32
}

/// Where the kernel goes another way.
pub(super) fn breakpoints(form: &OpForm) -> Vec<Breakpoint> {
    if form.layout("x").is_some_and(Layout::is_transposed) {
        return vec![Breakpoint::dim("out", 1, SIDE)];
    }
    rows::breakpoints()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_code_has_the_same_sizes() {
        let source = kernels::device_code::source("copy").unwrap();
        assert!(source.contains(&format!("#define SIDE {SIDE}\n")));
    }
}
