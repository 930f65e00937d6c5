//! Cache of the last table of rotations. All layers of a forward pass rotate the same positions by the same angles.

use std::sync::{Arc, Mutex, PoisonError};

/// What a table depends on, as bits: the parameters and frequency factors, then the positions.
pub type Key = Vec<u32>;

/// A scaled rotation: `(a, b)` becomes `(a·cos − b·sin, a·sin + b·cos)`.
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    /// Cosine of the angle, times the magnitude.
    pub cos: f32,
    /// Sine of the angle, times the magnitude.
    pub sin: f32,
}

impl Rotation {
    /// The rotated pair.
    pub fn apply(self, a: f32, b: f32) -> (f32, f32) {
        (a * self.cos - b * self.sin, a * self.sin + b * self.cos)
    }
}

/// Rotations `[positions, pairs]`.
pub type RopeTable = Arc<[Rotation]>;

/// The last table, with its key.
#[derive(Debug, Default)]
pub struct RopeTableCache(Mutex<Option<(Key, RopeTable)>>);

impl RopeTableCache {
    /// The table for `key`: the cached one, or else what `build` returns.
    pub fn get_or_build(&self, key: Key, build: impl FnOnce() -> RopeTable) -> RopeTable {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some((known, table)) if *known == key => Arc::clone(table),
            _ => {
                let table = build();
                *last = Some((key, Arc::clone(&table)));
                table
            }
        }
    }
}
