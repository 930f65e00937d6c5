//! Tensors as rows: slices of the innermost dimension, which is always dense.
//!
//! Only what belongs to a row is ever sliced, so padding between rows cannot be read or written.

use std::ops::Range;

use kernels::{DType, Layout, MAX_RANK, View, ViewMut};

use super::blocks::decode_row;
use super::simd::Rows16;
use crate::HostBuffer;

/// The rows of a tensor to read.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    buffer: &'a [u8],
    layout: Layout,
    row_bytes: usize,
    /// Bytes from a row to the next, for a matrix.
    step: Option<usize>,
}

impl<'a> Rows<'a> {
    /// The rows of a tensor that an op has accepted.
    pub fn of(view: View<'a, HostBuffer>) -> Self {
        let layout = view.layout;
        let step = (layout.rank() == 2).then(|| layout.row_offset(&[1]) - layout.row_offset(&[0]));
        Rows { buffer: view.buffer.bytes(), layout, row_bytes: row_bytes(&layout), step }
    }

    /// Type of the elements.
    pub const fn dtype(&self) -> DType {
        self.layout.dtype()
    }

    /// Bytes of row number `nth`, in row-major order.
    pub fn bytes(&self, nth: usize) -> &'a [u8] {
        if let Some(step) = self.step {
            return &self.buffer[self.layout.offset() + nth * step..][..self.row_bytes];
        }
        self.bytes_at(&place(&self.layout, nth))
    }

    /// Bytes of the row at `index`, which leaves out the innermost dimension.
    pub fn bytes_at(&self, index: &[usize]) -> &'a [u8] {
        &self.buffer[self.layout.row_offset(index)..][..self.row_bytes]
    }

    /// The rows of a cache `[sequence, slot, head, …]` at every slot of one sequence and head.
    pub fn slots(&self, seq: usize, head: usize) -> Spaced<'a> {
        let start = self.layout.row_offset(&[seq, 0, head]);
        let step = self.layout.row_offset(&[seq, 1, head]) - start;
        Spaced { bytes: &self.buffer[start..], step, row_bytes: self.row_bytes }
    }

    /// The rows of a matrix from number `first` on.
    pub fn from(&self, first: usize) -> Spaced<'a> {
        let step = self.step.unwrap_or(0);
        Spaced { bytes: &self.buffer[self.layout.offset() + first * step..], step, row_bytes: self.row_bytes }
    }

    /// From the first byte to the last of the rows `rows`, of a matrix that has them, with what lies between them.
    pub fn stretch(&self, rows: Range<usize>) -> &'a [u8] {
        let start = self.layout.offset() + rows.start * self.step.unwrap_or(0);
        let end = self.layout.offset() + (rows.end.max(rows.start + 1) - 1) * self.step.unwrap_or(0);
        &self.buffer[start..end + self.row_bytes]
    }

    /// Whether these are the same rows in the same memory.
    pub fn same_as(&self, other: &Self) -> bool {
        std::ptr::eq(self.buffer, other.buffer) && self.layout == other.layout
    }

    /// Sixteen rows of a matrix from number `first` on, if it has so many.
    pub fn sixteen(&self, first: usize) -> Option<Rows16<'a>> {
        let step = self.step?;
        Rows16::new(&self.buffer[self.layout.offset() + first * step..], step, self.row_bytes)
    }

    /// Values of row number `nth`: where they lie if they are f32 already, or else decoded to `scratch`.
    pub fn read<'s>(&'s self, nth: usize, scratch: &'s mut Vec<f32>) -> &'s [f32] {
        let bytes = self.bytes(nth);
        if self.dtype() == DType::F32
            && let Ok(values) = bytemuck::try_cast_slice(bytes)
        {
            return values;
        }
        scratch.resize(bytes.len() / self.dtype().block_bytes() * self.dtype().block_len(), 0.0);
        decode_row(self.dtype(), bytes, scratch);
        scratch
    }
}

