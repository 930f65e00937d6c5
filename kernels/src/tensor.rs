//! Where a tensor's elements lie: [`Layout`], and [`View`] and [`ViewMut`] that tie a layout to a buffer.
//!
//! A layout is plain data: element type, shape, strides and the byte at which the tensor begins.
//! Nothing about it is checked on construction; every op checks the layouts it is given, in one
//! place (`ops/<op>.rs`), against the extents of the buffers.
//!
//! Strides count *elements*. The innermost stride of a quantised tensor is 1 and the outer ones are
//! multiples of the block length, so that a row always begins on a block. The innermost stride of others is 1 too, but for
//! operands whose op's page says that they may be [transposed](Arrangement::Transposed).

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::DType;

/// Most dimensions a tensor can have. A KV cache uses all four: `[seq, slot, head, dim]`.
pub const MAX_RANK: usize = 4;

/// Element type, shape, strides and first byte of a tensor inside a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "StoredLayout", into = "StoredLayout")]
pub struct Layout {
    dtype: DType,
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
    offset: usize,
}

impl Layout {
    /// A dense row-major tensor at byte 0.
    ///
    /// More than [`MAX_RANK`] dimensions cannot be held: such a layout keeps its rank, has no size, and is refused by
    /// every op.
    pub fn contiguous(dtype: DType, shape: &[usize]) -> Self {
        let mut strides = [1usize; MAX_RANK];
        for axis in (0..shape.len().min(MAX_RANK).saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1].saturating_mul(shape[axis + 1]);
        }
        Self::strided(dtype, shape, &strides[..shape.len().min(MAX_RANK)])
    }

    /// A tensor with the given strides, in elements, at byte 0.
    ///
    /// A dimension for which no stride is given has stride 0, which every op refuses in the innermost dimension.
    pub fn strided(dtype: DType, shape: &[usize], strides: &[usize]) -> Self {
        let mut layout =
            Layout { dtype, rank: shape.len(), shape: [1; MAX_RANK], strides: [1; MAX_RANK], offset: 0 };
        for (axis, &extent) in shape.iter().enumerate().take(MAX_RANK) {
            layout.shape[axis] = extent;
            layout.strides[axis] = strides.get(axis).copied().unwrap_or(0);
        }
        layout
    }

    /// The same tensor, beginning at byte `offset` of its buffer.
    #[must_use]
    pub const fn at(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Element type.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of dimensions.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Extent of each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape[..self.rank.min(MAX_RANK)]
    }

    /// Stride of each dimension in elements, outermost first.
    pub fn strides(&self) -> &[usize] {
        &self.strides[..self.rank.min(MAX_RANK)]
    }

    /// Extent of dimension `axis`; 1 past the rank.
    pub fn dim(&self, axis: usize) -> usize {
        self.shape.get(axis).copied().unwrap_or(1)
    }

    /// Stride of dimension `axis` in elements.
    pub fn stride(&self, axis: usize) -> usize {
        self.strides.get(axis).copied().unwrap_or(1)
    }

    /// First byte of the tensor in its buffer.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements, if it fits.
    pub fn elements(&self) -> Option<usize> {
        if self.rank > MAX_RANK {
            return None;
        }
        self.shape().iter().try_fold(1usize, |n, &d| n.checked_mul(d))
    }

    /// Bytes of the buffer that the tensor spans, first to one past the last; `None` on overflow, for a rank
    /// beyond [`MAX_RANK`], for an empty tensor, and where a row does not consist of whole blocks.
    pub fn byte_range(&self) -> Option<Range<usize>> {
        self.elements()?;
        let (outer, inner) = self.shape().split_at(self.rank.min(MAX_RANK).saturating_sub(1));
        let mut last_row = 0usize;
        for (axis, &extent) in outer.iter().enumerate() {
            last_row = last_row.checked_add(extent.checked_sub(1)?.checked_mul(self.strides[axis])?)?;
        }
        let inner = match inner.first() {
            None => 1,
            Some(&extent) => extent.checked_sub(1)?.checked_mul(self.stride(outer.len()))?.checked_add(1)?,
        };
        let bytes = self.dtype.bytes_of(last_row)?.checked_add(self.dtype.bytes_of(inner)?)?;
        Some(self.offset..self.offset.checked_add(bytes)?)
    }

    /// True where the elements lie densely in row-major order.
    pub fn is_contiguous(&self) -> bool {
        let dense = Layout::contiguous(self.dtype, self.shape());
        (0..self.shape().len()).all(|axis| self.dim(axis) == 1 || self.stride(axis) == dense.stride(axis))
    }

    /// In which order the dimensions lie in memory.
    pub fn arrangement(&self) -> Arrangement {
        let Some(inner) = self.rank.min(MAX_RANK).checked_sub(1) else { return Arrangement::Rows };
        if self.is_transposed() {
            return Arrangement::Transposed;
        }
        let long = |axis: &usize| self.dim(*axis) > 1;
        let outer: Vec<usize> = (0..inner).filter(long).map(|axis| self.stride(axis)).collect();
        // A stride of 0 repeats what is inside it, wherever it stands.
        let grows = |pair: &[usize]| pair[0] > 0 && pair[0] < pair[1];
        if outer.windows(2).any(grows) { Arrangement::Permuted } else { Arrangement::Rows }
    }

    /// True where the elements of a row lie apart.
    pub fn is_transposed(&self) -> bool {
        let inner = self.rank.min(MAX_RANK).checked_sub(1);
        inner.is_some_and(|inner| self.dim(inner) > 1 && self.stride(inner) != 1)
    }

    /// First byte of the row at `index`, which leaves out the innermost dimension.
    ///
    /// Meaningful only for a layout that an op has accepted: the arithmetic is unchecked there because
    /// [`Layout::byte_range`] has covered it.
    pub fn row_offset(&self, index: &[usize]) -> usize {
        let elements: usize = index.iter().zip(&self.strides).map(|(i, s)| i * s).sum();
        self.offset + elements / self.dtype.block_len() * self.dtype.block_bytes()
    }

    /// Byte range in the buffer of each row, in row-major order. A row is the innermost dimension; of a transposed tensor, whose rows do
    /// not lie in one piece, these are the single elements.
    ///
    /// Meaningful only for a layout that an op has accepted, as [`Layout::row_offset`].
    pub fn rows(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let layout = *self;
        let rank = layout.rank().min(MAX_RANK);
        let outer = if layout.is_transposed() { rank } else { rank.saturating_sub(1) };
        let rows: usize = layout.shape[..outer].iter().product();
        let len = layout.shape[outer..rank].iter().product();
        let len = layout.dtype.bytes_of(len).unwrap_or(0);
        (0..rows).map(move |mut row| {
            let mut index = [0; MAX_RANK];
            for axis in (0..outer).rev() {
                index[axis] = row % layout.shape[axis];
                row /= layout.shape[axis];
            }
            let start = layout.row_offset(&index[..outer]);
            start..start + len
        })
    }

    /// The bytes of the elements in row-major order, without padding. `bytes` is the buffer from byte `base` on; `None` where
    /// the tensor leaves it.
    pub fn gather(&self, bytes: &[u8], base: usize) -> Option<Vec<u8>> {
        let range = self.byte_range()?;
        let inside = |r: Range<usize>| bytes.get(r.start.checked_sub(base)?..r.end.checked_sub(base)?);
        if self.is_contiguous() {
            return inside(range).map(<[u8]>::to_vec);
        }
        inside(range.clone())?;
        let mut dense = Vec::with_capacity(range.len());
        for row in self.rows() {
            dense.extend_from_slice(inside(row)?);
        }
        Some(dense)
    }

    /// The entries `range` of dimension `dim`; `None` where there are none or they leave the dimension.
    pub fn part(&self, dim: usize, range: Range<usize>) -> Option<Layout> {
        if range.is_empty() || range.end > self.dim(dim) {
            return None;
        }
        let mut shape = self.shape().to_vec();
        *shape.get_mut(dim)? = range.len();
        let first = range.start.checked_mul(self.stride(dim))?;
        let offset = self.offset() + first / self.dtype().block_len() * self.dtype().block_bytes();
        Some(Layout::strided(self.dtype(), &shape, self.strides()).at(offset))
    }

    /// The dense tensor of the same type and shape at byte 0.
    #[must_use]
    pub fn densified(&self) -> Layout {
        Layout::contiguous(self.dtype, self.shape())
    }
}

