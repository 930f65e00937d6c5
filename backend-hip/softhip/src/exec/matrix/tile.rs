//! Sixteen results at a time: which elements of A and B they are made of.
//!
//! Sixteen neighbouring lanes of a register of D hold one row of sixteen columns, or, of 4x4 matrices, the same row of
//! four blocks. The columns of B stand in sixteen neighbouring lanes as well, so no matrix is ever transposed.

use super::shape::{Input, Shape, broadcast};
use crate::isa::inst::Mfma;
use crate::memory::WAVE;

/// Results that are computed side by side.
pub(super) const SIDE: usize = 16;

/// Rows, blocks, and elements of A (or of B) per lane.
pub(super) struct Geometry<const M: usize, const BLOCKS: usize, const PER: usize>;

/// A [`Geometry`].
pub(super) trait Tile {
    /// Rows of A and D; also columns of B and D.
    const ROWS: usize;
    const BLOCKS: usize;
    /// Elements summed per result.
    const K: usize;
    /// Registers of D.
    const RESULTS: usize;

    fn shape(a: Input, b: Input) -> Shape;

    /// Element `k` of the row of A that lane `16 · part + i` of register `r` of D is made of; `elements[e]` has element
    /// `e` of every lane.
    fn a<T: Copy, const PER: usize>(elements: &[[T; WAVE]; PER], control: Mfma, at: Place, k: usize) -> T;

    /// Element `k` of its column of B.
    fn b<T: Copy, const PER: usize>(elements: &[[T; WAVE]; PER], at: Place, k: usize) -> T;

    /// Of one block of at least 16 rows: [`a`](Self::a), which is the same for all sixteen lanes.
    fn a_of_row<T: Copy, const PER: usize>(elements: &[[T; WAVE]; PER], r: usize, part: usize, k: usize)
    -> T;

    /// Of one block of at least 16 rows: [`b`](Self::b) of all sixteen lanes of a part.
    fn b_quarter<T, const PER: usize>(elements: &[[T; WAVE]; PER], part: usize, k: usize) -> &[T; SIDE];
}

/// Lane `16 · part + i` of register `r` of D.
///
/// Loops over `i` are the ones to become vectors: they are innermost but for loops over `k`, which are unrolled.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub r: usize,
    pub part: usize,
    pub i: usize,
}

impl<const M: usize, const BLOCKS: usize, const IN_LANE: usize> Geometry<M, BLOCKS, IN_LANE> {
    /// The block, and the row within it, of 16x16 and 32x32 results.
    #[inline(always)]
    const fn row(r: usize, part: usize) -> (usize, usize) {
        if M == 32 { (r / 16, 8 * (r % 16 / 4) + 4 * (part / 2) + r % 4) } else { (r / 4, 4 * part + r % 4) }
    }
}

impl<const M: usize, const BLOCKS: usize, const IN_LANE: usize> Tile for Geometry<M, BLOCKS, IN_LANE> {
    const ROWS: usize = M;
    const BLOCKS: usize = BLOCKS;
    const K: usize = WAVE * IN_LANE / (M * BLOCKS);
    const RESULTS: usize = M * M * BLOCKS / WAVE;

    fn shape(a: Input, b: Input) -> Shape {
        Shape { m: M, k: Self::K, blocks: BLOCKS, a, b }
    }

    #[inline(always)]
    fn a<T: Copy, const PER: usize>(elements: &[[T; WAVE]; PER], control: Mfma, at: Place, k: usize) -> T {
        let Place { r, part, i } = at;
        let lanes = &elements[k % PER];
        if M == 4 {
            return lanes[(4 * broadcast(control, 4 * part + i / 4) + r) % WAVE];
        }
        let (block, row) = Self::row(r, part);
        let stretch = if BLOCKS > 1 { broadcast(control, block) } else { k / PER };
        lanes[(row + M * stretch) % WAVE]
    }

    #[inline(always)]
    fn b<T: Copy, const PER: usize>(elements: &[[T; WAVE]; PER], at: Place, k: usize) -> T {
        let Place { r, part, i } = at;
        let quarter = if M == 4 {
            part
        } else {
            let stretch = if BLOCKS > 1 { Self::row(r, part).0 } else { k / PER };
            (M * stretch + part * SIDE % M) / SIDE
        };
        let quarters: &[[T; SIDE]] = elements[k % PER].as_chunks().0;
        quarters[quarter % (WAVE / SIDE)][i]
    }
    #[inline(always)]
    fn a_of_row<T: Copy, const PER: usize>(
        elements: &[[T; WAVE]; PER],
        r: usize,
        part: usize,
        k: usize,
    ) -> T {
        // A row is below M: said so, the index needs no other check than that of `k`.
        elements[k % PER][Self::row(r, part).1 % M + M * (k / PER)]
    }

    #[inline(always)]
    fn b_quarter<T, const PER: usize>(elements: &[[T; WAVE]; PER], part: usize, k: usize) -> &[T; SIDE] {
        let quarter = (M * (k / PER) + part * SIDE % M) / SIDE;
        &elements[k % PER].as_chunks().0[quarter % (WAVE / SIDE)]
    }
}
