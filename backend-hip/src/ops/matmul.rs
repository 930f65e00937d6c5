//! Launch of `matmul.hip`: mat-vec for few rows of activations, tiles for more.

use kernels::ops::Matmul;
use kernels::{Breakpoint, DType, Depth, DeviceError, Numerics, OpForm, Stem};

use super::{Queue, address, row_bytes};
use crate::memory::DeviceBuffer;

/// Threads of a block of every variant.
const BLOCK: u32 = 512;
/// Rows of activations for which the weights are streamed past them.
const FEW_ROWS: usize = 8;
/// Elements of activations, of all rows together, that the mat-vec kernels hold in LDS at a time: `STAGED` of `matmul.hip`.
const STAGED: usize = 6144;
/// Rows and columns of a tile.
const SIDE: usize = 32;

/// Elements that the chains of sums take in a turn, and how many of them each chain.
const TURN: [usize; 2] = [256, 16];

#[track_caller]
pub(super) fn launch(queue: Queue<'_>, op: &Matmul<'_, DeviceBuffer>) -> Result<(), DeviceError> {
    let (x, weight, out) = (op.x, op.weight, op.out.as_view());
    let (m, k) = (x.layout.dim(0), x.layout.dim(1));
    let n = weight.layout.dim(0);
    let format = weight.layout.dtype();
    let few = m <= FEW_ROWS;
    let variant = if few { format!("m{}", m.next_power_of_two()) } else { "tile".into() };
    let grid = if few {
        [n.div_ceil(rows_of_block(format, m)), 1, 1]
    } else {
        [n.div_ceil(SIDE), m.div_ceil(SIDE), 1]
    };
    queue
        .kernel(Stem::Matmul, &format!("matmul_{format}_{variant}"))?
        .grid(grid)
        .block(BLOCK)
        .pointer("x", address(x))
        .pointer("weight", address(weight))
        .pointer("bias", op.bias.map_or(0, address))
        .pointer("out", address(out))
        .u64("x_stride", x.layout.stride(0))
        .u64("weight_stride", row_bytes(&weight.layout))
        .u64("out_stride", out.layout.stride(0))
        .u32("m", m)
        .u32("n", n)
        .u32("k", k)
        .run(queue.stream)
}

/// Rows of weights that a block of the mat-vec kernels takes: the less a row takes, the more rows must share a row of
/// activations for it to stay a small part of what is read.
const fn rows_of_block(format: DType, m: usize) -> usize {
    if m == 1 && 8 * format.block_bytes() < 4 * format.block_len() { 256 } else { 128 }
}

/// How deep the sums are.
pub(super) fn depth(form: &OpForm) -> Depth {
    Depth::Lanes(form.layout("x").map_or(1, |x| lanes(x.dim(1))))
}

/// Lanes for which the depth of a sum of `k` covers the longest chain, which takes `TURN[1]` elements of each turn.
fn lanes(k: usize) -> usize {
    let chain = k.div_ceil(TURN[0]) * TURN[1];
    (k / chain.max(1)).max(1)
}

/// Where another kernel takes over, where a block is full, and where the activations take a further turn through LDS.
pub(super) fn breakpoints(form: &OpForm) -> Vec<Breakpoint> {
    let (Some(x), Some(weight)) = (form.layout("x"), form.layout("weight")) else { return Vec::new() };
    let m = x.dim(0);
    if m > FEW_ROWS {
        return vec![Breakpoint::dim("weight", 0, SIDE), Breakpoint::dim("x", 0, SIDE)];
    }
    let rows = m.next_power_of_two();
    vec![
        Breakpoint::dim("x", 0, rows),
        Breakpoint::dim("x", 1, STAGED / rows),
        Breakpoint::dim("weight", 0, rows_of_block(weight.dtype(), m)),
    ]
}

/// How the kernel computes.
pub(super) fn numerics(form: &OpForm) -> Numerics {
    Numerics { depth: depth(form), ..Numerics::F32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Additions that an element passes through in a chain of `longest` elements and the tree over all `chains`.
    fn additions(longest: usize, chains: usize) -> usize {
        longest + chains.next_power_of_two().trailing_zeros() as usize
    }

    #[test]
    fn the_device_code_has_the_same_sizes() {
        let source = kernels::device_code::source("matmul").unwrap();
        for (name, value) in [("STAGED", STAGED), ("SIDE", SIDE)] {
            assert!(source.contains(&format!("constexpr u32 {name} = {value};")), "{name}");
        }
    }

    #[test]
    fn the_declared_depth_covers_blocks() {
        for k in (32..9000_usize).step_by(32) {
            let units = k / 32;
            let actual = additions(16 * units.div_ceil(8), 2 * units.min(8));
            let declared = Depth::Lanes(lanes(k)).of(k);
            assert!(actual <= declared, "k = {k}: {actual} additions, {declared} declared");
        }
    }

    #[test]
    fn the_declared_depth_covers_floats() {
        for k in 1..9000_usize {
            let [turns, rest] = [k / 256, k % 256];
            let longest = 16 * turns + (2 * rest.div_ceil(32)).max(4 * rest.div_ceil(64));
            let actual = additions(longest, k.min(16)).min(k);
            let declared = Depth::Lanes(lanes(k)).of(k);
            assert!(actual <= declared, "k = {k}: {actual} additions, {declared} declared");
        }
    }
}
