//! Launch of the kernels that go over strided rows element by element, in tiles (`rows.h`).

use kernels::{Breakpoint, DeviceError, Layout, Stem, View};

use super::{Queue, address, grid};
use crate::launch::Launch;
use crate::memory::DeviceBuffer;

/// Threads of a block, `TILE_THREADS` of `rows.h`.
const BLOCK: u32 = 256;
/// Elements of a tile, `TILE` of `rows.h`.
const TILE: usize = 1024;

/// Where a row takes a further tile, and where a thread that takes elements one by one takes a second one.
pub(super) fn breakpoints() -> Vec<Breakpoint> {
    [BLOCK as usize, TILE].map(|last| Breakpoint::dim("out", 1, last)).into()
}

/// Rows as a kernel sees them: dense operands are one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// How many.
    pub count: usize,
    /// Elements of a row.
    pub n: usize,
    dense: bool,
}

impl Rows {
    /// The rows of an op all of whose operands have the shape of the first.
    pub fn of(operands: &[&Layout]) -> Self {
        let (rows, n) = (operands[0].dim(0), operands[0].dim(1));
        let all = rows.saturating_mul(n);
        let dense = i32::try_from(all).is_ok()
            && operands.iter().all(|layout| layout.is_contiguous() && layout.dim(0) == rows);
        if dense { Rows { count: 1, n: all, dense } } else { Rows { count: rows, n, dense } }
    }

    /// The same rows, of `n` words each.
    pub const fn in_words(self, n: usize) -> Self {
        Rows { n, ..self }
    }

    /// From one row of `layout` to the next. An operand of one row serves all.
    pub fn stride(self, layout: &Layout) -> usize {
        if self.dense || layout.dim(0) == 1 { 0 } else { layout.stride(0) }
    }

    /// A launch over all tiles.
    pub fn kernel(self, queue: Queue<'_>, stem: Stem, name: &str) -> Result<Launch, DeviceError> {
        Ok(queue.kernel(stem, name)?.grid(grid(self.n.div_ceil(TILE), self.count)).block(BLOCK))
    }

    /// 1 where all rows of all operands begin at a multiple of four elements, so that four are taken at once, else 0.
    pub fn quads(self, operands: &[View<'_, DeviceBuffer>]) -> usize {
        let whole = |view: &View<'_, DeviceBuffer>| {
            let bytes = 4 * view.layout.dtype().block_bytes() as u64;
            address(*view).is_multiple_of(bytes) && self.stride(&view.layout).is_multiple_of(4)
        };
        usize::from(operands.iter().all(whole))
    }
}
