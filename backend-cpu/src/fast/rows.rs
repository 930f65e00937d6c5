//! Tensors as rows: slices of the innermost dimension, which is dense but for a transposed operand.
//!
//! A slice covers exactly one row, so padding between rows is never read or written.

use std::ops::Range;

use kernels::{DType, Layout, MAX_RANK, View, ViewMut};

use super::blocks::decode_row;
use super::simd::RowPanel;
use crate::HostBuffer;

/// The rows of a tensor that is read.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    buffer: &'a [u8],
    layout: Layout,
    row_bytes: usize,
    /// Bytes from a row to the next, if the tensor is a matrix.
    stride: Option<usize>,
}

impl<'a> Rows<'a> {
    /// The rows of a tensor that an op has accepted.
    pub fn of(view: View<'a, HostBuffer>) -> Self {
        let layout = view.layout;
        let stride = (layout.rank() == 2).then(|| layout.row_offset(&[1]) - layout.row_offset(&[0]));
        Rows { buffer: view.buffer.bytes(), layout, row_bytes: row_bytes(&layout), stride }
    }

    /// Type of the elements.
    pub const fn dtype(&self) -> DType {
        self.layout.dtype()
    }

    /// Bytes of row `nth` in row-major order.
    pub fn bytes(&self, nth: usize) -> &'a [u8] {
        if let Some(stride) = self.stride {
            return &self.buffer[self.layout.offset() + nth * stride..][..self.row_bytes];
        }
        self.bytes_at(&row_index(&self.layout, nth))
    }

    /// Bytes from the first of row `nth` of a matrix on.
    pub fn bytes_from(&self, nth: usize) -> &'a [u8] {
        &self.buffer[self.layout.offset() + nth * self.matrix_stride()..]
    }

    /// Bytes of the row at `index`, which leaves out the innermost dimension.
    pub fn bytes_at(&self, index: &[usize]) -> &'a [u8] {
        &self.buffer[self.layout.row_offset(index)..][..self.row_bytes]
    }

    /// The rows of a cache `[sequence, slot, head, …]` at every slot of one sequence and head.
    pub fn slots(&self, seq: usize, head: usize) -> StridedRows<'a> {
        let start = self.layout.row_offset(&[seq, 0, head]);
        let stride = self.layout.row_offset(&[seq, 1, head]) - start;
        StridedRows { bytes: &self.buffer[start..], stride, row_bytes: self.row_bytes }
    }

    /// The rows of a matrix from `first` on.
    pub fn starting_at(&self, first: usize) -> StridedRows<'a> {
        let stride = self.matrix_stride();
        StridedRows {
            bytes: &self.buffer[self.layout.offset() + first * stride..],
            stride,
            row_bytes: self.row_bytes,
        }
    }

    /// The bytes from the start of the first to the end of the last of `rows` of a matrix, padding between them included.
    pub fn byte_span(&self, rows: Range<usize>) -> &'a [u8] {
        let stride = self.matrix_stride();
        let start = self.layout.offset() + rows.start * stride;
        let end = self.layout.offset() + (rows.end.max(rows.start + 1) - 1) * stride;
        &self.buffer[start..end + self.row_bytes]
    }

    /// Bytes from a row of a matrix to the next.
    fn matrix_stride(&self) -> usize {
        self.stride.expect("validation has checked that the operand is a matrix")
    }

    /// True if these are the same rows in the same memory.
    pub fn same_as(&self, other: &Self) -> bool {
        std::ptr::eq(self.buffer, other.buffer) && self.layout == other.layout
    }

    /// The row panel of a matrix from row `first` on, if it has so many rows.
    pub fn panel(&self, first: usize) -> Option<RowPanel<'a>> {
        let stride = self.stride?;
        RowPanel::new(&self.buffer[self.layout.offset() + first * stride..], stride, self.row_bytes)
    }

    /// Values of row `nth`: borrowed if they are aligned f32, or else decoded to `scratch`.
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

