//! What comes out of a forward pass.

use super::buffer_pool::PooledBuffer;

/// Logits, row by row.
#[derive(Clone, PartialEq, Debug)]
pub struct Logits {
    /// `[rows, vocab]`.
    values: PooledBuffer,
    vocab: usize,
}

impl Logits {
    pub(super) fn new(values: PooledBuffer, vocab: usize) -> Self {
        Logits { values, vocab }
    }

    /// The logits of each row that asked for them, indexed by token id.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> + DoubleEndedIterator {
        self.values.chunks_exact(self.vocab.max(1))
    }

    /// The logits of the last such row; empty if no row asked.
    pub fn last(&self) -> &[f32] {
        self.rows().next_back().unwrap_or_default()
    }

    /// The logits of all these rows, `[rows, vocab]`.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}
