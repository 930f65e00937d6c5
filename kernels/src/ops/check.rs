//! The checks from which the ops' validations are built.

use std::fmt::Display;

use super::Stem;
use crate::{Buffer, Check, DType, Indices, Layout, MAX_RANK, OpError, Source, View, ViewMut};

/// Checks on behalf of one op.
pub(crate) struct Checker {
    op: &'static str,
    /// Operands that may be transposed.
    transposable: &'static [&'static str],
}

impl Checker {
    pub(crate) fn new(stem: Stem) -> Self {
        Checker { op: stem.name(), transposable: stem.facts().transposable }
    }

    /// An error of this op.
    pub(crate) fn error(
        &self,
        operand: &'static str,
        check: Check,
        want: impl Display,
        got: impl Display,
    ) -> OpError {
        OpError { op: self.op, operand, check, want: want.to_string(), got: got.to_string() }
    }

    /// An input: type, rank, no empty dimension, rows in one piece unless it may be transposed, inside its buffer.
    pub(crate) fn input<B: Buffer>(
        &self,
        operand: &'static str,
        view: &View<'_, B>,
        dtypes: &[DType],
        rank: usize,
    ) -> Result<(), OpError> {
        self.tensor(operand, &view.layout, view.buffer.len(), dtypes, rank)
    }

    /// An output: as an input, and no two elements in the same place.
    pub(crate) fn output<B: Buffer>(
        &self,
        operand: &'static str,
        view: &ViewMut<'_, B>,
        dtypes: &[DType],
        rank: usize,
    ) -> Result<(), OpError> {
        self.tensor(operand, &view.layout, view.buffer.len(), dtypes, rank)?;
        self.distinct(operand, &view.layout)
    }

    fn tensor(
        &self,
        operand: &'static str,
        layout: &Layout,
        buffer_len: usize,
        dtypes: &[DType],
        rank: usize,
    ) -> Result<(), OpError> {
        let dtype = layout.dtype();
        if !dtypes.contains(&dtype) {
            let names: Vec<_> = dtypes.iter().map(|d| d.name()).collect();
            return Err(self.error(operand, Check::DType, names.join(" or "), dtype));
        }
        if layout.rank() != rank || rank > MAX_RANK {
            return Err(self.error(operand, Check::Rank, rank, layout.rank()));
        }
        if layout.shape().contains(&0) {
            let got = format!("{:?}", layout.shape());
            return Err(self.error(operand, Check::Shape, "every dimension at least 1", got));
        }
        self.blocks(operand, layout)?;
        let align = match dtype {
            DType::F32 | DType::U32 => 4,
            DType::Mxfp4 => 1,
            _ => 2,
        };
        if !layout.offset().is_multiple_of(align) {
            let want = format!("a first byte that is a multiple of {align}");
            return Err(self.error(operand, Check::Alignment, want, layout.offset()));
        }
        let Some(range) = layout.byte_range() else {
            let want = "a size that fits in 64 bits";
            return Err(self.error(operand, Check::Overflow, want, format!("{layout:?}")));
        };
        if range.end > buffer_len {
            let want = format!("at most {buffer_len} bytes");
            return Err(self.error(operand, Check::Extent, want, format!("{} ({layout:?})", range.end)));
        }
        Ok(())
    }

    /// Rows in one piece, or of an operand that may be transposed and has no blocks, elements apart; whole blocks.
    fn blocks(&self, operand: &'static str, layout: &Layout) -> Result<(), OpError> {
        let Some(inner) = layout.rank().checked_sub(1) else { return Ok(()) };
        let block = layout.dtype().block_len();
        if layout.is_transposed() {
            let want = match (self.transposable.contains(&operand), block) {
                (true, 1) if layout.stride(inner) > 1 => return Ok(()),
                (true, 1) => "innermost stride at least 1".into(),
                (true, _) => format!("innermost stride 1 ({} has blocks of {block})", layout.dtype()),
                (false, _) => "innermost stride 1".into(),
            };
            return Err(self.error(operand, Check::Stride, want, layout.stride(inner)));
        }
        if !layout.dim(inner).is_multiple_of(block) {
            let want = format!("a multiple of {block} ({} block)", layout.dtype());
            return Err(self.error(operand, Check::Shape, want, layout.dim(inner)));
        }
        for axis in 0..inner {
            if layout.dim(axis) > 1 && !layout.stride(axis).is_multiple_of(block) {
                let want = format!("a multiple of {block} ({} block)", layout.dtype());
                return Err(self.error(operand, Check::Stride, want, layout.stride(axis)));
            }
        }
        Ok(())
    }

