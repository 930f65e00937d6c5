//! Shapes of matrix operations, and where the elements of their matrices stand.
//!
//! A holds `m × k`, B `k × m`, C and D `m × m` numbers per block. Lane `l` holds row (of A) or column (of B) `l % m`; the
//! lanes with the same row hold different blocks, or consecutive stretches of `k`. In D, lane `l` holds column `l % m`,
//! and each register four rows apart as [`Shape::row`] says.

use crate::isa::inst::Mfma;
pub(super) use crate::isa::table::matrix::Element as Input;
use crate::memory::WAVE;

/// The shape and formats of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Rows of A and D; also columns of B and D.
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) blocks: usize,
    pub(super) a: Input,
    pub(super) b: Input,
}

impl Shape {
    /// Elements of A, or of B, in one lane.
    pub(super) const fn per_lane(self) -> usize {
        self.m * self.k * self.blocks / WAVE
    }

    /// The lane and the element within it that hold element `k` of row (or column) `i` of a block.
    pub(super) const fn place(self, block: usize, i: usize, k: usize) -> (usize, usize) {
        if matches!(self.a, Input::F64) && self.blocks > 1 {
            // 4x4x4 f64: the lanes run over rows, then blocks, then k.
            return (i + self.m * (block + self.blocks * k), 0);
        }
        let per_lane = self.per_lane();
        let stretch = if self.blocks > 1 { block } else { k / per_lane };
        (i + self.m * stretch, k % per_lane)
    }

    /// The block and row that register `r` of `lane` holds in D.
    pub(super) const fn row(self, r: usize, lane: usize) -> (usize, usize) {
        match (self.m, self.a) {
            (4, Input::F64) => ((lane / 4) % 4, lane / 16),
            (_, Input::F64) => (0, 4 * r + lane / 16),
            (32, _) => (r / 16, 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4),
            (16, _) => (r / 4, 4 * (lane / 16) + r % 4),
            _ => (lane / 4, r),
        }
    }

    /// Registers (pairs for f64) of D.
    #[cfg(test)]
    pub(super) const fn results(self) -> usize {
        self.m * self.m * self.blocks / WAVE
    }

    /// The lanes that hold the elements `k` of A and of B for what register `r` of `lane` holds in D.
    pub(super) const fn lanes(self, control: Mfma, r: usize, lane: usize, k: usize) -> (usize, usize) {
        let (block, row) = self.row(r, lane);
        let (from_a, _) = self.place(broadcast(control, block), row, k);
        let (from_b, _) = self.place(block, lane % self.m, k);
        (from_a % WAVE, from_b)
    }
}

/// The block of A that a block of the product uses, under the broadcast controls.
pub(super) const fn broadcast(control: Mfma, block: usize) -> usize {
    let group = 1 << control.cbsz;
    block / group * group + (control.abid as usize) % group
}

/// The lane whose B a lane uses, under the lane-group pattern.
pub(super) const fn lane_of_b(blgp: u8, lane: usize) -> usize {
    match blgp {
        1 => lane % 32,
        2 => 32 + lane % 32,
        3 => (lane + 16) % 64,
        4 => lane % 16,
        5 => 16 + lane % 16,
        6 => 32 + lane % 16,
        7 => 48 + lane % 16,
        _ => lane,
    }
}
