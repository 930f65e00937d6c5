//! Whether a planted bug was reached.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts how often a planted bug is reached. A clone counts on.
#[derive(Clone, Debug, Default)]
pub struct Probe(Arc<AtomicUsize>);

impl Probe {
    /// The bug is reached.
    pub fn reach(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it was.
    pub fn was_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}
