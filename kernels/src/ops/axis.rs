//! The dimensions that the operands of an op share, and how a stored op is cut along one.

use std::ops::Range;

use crate::{Record, RecordOperand, Role};

/// A dimension that operands of an op share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// What the op's page calls it.
    pub name: &'static str,
    /// What a cut does to the result.
    pub kind: AxisKind,
    /// Operands and their dimension.
    pub operands: &'static [(&'static str, usize)],
}

/// What a cut along an axis does to the result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AxisKind {
    /// Each part of the output depends on the same part of the inputs alone.
    Independent,
    /// As `Independent`, but some operands have several entries for one of the others: query heads that share a key head.
    Grouped,
    /// A cut changes the result: a sum gets shorter, a cache loses slots.
    Summed,
}

impl Axis {
    /// Whether a cut leaves the elements that remain as they were.
    pub fn is_independent(&self) -> bool {
        self.kind != AxisKind::Summed
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
            AxisKind::Grouped => extents.min(),
            AxisKind::Independent | AxisKind::Summed => extents.max(),
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
                Some(dim) if self.kind == AxisKind::Grouped => {
                    let factor = operand.layout.dim(dim) / extent.max(1);
                    operand.layout.part(dim, range.start * factor..range.end * factor)?
                }
                // A row that stands for all rows is not cut.
                Some(dim) if operand.layout.dim(dim) == extent => operand.layout.part(dim, range.clone())?,
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
