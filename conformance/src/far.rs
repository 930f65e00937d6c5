//! Tensors whose rows are gigabytes apart: what is wrong where an offset does not fit in 32 bits.
//!
//! [`Far`] runs the op of any case on the same rows in longer buffers: strides are such that the last row begins 2^32 elements behind the
//! first (of a quantised tensor 2^32 bytes), so that the upper words of strides, of their products with indices, and of addresses count.
//! Only the rows are written and read; a device that gives memory to pages when they are touched has room for that.

use kernels::{
    Backend, Breakpoint, DeviceError, Identity, Layout, Numerics, OpForm, Record, RecordOperand, Role, Site,
    Support,
};

use crate::target::{RunError, Target};

/// Rows that an operand may have: each costs a page or two.
const ROWS: usize = 64;

/// Bytes that a buffer may be long: what an overcommitting host gives.
const LONGEST: usize = 20 << 30;

/// How far apart rows are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Distance {
    /// The last row begins 2^32 elements behind the first.
    Offsets,
    /// Each row begins further than that behind the one before, so that strides themselves do not fit in 32 bits.
    Strides,
}

impl Distance {
    /// A stride of `count` rows that have `stride` now, of which 2^32 bytes, or elements, are `elements`.
    fn stride(self, elements: usize, count: usize, stride: usize) -> usize {
        let apart = match self {
            Distance::Offsets => elements / (count - 1),
            // Bits in both words.
            Distance::Strides => elements + elements / 8,
        };
        apart.next_multiple_of(STEP) + stride.next_multiple_of(STEP)
    }
}

/// Multiples of this keep every alignment and every block of a format whole.
const STEP: usize = 256;

/// A backend as a target, its operands' rows far apart where they can be.
#[derive(Debug)]
pub struct Far<D: Backend> {
    backend: D,
    stream: D::Stream,
    /// Which of the dimensions that have more than one entry, the innermost not counted: from the outermost.
    dimension: usize,
    distance: Distance,
}

impl<D: Backend> Far<D> {
    /// `backend` with operands stretched in the outermost dimension that has more than one entry, or in one of those behind it.
    pub fn new(backend: D, dimension: usize) -> Result<Self, DeviceError> {
        let stream = backend.stream()?;
        Ok(Far { backend, stream, dimension, distance: Distance::Offsets })
    }

    /// The same with strides that do not fit in 32 bits.
    pub fn beyond(backend: D, dimension: usize) -> Result<Self, DeviceError> {
        Ok(Far { distance: Distance::Strides, ..Far::new(backend, dimension)? })
    }

    /// The buffers of a record whose operands lie as in `stretched`, with the rows of `record`.
    fn upload(&self, record: &Record, stretched: &Record) -> Result<Vec<D::Buffer>, DeviceError> {
        let mut buffers = Vec::new();
        for (near, far) in record.operands().iter().zip(stretched.operands()) {
            let buffer = if near.layout == far.layout {
                self.backend.upload(&self.stream, &near.bytes, &near.name)?
            } else {
                let end = far.layout.byte_range().map_or(0, |range| range.end);
                let mut buffer = self.backend.alloc(end, &near.name)?;
                for (from, to) in near.layout.rows().zip(far.layout.rows()) {
                    let bytes = near.bytes.get(from).unwrap_or_default();
                    self.backend.write(&self.stream, &mut buffer, to.start, bytes)?;
                }
                buffer
            };
            buffers.push(buffer);
        }
        Ok(buffers)
    }
}

impl<D: Backend> Target for Far<D> {
    fn identity(&self) -> Identity {
        self.backend.identity()
    }

    fn supports(&self, form: &OpForm) -> Support {
        self.backend.supports(form)
    }

    fn breakpoints(&self, form: &OpForm) -> Vec<Breakpoint> {
        self.backend.breakpoints(form)
    }

    fn numerics(&self, form: &OpForm) -> Numerics {
        self.backend.numerics(form)
    }

    fn run(&self, record: &Record) -> Result<Vec<Vec<u8>>, RunError> {
        let stretched = stretch(record, self.dimension, self.distance);
        let mut buffers = self.upload(record, &stretched)?;
        let op = stretched.bind(&mut buffers)?.validate()?;
        self.backend.launch(&self.stream, op)?;
        self.backend.synchronize(&self.stream)?;
        let mut after = Vec::new();
        for ((near, far), buffer) in record.operands().iter().zip(stretched.operands()).zip(&buffers) {
            let read = |range| {
                let site = Site::outside(near.name.clone());
                kernels::Pending::wait(self.backend.read_bytes(&self.stream, buffer, range, &site)?)
            };
            let mut bytes = near.bytes.clone();
            if near.layout == far.layout {
                bytes = read(0..near.bytes.len())?;
            } else {
                for (to, from) in near.layout.rows().zip(far.layout.rows()) {
                    if let Some(row) = bytes.get_mut(to) {
                        row.copy_from_slice(&read(from)?);
                    }
                }
            }
            after.push(bytes);
        }
        Ok(after)
    }
}