/// In which order the dimensions of a tensor lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// As they are counted: each encloses those after it.
    Rows,
    /// The elements of a row side by side, the outer dimensions in another order: a cache whose heads enclose its slots.
    Permuted,
    /// The elements of a row apart: a column-major matrix, keys whose slots are innermost.
    Transposed,
}

impl Arrangement {
    /// Every arrangement.
    pub const ALL: [Arrangement; 3] = [Arrangement::Rows, Arrangement::Permuted, Arrangement::Transposed];

    /// The word in manifests and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Arrangement::Rows => "rows",
            Arrangement::Permuted => "permuted",
            Arrangement::Transposed => "transposed",
        }
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Layout {
    /// As in reports: `f32[3, 64]`, with strides where they are not dense and the offset where not 0.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?}", self.dtype, self.shape())?;
        if !self.is_contiguous() {
            write!(f, " strides {:?}", self.strides())?;
        }
        if self.offset != 0 {
            write!(f, " at byte {}", self.offset)?;
        }
        Ok(())
    }
}

/// A layout as it is written to files: dense strides and offset 0 are left out.
#[derive(Serialize, Deserialize)]
struct StoredLayout {
    dtype: DType,
    shape: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strides: Option<Vec<usize>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    offset: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl From<Layout> for StoredLayout {
    fn from(layout: Layout) -> Self {
        let dense = Layout::contiguous(layout.dtype, layout.shape()).at(layout.offset) == layout;
        StoredLayout {
            dtype: layout.dtype,
            shape: layout.shape().to_vec(),
            strides: (!dense).then(|| layout.strides().to_vec()),
            offset: layout.offset,
        }
    }
}

impl TryFrom<StoredLayout> for Layout {
    type Error = String;