    /// No two elements coincide: with the dimensions in the order of their strides, each stride reaches past everything
    /// that the smaller ones span.
    fn distinct(&self, operand: &'static str, layout: &Layout) -> Result<(), OpError> {
        let mut axes: Vec<_> = (0..layout.rank()).rev().filter(|&axis| layout.dim(axis) > 1).collect();
        axes.sort_by_key(|&axis| layout.stride(axis));
        let mut span = 1usize;
        for axis in axes {
            if layout.stride(axis) < span {
                let want =
                    format!("stride of dimension {axis} at least {span}, so that no two elements coincide");
                return Err(self.error(operand, Check::Stride, want, layout.stride(axis)));
            }
            span = (layout.dim(axis) - 1).saturating_mul(layout.stride(axis)).saturating_add(span);
        }
        Ok(())
    }

    /// Dimension `axis` of an operand has the extent `want`, which comes from `from`.
    pub(crate) fn dim(
        &self,
        operand: &'static str,
        layout: &Layout,
        axis: usize,
        want: usize,
        from: &str,
    ) -> Result<(), OpError> {
        if layout.dim(axis) == want {
            return Ok(());
        }
        let want = format!("{want} in dimension {axis} ({from})");
        Err(self.error(operand, Check::Shape, want, layout.dim(axis)))
    }

    /// Two operands have the same shape.
    pub(crate) fn same_shape(
        &self,
        operand: &'static str,
        layout: &Layout,
        other: &str,
        like: &Layout,
    ) -> Result<(), OpError> {
        if layout.shape() == like.shape() {
            return Ok(());
        }
        let want = format!("{:?} (as {other})", like.shape());
        Err(self.error(operand, Check::Shape, want, format!("{:?}", layout.shape())))
    }

    /// Indices: `len` of them, each known to the host and below `limit`.
    pub(crate) fn indices<B: Buffer>(
        &self,
        operand: &'static str,
        indices: &Indices<'_, B>,
        len: usize,
        limit: usize,
        what: &str,
    ) -> Result<(), OpError> {
        self.input(operand, &indices.view, &[DType::U32], 1)?;
        self.dim(operand, &indices.view.layout, 0, len, "one per row")?;
        if indices.values.len() != len {
            let want = format!("{len} values known to the host");
            return Err(self.error(operand, Check::Index, want, indices.values.len()));
        }
        let mut values = indices.values.iter().enumerate();
        if let Some((at, value)) = values.find(|(_, v)| **v as usize >= limit) {
            let want = format!("below {limit} ({what})");
            return Err(self.error(operand, Check::Index, want, format!("{value} at index {at}")));
        }
        Ok(())
    }

    /// Operands of an element-wise op of two: floats, of one shape, `b` possibly a single row.
    pub(crate) fn binary<B: Buffer>(
        &self,
        a: &Source<'_, B>,
        b: &View<'_, B>,
        out: &ViewMut<'_, B>,
    ) -> Result<(), OpError> {
        self.output("out", out, &DType::FLOATS, 2)?;
        let a = a.view(out);
        self.input("a", &a, &DType::FLOATS, 2)?;
        self.input("b", b, &DType::FLOATS, 2)?;
        self.same_shape("out", &out.layout, "a", &a.layout)?;
        self.dim("b", &b.layout, 1, a.layout.dim(1), "columns of a")?;
        if b.layout.dim(0) == 1 {
            Ok(())
        } else {
            self.dim("b", &b.layout, 0, a.layout.dim(0), "rows of a, or 1")
        }
    }

    /// A parameter satisfies its condition.
    pub(crate) fn param(
        &self,
        name: &'static str,
        holds: bool,
        want: &str,
        got: impl Display,
    ) -> Result<(), OpError> {
        if holds { Ok(()) } else { Err(self.error(name, Check::Parameter, want, got)) }
    }
}