/// Whether some operand of a record can be stretched.
pub fn moves(record: &Record, dimension: usize) -> bool {
    can(record, dimension, Distance::Offsets)
}

/// Whether one can be stretched so far that its stride does not fit in 32 bits.
pub fn moves_beyond(record: &Record, dimension: usize) -> bool {
    can(record, dimension, Distance::Strides)
}

fn can(record: &Record, dimension: usize, distance: Distance) -> bool {
    let apart = |operand: &RecordOperand| {
        operand.role != Role::Indices && far(&operand.layout, dimension, distance).is_some()
    };
    record.operands().iter().any(apart)
}

/// The same op on operands with long strides, without their bytes.
fn stretch(record: &Record, dimension: usize, distance: Distance) -> Record {
    let mut stretched = Record::new(record.stem);
    stretched.params.clone_from(&record.params);
    for operand in record.operands() {
        let far =
            if operand.role == Role::Indices { None } else { far(&operand.layout, dimension, distance) };
        let bytes = if operand.role == Role::Indices { operand.bytes.clone() } else { Vec::new() };
        stretched = stretched.operand(&operand.name, operand.role, far.unwrap_or(operand.layout), bytes);
    }
    stretched
}

/// A layout with its rows far apart; `None` where it has one row, or too many.
fn far(layout: &Layout, dimension: usize, distance: Distance) -> Option<Layout> {
    let inner = layout.rank().checked_sub(1)?;
    let rows: usize = layout.shape()[..inner].iter().product();
    let mut several = (0..inner).filter(|&axis| layout.dim(axis) > 1);
    let axis = several.clone().nth(dimension).or_else(|| several.next_back())?;
    if rows > ROWS || layout.stride(inner) != 1 || layout.stride(axis) == 0 {
        return None;
    }
    let dtype = layout.dtype();
    let elements =
        if dtype.block_len() > 1 { (1 << 32) / dtype.block_bytes() * dtype.block_len() } else { 1 << 32 };
    let stride = distance.stride(elements, layout.dim(axis), layout.stride(axis));
    let mut strides = layout.strides().to_vec();
    strides[axis] = stride;
    let far = Layout::strided(dtype, layout.shape(), &strides).at(layout.offset());
    far.byte_range().filter(|range| range.end <= LONGEST).map(|_| far)
}

#[cfg(test)]
mod tests {
    use kernels::DType;

    use super::*;

    #[test]
    fn the_last_row_begins_beyond_what_32_bits_count() {
        for rows in [2, 3, 64] {
            let near = Layout::contiguous(DType::F32, &[rows, 5]).at(4);
            let far = far(&near, 0, Distance::Offsets).unwrap();
            assert!((rows - 1) * far.stride(0) > 1 << 32 && far.offset() == 4, "{far:?}");
        }
        let blocks = Layout::contiguous(DType::Q4_0, &[3, 64]);
        let far_blocks = far(&blocks, 0, Distance::Offsets).unwrap();
        assert!(far_blocks.byte_range().unwrap().end > 1 << 32 && far_blocks.stride(0).is_multiple_of(32));
        let cache = Layout::contiguous(DType::F16, &[1, 4, 2, 32]);
        assert_eq!(far(&cache, 0, Distance::Offsets).unwrap().strides()[2], 32, "slots are stretched");
        assert_eq!(far(&cache, 1, Distance::Offsets).unwrap().strides()[1], 64, "heads are stretched");
        assert_eq!(far(&Layout::contiguous(DType::F32, &[1, 5]), 0, Distance::Offsets), None);
    }

    #[test]
    fn a_stride_that_does_not_fit_in_32_bits_has_bits_in_both_words() {
        for near in [Layout::contiguous(DType::F32, &[2, 5]), Layout::contiguous(DType::F16, &[3, 5])] {
            let stride = far(&near, 0, Distance::Strides).unwrap().stride(0) as u64;
            assert!(stride >> 32 != 0 && stride & 0xffff_ffff != 0, "{stride:#x}");
        }
        let many = Layout::contiguous(DType::F32, &[64, 5]);
        assert_eq!(far(&many, 0, Distance::Strides), None, "more than a buffer may be long");
    }
}
