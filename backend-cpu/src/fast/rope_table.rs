//! The rotations of the last `rope`, kept for the next: all layers of a forward pass turn the same positions by the same angles.

use std::sync::{Arc, Mutex, PoisonError};

/// What a table of rotations depends on, as bits: the parameters and frequency factors, then the positions.
pub type Key = Vec<u32>;

/// A rotation, scaled: `(a, b)` goes to `(a·cos − b·sin, a·sin + b·cos)`.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Cosine of the angle, times the factor on the length.
    pub cos: f32,
    /// Sine of the angle, times the factor on the length.
    pub sin: f32,
}

impl Turn {
    /// The pair, turned.
    pub fn apply(self, a: f32, b: f32) -> (f32, f32) {
        (a * self.cos - b * self.sin, a * self.sin + b * self.cos)
    }
}

/// The last table, with its key.
#[derive(Debug, Default)]
pub struct Turns(Mutex<Option<(Key, Table)>>);

/// Rotations `[positions, pairs]`.
pub type Table = Arc<[Turn]>;

impl Turns {
    /// The table for `key`: the last one, or what `make` gives.
    pub fn of(&self, key: Key, make: impl FnOnce() -> Table) -> Table {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, table)) if *known == key => Arc::clone(table),
            _ => {
                let table = make();
                *last = Some((key, Arc::clone(&table)));
                table
            }
        }
    }
}