    fn try_from(stored: StoredLayout) -> Result<Self, String> {
        let rank = stored.shape.len();
        if rank > MAX_RANK {
            return Err(format!("at most {MAX_RANK} dimensions, got {rank}"));
        }
        let layout = match &stored.strides {
            None => Layout::contiguous(stored.dtype, &stored.shape),
            Some(strides) if strides.len() == rank => Layout::strided(stored.dtype, &stored.shape, strides),
            Some(strides) => return Err(format!("{rank} dimensions but {} strides", strides.len())),
        };
        Ok(layout.at(stored.offset))
    }
}

/// What a backend's memory object must tell.
pub trait Buffer {
    /// Bytes that were asked for.
    fn len(&self) -> usize;

    /// True for an allocation of no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the allocation is for; appears in errors and reports.
    fn label(&self) -> &str;
}

/// A tensor to read.
#[derive(Debug)]
pub struct View<'a, B> {
    /// Memory that holds it.
    pub buffer: &'a B,
    /// Where in the buffer it lies.
    pub layout: Layout,
}

impl<B> Clone for View<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for View<'_, B> {}

impl<'a, B> View<'a, B> {
    /// The tensor `layout` in `buffer`.
    pub const fn new(buffer: &'a B, layout: Layout) -> Self {
        View { buffer, layout }
    }
}

/// A tensor to write. Holding it excludes every other use of the buffer, so that inputs and
/// outputs of an op cannot overlap.
#[derive(Debug)]
pub struct ViewMut<'a, B> {
    /// Memory that holds it.
    pub buffer: &'a mut B,
    /// Where in the buffer it lies.
    pub layout: Layout,
}

impl<'a, B> ViewMut<'a, B> {
    /// The tensor `layout` in `buffer`.
    pub const fn new(buffer: &'a mut B, layout: Layout) -> Self {
        ViewMut { buffer, layout }
    }

    /// The same tensor, to read.
    pub const fn as_view(&self) -> View<'_, B> {
        View { buffer: &*self.buffer, layout: self.layout }
    }
}

/// An input that may be the op's own output: in-place operation is asked for, never inferred.
#[derive(Debug)]
pub enum Source<'a, B> {
    /// A tensor of its own.
    Of(View<'a, B>),
    /// The content of the output before the op runs.
    InPlace,
}

impl<'a, B> Source<'a, B> {
    /// The view to read, given the op's output.
    pub const fn view<'s>(&'s self, out: &'s ViewMut<'a, B>) -> View<'s, B> {
        match self {
            Source::Of(view) => View { buffer: view.buffer, layout: view.layout },
            Source::InPlace => out.as_view(),
        }
    }
}

/// Indices on the device whose values the host knows: made only by [`crate::Backend::indices`], so that
/// what validation checks is what the kernel reads.
#[derive(Debug)]
pub struct IndexBuffer<B> {
    pub(crate) buffer: B,
    pub(crate) values: Vec<u32>,
}

impl<B> IndexBuffer<B> {
    /// All of the indices, as an operand.
    pub fn all(&self) -> Indices<'_, B> {
        let layout = Layout::contiguous(DType::U32, &[self.values.len()]);
        Indices { view: View::new(&self.buffer, layout), values: &self.values }
    }

    /// The values.
    pub fn values(&self) -> &[u32] {
        &self.values
    }
}

/// A `u32[n]` operand together with its values.
#[derive(Debug)]
pub struct Indices<'a, B> {
    pub(crate) view: View<'a, B>,
    pub(crate) values: &'a [u32],
}

impl<B> Clone for Indices<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for Indices<'_, B> {}

