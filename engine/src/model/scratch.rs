//! Memory for the activations of one forward pass, reused by the next.

use kernels::{Backend, DType, DeviceError, Layout, View, ViewMut};

use crate::config::ModelConfig;

/// Rows of f32 values, dense.
#[derive(Debug)]
pub(super) struct Activation<Buf> {
    buffer: Buf,
    width: usize,
}

impl<Buf> Activation<Buf> {
    fn new<B: Backend<Buffer = Buf>>(
        backend: &B,
        rows: usize,
        width: usize,
        label: &str,
    ) -> Result<Self, DeviceError> {
        // A size that does not fit asks for everything there is, which the backend refuses with its label.
        let bytes = rows.checked_mul(width).and_then(|n| DType::F32.bytes_of(n)).unwrap_or(usize::MAX);
        Ok(Activation { buffer: backend.alloc(bytes, label)?, width })
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
        let offset = DType::F32.bytes_of(first.saturating_mul(self.width)).unwrap_or(usize::MAX);
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
    ) -> Result<Self, DeviceError> {
        let c = config;
        let heads = |n: usize| n.saturating_mul(c.head_dim);
        let of = |rows, width, label| Activation::new(backend, rows, width, label);
        Ok(Scratch {
            x: of(rows, c.n_embd, "x")?,
            normed: of(rows, c.n_embd, "normed")?,
            q: of(rows, heads(c.n_head), "q")?,
            k: of(rows, heads(c.n_kv_head), "k")?,
            v: of(rows, heads(c.n_kv_head), "v")?,
            attn_out: of(rows, heads(c.n_head), "attn_out")?,
            delta: of(rows, c.n_embd, "delta")?,
            gate: of(rows, c.n_ff, "gate")?,
            up: of(rows, c.n_ff, "up")?,
            output_rows: of(outputs, c.n_embd, "output rows")?,
            logits: of(outputs, c.vocab_size, "logits")?,
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