/// The first `count` rows: borrowed if they are aligned f32, or else decoded to `scratch`.
pub fn read_rows<'s>(rows: &'s Rows<'_>, count: usize, scratch: &'s mut Vec<f32>) -> Vec<&'s [f32]> {
    let borrowed = |nth| bytemuck::try_cast_slice(rows.bytes(nth)).ok();
    if rows.dtype() == DType::F32
        && let Some(floats) = (0..count).map(borrowed).collect()
    {
        return floats;
    }
    let len = rows.layout.shape().last().copied().unwrap_or(1);
    scratch.resize(count * len, 0.0);
    for (nth, to) in scratch.chunks_exact_mut(len.max(1)).enumerate() {
        decode_row(rows.dtype(), rows.bytes(nth), to);
    }
    (0..count).map(|nth| &scratch[nth * len..][..len]).collect()
}

/// Rows at a constant stride.
#[derive(Clone, Copy)]
pub struct StridedRows<'a> {
    bytes: &'a [u8],
    stride: usize,
    row_bytes: usize,
}

impl<'a> StridedRows<'a> {
    /// Bytes of row `nth`.
    #[inline(always)]
    pub fn bytes(&self, nth: usize) -> &'a [u8] {
        &self.bytes[nth * self.stride..][..self.row_bytes]
    }
}

/// The rows of a tensor that is written, in row-major order.
pub fn rows_mut(view: ViewMut<'_, HostBuffer>) -> Vec<&mut [u8]> {
    let ViewMut { buffer, layout } = view;
    split_disjoint(buffer.bytes_mut(), layout.rows())
}

/// The slices of `bytes` at `ranges`, which may come in any order and do not overlap.
pub fn split_disjoint(bytes: &mut [u8], ranges: impl Iterator<Item = Range<usize>>) -> Vec<&mut [u8]> {
    let mut ranges: Vec<_> = ranges.enumerate().collect();
    ranges.sort_by_key(|(_, range)| range.start);
    let (mut rest, mut at) = (bytes, 0);
    let cut = |(nth, range): (usize, Range<usize>)| {
        let (slice, after) = std::mem::take(&mut rest)[range.start - at..].split_at_mut(range.len());
        (rest, at) = (after, range.end);
        (nth, slice)
    };
    let mut slices: Vec<_> = ranges.into_iter().map(cut).collect();
    slices.sort_by_key(|&(nth, _)| nth);
    slices.into_iter().map(|(_, slice)| slice).collect()
}

/// Bytes of a row.
pub fn row_bytes(layout: &Layout) -> usize {
    let columns = layout.shape().last().copied().unwrap_or(1);
    columns / layout.dtype().block_len() * layout.dtype().block_bytes()
}

/// A row that is written, as f32. Memory that is written is the backend's own and aligned for every type.
pub fn floats_mut(row: &mut [u8]) -> &mut [f32] {
    bytemuck::cast_slice_mut(row)
}

/// `N` rows, the last one repeated if there are fewer.
#[inline(always)]
pub fn pad_with_last<T: Copy, const N: usize>(rows: &[T]) -> [T; N] {
    std::array::from_fn(|i| rows[i.min(rows.len() - 1)])
}

/// Stores `values` at `at` of `row`, clipped at its end.
#[inline(always)]
pub fn store_clipped<const N: usize>(row: &mut [f32], at: usize, values: &[f32; N]) {
    let Some(to) = row.get_mut(at..) else { return };
    match to.first_chunk_mut() {
        Some(to) => *to = *values,
        None => store_part(to, values),
    }
}

/// Stores as many of `values` as there is room for. Out of line, so that the common case is one vector store.
#[cold]
#[inline(never)]
fn store_part(to: &mut [f32], values: &[f32]) {
    to.copy_from_slice(&values[..to.len()]);
}

/// Index of row `nth` in row-major order, the innermost dimension at 0.
fn row_index(layout: &Layout, mut nth: usize) -> [usize; MAX_RANK] {
    let mut index = [0; MAX_RANK];
    for axis in (0..layout.rank().saturating_sub(1)).rev() {
        index[axis] = nth % layout.dim(axis);
        nth /= layout.dim(axis);
    }
    index
}
