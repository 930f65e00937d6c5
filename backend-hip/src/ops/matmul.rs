//! Launch of `matmul.hip`: mat-vec for few rows of activations, tiles for more.

use kernels::ops::Matmul;
use kernels::{DType, Depth, DeviceError, OpForm, Stem};

use super::{Queue, address, row_bytes};
use crate::memory::DeviceBuffer;

/// Threads of a block of every variant.
const BLOCK: u32 = 512;
/// Rows of activations for which the weights are streamed past them.
const FEW_ROWS: usize = 8;
/// Rows of weights that a block of the mat-vec kernels takes in a pass.
const PASS: usize = 64;
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
    let passes = passes(format);
    let grid = if few { [n.div_ceil(PASS * passes), 1, 1] } else { [n.div_ceil(SIDE), m.div_ceil(SIDE), 1] };
    let launch = queue
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
        .u32("k", k);
    if few { launch.u32("passes", passes) } else { launch }.run(queue.stream)
}

/// Passes of a block over the activations that it holds: the less a row of weights takes, the more rows must share a row of
/// activations for it to stay below a tenth of what is read.
const fn passes(format: DType) -> usize {
    let bits = 8 * format.block_bytes() / format.block_len();
    if bits < 5 { 2 } else { 1 }
}

/// The longest chain has `TURN[1]` elements of each turn, begun or whole; the tree over 16 chains follows.
pub(super) fn depth(form: &OpForm) -> Depth {
    let k = form.layout("x").map_or(0, |x| x.dim(1));
    let chain = k.div_ceil(TURN[0]) * TURN[1];
    Depth::Lanes((k / chain.max(1)).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Additions of the longest chain and of the tree, for rows of whole units of 32.
    fn additions(k: usize) -> usize {
        let units = k.div_ceil(32);
        let chains = 2 * units.min(8);
        units.div_ceil(8) * 16 + chains.next_power_of_two().trailing_zeros() as usize
    }

    #[test]
    fn the_declared_depth_covers_the_chains_and_the_tree() {
        for k in (32..9000).step_by(32) {
            let chain = k.div_ceil(TURN[0]) * TURN[1];
            let declared = Depth::Lanes((k / chain).max(1)).of(k);
            assert!(declared >= additions(k), "k = {k}: {declared} < {}", additions(k));
        }
    }
}
