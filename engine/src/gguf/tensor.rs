//! The directory of tensors: name, type, shape and range of bytes.

use std::fmt;
use std::ops::Range;

use kernels::DType;

use super::Bytes;

/// One tensor of the file. Its range has been checked against the file's size.
#[derive(Clone)]
pub struct Tensor {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) dims: Vec<u64>,
    pub(super) shape: Vec<usize>,
    pub(super) range: Range<usize>,
    pub(super) part: u32,
    pub(super) owner: Bytes,
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?} @ {:?} of part {}", self.name, self.dtype, self.shape, self.range, self.part)
    }
}

impl Tensor {
    /// Name, e.g. `blk.0.attn_q.weight`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Dimensions in the order of the file: the fastest-running first.
    pub fn dims(&self) -> &[u64] {
        &self.dims
    }

    /// Shape in row-major order: the fastest-running dimension last. A weight of a matmul is
    /// `[out_features, in_features]`.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Range of the data in [`Tensor::owner`].
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// Which file of a split model holds the data, from 0.
    pub fn part(&self) -> u32 {
        self.part
    }

    /// The mapping that holds the data; a backend that shares host memory keeps a clone and
    /// [`Tensor::range`], and copies nothing.
    pub fn owner(&self) -> &Bytes {
        &self.owner
    }

    /// The data: whole blocks of [`Tensor::dtype`], rows without padding.
    pub fn bytes(&self) -> &[u8] {
        &(*self.owner).as_ref()[self.range.clone()]
    }
}