/// `count` rows from number 0 on: where they lie if they are f32 already, or else decoded to `memory`.
pub fn floats<'s>(rows: &'s Rows<'_>, count: usize, memory: &'s mut Vec<f32>) -> Vec<&'s [f32]> {
    let in_place = |nth| bytemuck::try_cast_slice(rows.bytes(nth)).ok();
    if rows.dtype() == DType::F32
        && let Some(floats) = (0..count).map(in_place).collect()
    {
        return floats;
    }
    let len = rows.layout.shape().last().copied().unwrap_or(1);
    memory.resize(count * len, 0.0);
    for (nth, to) in memory.chunks_exact_mut(len.max(1)).enumerate() {
        decode_row(rows.dtype(), rows.bytes(nth), to);
    }
    (0..count).map(|nth| &memory[nth * len..][..len]).collect()
}

/// Rows at even distances.
#[derive(Clone, Copy)]
pub struct Spaced<'a> {
    bytes: &'a [u8],
    step: usize,
    row_bytes: usize,
}

impl<'a> Spaced<'a> {
    /// Bytes of row number `nth`.
    #[inline(always)]
    pub fn bytes(&self, nth: usize) -> &'a [u8] {
        &self.bytes[nth * self.step..][..self.row_bytes]
    }
}

/// The rows of a tensor to write, in row-major order.
pub fn rows_mut(view: ViewMut<'_, HostBuffer>) -> Vec<&mut [u8]> {
    let ViewMut { buffer, layout } = view;
    carve(buffer.bytes_mut(), layout.rows())
}

/// The pieces at `ranges`, which come in any order and do not overlap.
pub fn carve(bytes: &mut [u8], ranges: impl Iterator<Item = Range<usize>>) -> Vec<&mut [u8]> {
    let mut ranges: Vec<_> = ranges.enumerate().collect();
    ranges.sort_by_key(|(_, range)| range.start);
    let (mut rest, mut at) = (bytes, 0);
    let cut = |(nth, range): (usize, Range<usize>)| {
        let (piece, after) = std::mem::take(&mut rest)[range.start - at..].split_at_mut(range.len());
        (rest, at) = (after, range.end);
        (nth, piece)
    };
    let mut pieces: Vec<_> = ranges.into_iter().map(cut).collect();
    pieces.sort_by_key(|&(nth, _)| nth);
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

/// Bytes of a row of a tensor that an op has accepted.
pub fn row_bytes(layout: &Layout) -> usize {
    let columns = layout.shape().last().copied().unwrap_or(1);
    columns / layout.dtype().block_len() * layout.dtype().block_bytes()
}

/// The values of a row to write. Memory that is written is the backend's own and aligned for every type.
pub fn floats_mut(row: &mut [u8]) -> &mut [f32] {
    bytemuck::cast_slice_mut(row)
}

/// `N` rows: the last one stands in for those beyond it.
#[inline(always)]
pub fn filled_up<T: Copy, const N: usize>(rows: &[T]) -> [T; N] {
    std::array::from_fn(|i| rows[i.min(rows.len() - 1)])
}

/// Puts `values` at `at` of `part`, as far as it goes.
#[inline(always)]
pub fn put<const N: usize>(part: &mut [f32], at: usize, values: &[f32; N]) {
    let Some(to) = part.get_mut(at..) else { return };
    match to.first_chunk_mut() {
        Some(to) => *to = *values,
        None => put_some(to, values),
    }
}

/// Puts as many of `values` as there is room for. Apart, so that all of them are put by one instruction.
#[cold]
#[inline(never)]
fn put_some(to: &mut [f32], values: &[f32]) {
    to.copy_from_slice(&values[..to.len()]);
}

/// Index of row number `nth`, the innermost dimension at 0.
fn place(layout: &Layout, mut nth: usize) -> [usize; MAX_RANK] {
    let mut index = [0; MAX_RANK];
    for axis in (0..layout.rank().saturating_sub(1)).rev() {
        index[axis] = nth % layout.dim(axis);
        nth /= layout.dim(axis);
    }
    index
}
