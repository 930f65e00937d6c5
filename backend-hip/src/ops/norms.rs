//! Kernels that take a row to a block and keep it in registers where it fits.

use kernels::{Breakpoint, Stem};

/// Elements of the longest rows of the kernels that read a row once. Longer ones are read again.
const READ_ONCE: [usize; 4] = [1024, 2048, 4096, 8192];

/// The kernel for rows of `n` elements.
pub(super) fn kernel(stem: Stem, n: usize) -> String {
    match READ_ONCE.iter().find(|longest| n <= **longest) {
        Some(longest) => format!("{stem}_{longest}"),
        None => stem.name().into(),
    }
}

/// Where another kernel takes over.
pub(super) fn breakpoints() -> Vec<Breakpoint> {
    READ_ONCE.map(|longest| Breakpoint::dim("out", 1, longest)).into()
}
