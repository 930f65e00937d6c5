//! Memory for the activations of one forward pass, reused by the next.

use kernels::{Backend, DType, Layout, View, ViewMut};

use super::ModelError;
use crate::config::ModelConfig;

/// Rows of f32 values, dense.
#[derive(Debug)]
pub(super) struct Activation<Buf> {
    buffer: Buf,
    width: usize,
}

impl<Buf> Activation<Buf> {
    /// Room for `rows` rows of shape `row`.
    fn new<B: Backend<Buffer = Buf>>(
        backend: &B,
        rows: usize,
        row: &[usize],
        label: &'static str,
    ) -> Result<Self, ModelError> {
        let too_large = || ModelError::ActivationSize { label, rows, row: row.to_vec() };
        let width = row.iter().try_fold(1, |n: usize, &d| n.checked_mul(d)).ok_or_else(too_large)?;
        let bytes = rows.checked_mul(width).and_then(|n| DType::F32.bytes_of(n)).ok_or_else(too_large)?;
        let buffer = backend
            .alloc(bytes, label)
            .map_err(|source| ModelError::Load { what: format!("activations '{label}'"), source })?;
        Ok(Activation { buffer, width })
    }

    /// The first `rows` rows, `[rows, width]`.
    pub(super) fn view(&self, rows: usize) -> View<'_, Buf> {
        self.slice(0, rows)
    }

    /// `rows` rows from row `first` on.
    pub(super) fn slice(&self, first: usize, rows: usize) -> View<'_, Buf> {
        View::new(&self.buffer, self.rows_layout(first, rows))
    }

    pub(super) fn view_mut(&mut self, rows: usize) -> ViewMut<'_, Buf> {
        self.slice_mut(0, rows)
    }

    pub(super) fn slice_mut(&mut self, first: usize, rows: usize) -> ViewMut<'_, Buf> {
        let layout = self.rows_layout(first, rows);
        ViewMut::new(&mut self.buffer, layout)
    }

    /// The first `rows` rows as heads, `[rows, width / head_dim, head_dim]`.
    pub(super) fn heads(&self, rows: usize, head_dim: usize) -> View<'_, Buf> {
        View::new(&self.buffer, self.heads_layout(rows, head_dim))
    }

    pub(super) fn heads_mut(&mut self, rows: usize, head_dim: usize) -> ViewMut<'_, Buf> {
        let layout = self.heads_layout(rows, head_dim);
        ViewMut::new(&mut self.buffer, layout)
    }

    /// The heads of the first `rows` rows, each a row of its own, `[rows·width / head_dim, head_dim]`.
    pub(super) fn head_rows_mut(&mut self, rows: usize, head_dim: usize) -> ViewMut<'_, Buf> {
        let layout = Layout::contiguous(DType::F32, &[rows * self.width / head_dim.max(1), head_dim]);
        ViewMut::new(&mut self.buffer, layout)
    }

    fn rows_layout(&self, first: usize, rows: usize) -> Layout {
        let offset = first.checked_mul(self.width).and_then(|n| DType::F32.bytes_of(n));
        let offset = offset.expect("row `first` is inside the buffer, whose size was checked");
        Layout::contiguous(DType::F32, &[rows, self.width]).at(offset)
    }

    fn heads_layout(&self, rows: usize, head_dim: usize) -> Layout {
        Layout::contiguous(DType::F32, &[rows, self.width / head_dim.max(1), head_dim])
    }
}

/// All activations.
#[derive(Debug)]
pub(super) struct Scratch<Buf> {
    /// The residual stream, `[rows, n_embd]`.
    pub(super) x: Activation<Buf>,
    /// A normalised `x`, `[rows, n_embd]`.
    pub(super) normed: Activation<Buf>,
    /// `[rows, n_head·head_dim]`.
    pub(super) q: Activation<Buf>,
    /// `[rows, n_kv_head·head_dim]`.
    pub(super) k: Activation<Buf>,
    /// `[rows, n_kv_head·head_dim]`.
    pub(super) v: Activation<Buf>,
    /// Output of attention, `[rows, n_head·head_dim]`.
    pub(super) attn_out: Activation<Buf>,
    /// What attention or feed-forward adds to `x`, `[rows, n_embd]`.
    pub(super) delta: Activation<Buf>,
    /// `[rows, n_ff]`.
    pub(super) gate: Activation<Buf>,
    /// `[rows, n_ff]`.
    pub(super) up: Activation<Buf>,
    /// Rows of `x` whose logits are wanted, `[outputs, n_embd]`.
    pub(super) output_rows: Activation<Buf>,
    /// `[outputs, vocab]`.
    pub(super) logits: Activation<Buf>,
    rows: usize,
    outputs: usize,
}

impl<Buf> Scratch<Buf> {
    pub(super) fn new<B: Backend<Buffer = Buf>>(
        backend: &B,
        config: &ModelConfig,
        rows: usize,
        outputs: usize,
    ) -> Result<Self, ModelError> {
        let c = config;
        let of = |rows, row: &[usize], label| Activation::new(backend, rows, row, label);
        Ok(Scratch {
            x: of(rows, &[c.n_embd], "x")?,
            normed: of(rows, &[c.n_embd], "normed")?,
            q: of(rows, &[c.n_head, c.head_dim], "q")?,
            k: of(rows, &[c.n_kv_head, c.head_dim], "k")?,
            v: of(rows, &[c.n_kv_head, c.head_dim], "v")?,
            attn_out: of(rows, &[c.n_head, c.head_dim], "attn_out")?,
            delta: of(rows, &[c.n_embd], "delta")?,
            gate: of(rows, &[c.n_ff], "gate")?,
            up: of(rows, &[c.n_ff], "up")?,
            output_rows: of(outputs, &[c.n_embd], "output rows")?,
            logits: of(outputs, &[c.vocab_size], "logits")?,
            rows,
            outputs,
        })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    pub(super) fn holds(&self, rows: usize, outputs: usize) -> bool {
        rows <= self.rows && outputs <= self.outputs
    }
}