impl<'a, B> Indices<'a, B> {
    /// The device's copy.
    pub const fn view(&self) -> View<'a, B> {
        self.view
    }

    /// The host's copy.
    pub const fn values(&self) -> &'a [u32] {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_range_ends_after_the_last_element_not_after_the_last_stride() {
        let padded = Layout::strided(DType::F32, &[3, 5], &[8, 1]).at(16);
        assert_eq!(padded.byte_range(), Some(16..16 + (2 * 8 + 5) * 4));
        assert!(!padded.is_contiguous());
        let blocks = Layout::contiguous(DType::Q8_0, &[2, 64]);
        assert_eq!(blocks.byte_range(), Some(0..4 * 34));
        assert_eq!(blocks.row_offset(&[1]), 68);
    }

    #[test]
    fn a_transposed_tensor_is_read_element_by_element_in_row_major_order() {
        let columns = Layout::strided(DType::F16, &[2, 3], &[1, 4]).at(2);
        assert_eq!(columns.byte_range(), Some(2..2 + (1 + 2 * 4 + 1) * 2));
        assert_eq!(columns.rows().map(|row| row.start).collect::<Vec<_>>(), [2, 10, 18, 4, 12, 20]);
        assert!(columns.rows().all(|row| row.len() == 2));
        let bytes: Vec<u8> = (0..24).collect();
        assert_eq!(columns.gather(&bytes, 0).unwrap(), [2, 3, 10, 11, 18, 19, 4, 5, 12, 13, 20, 21]);
    }

    #[test]
    fn the_order_of_dimensions_is_known_from_the_strides() {
        let of = |strides: &[usize]| Layout::strided(DType::F32, &[2, 5, 3, 4], strides).arrangement();
        assert_eq!(of(&[60, 12, 4, 1]), Arrangement::Rows);
        assert_eq!(of(&[90, 16, 5, 1]), Arrangement::Rows);
        assert_eq!(of(&[60, 4, 20, 1]), Arrangement::Permuted);
        assert_eq!(of(&[60, 1, 20, 5]), Arrangement::Transposed);
        assert_eq!(Layout::strided(DType::F32, &[3, 4], &[0, 1]).arrangement(), Arrangement::Rows);
        // What is no longer than one element has no order.
        assert_eq!(Layout::strided(DType::F32, &[3, 1], &[1, 3]).arrangement(), Arrangement::Rows);
        assert_eq!(Layout::strided(DType::F32, &[7, 1, 4], &[4, 90, 1]).arrangement(), Arrangement::Rows);
    }

    #[test]
    fn byte_range_refuses_overflow_and_broken_blocks() {
        assert_eq!(Layout::contiguous(DType::F32, &[usize::MAX, 2]).byte_range(), None);
        assert_eq!(Layout::contiguous(DType::F32, &[1 << 33, 1 << 33]).byte_range(), None);
        assert_eq!(Layout::contiguous(DType::Q4_0, &[2, 33]).byte_range(), None);
        assert_eq!(Layout::contiguous(DType::F32, &[2]).at(usize::MAX - 3).byte_range(), None);
    }

    #[test]
    fn a_rank_that_cannot_be_held_has_no_size() {
        let five = Layout::contiguous(DType::F32, &[1, 2, 3, 4, 5]);
        assert_eq!((five.rank(), five.elements(), five.byte_range()), (5, None, None));
    }

    #[test]
    fn a_dimension_without_a_stride_keeps_its_extent() {
        let layout = Layout::strided(DType::F32, &[2, 3], &[3]);
        assert_eq!((layout.shape(), layout.strides()), (&[2, 3][..], &[3, 0][..]));
    }

    #[test]
    fn a_stored_layout_reads_back() {
        let dense = Layout::contiguous(DType::Q4K, &[3, 256]);
        let json = serde_json::to_string(&dense).unwrap();
        assert_eq!(json, r#"{"dtype":"q4_k","shape":[3,256]}"#);
        for layout in [dense, dense.at(64), Layout::strided(DType::F32, &[2, 3], &[7, 1]).at(4)] {
            let json = serde_json::to_string(&layout).unwrap();
            assert_eq!(serde_json::from_str::<Layout>(&json).unwrap(), layout);
        }
        assert!(serde_json::from_str::<Layout>(r#"{"dtype":"f32","shape":[1,1,1,1,1]}"#).is_err());
        assert!(serde_json::from_str::<Layout>(r#"{"dtype":"f32","shape":[1,1],"strides":[1]}"#).is_err());
    }

    #[test]
    fn debug_form_names_what_is_unusual() {
        let plain = Layout::contiguous(DType::F32, &[3, 64]);
        assert_eq!(format!("{plain:?}"), "f32[3, 64]");
        let padded = Layout::strided(DType::F16, &[3, 64], &[80, 1]).at(32);
        assert_eq!(format!("{padded:?}"), "f16[3, 64] strides [80, 1] at byte 32");
    }
}
