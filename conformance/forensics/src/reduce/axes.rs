//! The dimensions along which an op can be cut.

use std::ops::Range;

use kernels::{Layout, Record, RecordOperand, Role, Stem};

/// A dimension that operands of an op share.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What the op's page calls it.
    pub name: &'static str,
    /// Operands and their dimension.
    operands: &'static [(&'static str, usize)],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Each part of the output depends on the same part of the inputs alone.
    Independent,
    /// As `Independent`, but some operands have several entries for one of the others: heads in groups.
    Grouped,
    /// A cut changes the result: a sum gets shorter, a cache loses slots.
    Summed,
}

const fn axis(name: &'static str, kind: Kind, operands: &'static [(&'static str, usize)]) -> Axis {
    Axis { name, operands, kind }
}

/// The axes of an op.
pub const fn axes(stem: Stem) -> &'static [Axis] {
    use Kind::{Grouped, Independent, Summed};
    match stem {
        Stem::Embed => {
            &const {
                [
                    axis("rows", Independent, &[("ids", 0), ("out", 0)]),
                    axis("columns", Independent, &[("table", 1), ("out", 1)]),
                ]
            }
        }
        Stem::Matmul => {
            &const {
                [
                    axis("m", Independent, &[("x", 0), ("out", 0)]),
                    axis("n", Independent, &[("weight", 0), ("bias", 0), ("out", 1)]),
                    axis("k", Summed, &[("x", 1), ("weight", 1)]),
                ]
            }
        }
        Stem::RmsNorm => {
            &const {
                [
                    axis("rows", Independent, &[("x", 0), ("out", 0)]),
                    axis("columns", Summed, &[("x", 1), ("weight", 0), ("out", 1)]),
                ]
            }
        }
        Stem::Rope => {
            &const {
                [
                    axis("rows", Independent, &[("x", 0), ("positions", 0), ("out", 0)]),
                    axis("heads", Independent, &[("x", 1), ("out", 1)]),
                ]
            }
        }
        Stem::KvWrite => {
            &const {
                [
                    axis("rows", Summed, &[("k", 0), ("v", 0), ("seqs", 0), ("positions", 0)]),
                    axis("seqs", Summed, &[("k_cache", 0), ("v_cache", 0)]),
                    axis("slots", Summed, &[("k_cache", 1), ("v_cache", 1)]),
                    axis("heads", Independent, &[("k", 1), ("v", 1), ("k_cache", 2), ("v_cache", 2)]),
                    axis("dim", Independent, &[("k", 2), ("v", 2), ("k_cache", 3), ("v_cache", 3)]),
                ]
            }
        }
        Stem::Attention => {
            &const {
                [
                    axis("rows", Independent, &[("q", 0), ("seqs", 0), ("positions", 0), ("out", 0)]),
                    axis("heads", Grouped, &[("q", 1), ("out", 1), ("k_cache", 2), ("v_cache", 2)]),
                    axis("seqs", Summed, &[("k_cache", 0), ("v_cache", 0)]),
                    axis("slots", Summed, &[("k_cache", 1), ("v_cache", 1)]),
                    axis("dim", Summed, &[("q", 2), ("out", 2), ("k_cache", 3), ("v_cache", 3)]),
                ]
            }
        }
        Stem::Softmax => {
            &const {
                [
                    axis("rows", Independent, &[("x", 0), ("out", 0)]),
                    axis("columns", Summed, &[("x", 1), ("out", 1)]),
                ]
            }
        }
        Stem::SiluMul | Stem::GeluMul => {
            &const {
                [
                    axis("rows", Independent, &[("gate", 0), ("up", 0), ("out", 0)]),
                    axis("columns", Independent, &[("gate", 1), ("up", 1), ("out", 1)]),
                ]
            }
        }
        Stem::Add | Stem::Mul => {
            &const {
                [
                    axis("rows", Independent, &[("a", 0), ("b", 0), ("out", 0)]),
                    axis("columns", Independent, &[("a", 1), ("b", 1), ("out", 1)]),
                ]
            }
        }
        Stem::Argmax => {
            &const { [axis("rows", Independent, &[("x", 0), ("out", 0)]), axis("columns", Summed, &[("x", 1)])] }
        }
        Stem::Scale | Stem::Dequantize | Stem::Quantize | Stem::Cast | Stem::Copy | Stem::Fill => {
            &const {
                [
                    axis("rows", Independent, &[("x", 0), ("out", 0)]),
                    axis("columns", Independent, &[("x", 1), ("out", 1)]),
                ]
            }
        }
    }
}

impl Axis {
    /// Whether a cut leaves the elements that remain as they were.
    pub fn independent(&self) -> bool {
        self.kind != Kind::Summed
    }

    /// The operands of `record` on this axis, with their dimension.
    fn on<'r>(&self, record: &'r Record) -> impl Iterator<Item = (&'r RecordOperand, usize)> {
        self.operands.iter().filter_map(|(name, dim)| Some((record.find(name)?, *dim)))
    }

    /// The dimension of the output that this axis is.
    pub fn of_output(&self, record: &Record) -> Option<usize> {
        self.on(record).find(|(o, _)| o.role == Role::Output).map(|(_, dim)| dim)
    }

    /// How long the axis is.
    pub fn extent(&self, record: &Record) -> usize {
        let extents = self.on(record).map(|(o, dim)| o.layout.dim(dim));
        match self.kind {
            Kind::Grouped => extents.min(),
            Kind::Independent | Kind::Summed => extents.max(),
        }
        .unwrap_or(0)
    }

    /// Entries of the output for one of the axis: heads in groups have several.
    pub fn group(&self, record: &Record) -> usize {
        let output = self.on(record).find(|(o, _)| o.role == Role::Output);
        output.map_or(1, |(o, dim)| (o.layout.dim(dim) / self.extent(record).max(1)).max(1))
    }

    /// What a cut must be a multiple of: the longest block that lies along the axis.
    fn unit(&self, record: &Record) -> usize {
        let blocks = self.on(record).filter(|(o, dim)| dim + 1 == o.layout.rank());
        blocks.map(|(o, _)| o.layout.dtype().block_len()).max().unwrap_or(1)
    }

    /// Parts to try, the smallest first.
    pub fn parts(&self, record: &Record) -> Vec<Range<usize>> {
        let (extent, unit) = (self.extent(record), self.unit(record));
        let units = extent / unit;
        if units < 2 {
            return Vec::new();
        }
        let (half, quarter) = (units / 2, (units / 4).max(1));
        let mut parts =
            vec![0..half, half..units, 0..units - quarter, quarter..units, 0..units - 1, 1..units];
        parts.dedup();
        // A last, partial unit belongs to the part that reaches the end.
        let end = |at: usize| if at == units { extent } else { at * unit };
        parts.into_iter().map(|part| part.start * unit..end(part.end)).collect()
    }

    /// The half that holds entry `at` of the output's dimension, and where in that half the entry then is.
    pub fn half_around(&self, record: &Record, at: usize) -> Option<(Range<usize>, usize)> {
        let group = self.group(record);
        let half = self.parts(record).into_iter().take(2).find(|part| part.contains(&(at / group)))?;
        let inside = at - half.start * group;
        Some((half, inside))
    }

    /// The part `range` of `record`, in dense buffers; `None` where there is no such part.
    pub fn slice(&self, record: &Record, range: Range<usize>) -> Option<Record> {
        let extent = self.extent(record);
        let mut small = Record::new(record.stem);
        small.params.clone_from(&record.params);
        for operand in record.operands() {
            let dim = self.operands.iter().find(|(name, _)| *name == operand.name).map(|(_, dim)| *dim);
            let layout = match dim {
                Some(dim) if self.kind == Kind::Grouped => {
                    let factor = operand.layout.dim(dim) / extent.max(1);
                    part(&operand.layout, dim, range.start * factor..range.end * factor)?
                }
                // A row that stands for all rows is not cut.
                Some(dim) if operand.layout.dim(dim) == extent => part(&operand.layout, dim, range.clone())?,
                _ => operand.layout,
            };
            let bytes = layout.gather(&operand.bytes, 0)?;
            small = if operand.blank {
                small.blank(&operand.name, layout.densified(), bytes)
            } else {
                small.operand(&operand.name, operand.role, layout.densified(), bytes)
            };
        }
        Some(small)
    }
}

/// The entries `range` of dimension `dim`.
pub(super) fn part(layout: &Layout, dim: usize, range: Range<usize>) -> Option<Layout> {
    if range.is_empty() || range.end > layout.dim(dim) {
        return None;
    }
    let mut shape = layout.shape().to_vec();
    *shape.get_mut(dim)? = range.len();
    let first = range.start.checked_mul(layout.stride(dim))?;
    let offset = layout.offset() + first / layout.dtype().block_len() * layout.dtype().block_bytes();
    Some(Layout::strided(layout.dtype(), &shape, layout.strides()).at(offset))
}
