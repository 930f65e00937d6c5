//! What goes into a forward pass: tokens with their sequences and positions.

/// One token of a forward pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The token's id.
    pub token: u32,
    /// The sequence that it belongs to.
    pub seq: u32,
    /// Its position in the sequence, from 0.
    pub position: u32,
    /// True if the caller wants the logits after this token.
    pub logits: bool,
}

/// Rows that run together. The rows of one sequence are in the order of their positions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Batch {
    rows: Vec<Row>,
}

impl Batch {
    /// A batch of the given rows.
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

    /// The same rows, all with their logits.
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

    /// Indices of the rows that want logits, ascending.
    pub(crate) fn output_rows(&self) -> Vec<usize> {
        (0..self.rows.len()).filter(|&row| self.rows[row].logits).collect()
    }
}
