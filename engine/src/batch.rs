//! What goes into a forward pass and what comes out.

use crate::model::buffer_pool::Lent;

/// One token on its way through the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The token.
    pub token: u32,
    /// The sequence that it belongs to.
    pub seq: u32,
    /// Its place there, from 0.
    pub position: u32,
    /// Whether the logits behind it are wanted.
    pub logits: bool,
}

/// Rows that run together. Those of one sequence come in the order of their positions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    rows: Vec<Row>,
}

impl Batch {
    /// The given rows.
    pub fn new(rows: Vec<Row>) -> Self {
        Batch { rows }
    }

    /// `tokens` of sequence `seq` from position `first` on, with the logits of the last one.
    pub fn of(tokens: &[u32], seq: u32, first: u32) -> Self {
        let rows = tokens.iter().zip(first..=u32::MAX);
        let mut rows: Vec<Row> =
            rows.map(|(&token, position)| Row { token, seq, position, logits: false }).collect();
        if let Some(last) = rows.last_mut() {
            last.logits = true;
        }
        Batch { rows }
    }

    /// The same rows, each with its logits.
    #[must_use]
    pub fn with_all_logits(mut self) -> Self {
        self.rows.iter_mut().for_each(|row| row.logits = true);
        self
    }

    /// The same rows, none with its logits.
    #[must_use]
    pub fn without_logits(mut self) -> Self {
        self.rows.iter_mut().for_each(|row| row.logits = false);
        self
    }

    /// The rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// One field of each row.
    pub(crate) fn column(&self, field: impl Fn(&Row) -> u32) -> Vec<u32> {
        self.rows.iter().map(field).collect()
    }

    /// Rows that want logits.
    pub(crate) fn outputs(&self) -> Vec<usize> {
        (0..self.rows.len()).filter(|&row| self.rows[row].logits).collect()
    }
}

/// Logits, row by row.
#[derive(Clone, PartialEq, Debug)]
pub struct Logits {
    values: Lent,
    vocab: usize,
}

impl Logits {
    pub(crate) fn new(values: Lent, vocab: usize) -> Self {
        Logits { values, vocab }
    }

    /// The logits of each row that asked for them, by token.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> + DoubleEndedIterator {
        self.values.chunks_exact(self.vocab.max(1))
    }

    /// The logits of the last such row; empty where none asked.
    pub fn last(&self) -> &[f32] {
        self.rows().next_back().unwrap_or_default()
    }

    /// All of them, `[rows, vocab]`.
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}
