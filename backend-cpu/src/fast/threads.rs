//! Who does the work: a pool of threads of the backend's own.

use std::sync::Arc;

use kernels::{Source, ViewMut};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::blocks::decode_row;
use super::rows::{Rows, floats_mut, rows_mut};
use crate::HostBuffer;

/// Elementary operations below which waking a pool costs more than it saves.
const WORTH_WAKING: usize = 1 << 14;

/// Computes by the functions of this module, on a number of threads.
#[derive(Clone, Debug)]
pub struct Threads {
    /// Absent where the caller's thread does everything.
    pool: Option<Arc<ThreadPool>>,
}

impl Default for Threads {
    /// One thread per core.
    fn default() -> Self {
        Threads::new(0)
    }
}

impl Threads {
    /// `count` threads; one per core for 0. Where the system does not grant them, the caller's thread does the work alone,
    /// with the same results.
    pub fn new(count: usize) -> Self {
        let build = || ThreadPoolBuilder::new().num_threads(count).build().ok().map(Arc::new);
        let pool = if count == 1 { None } else { build() };
        Threads { pool }
    }

    /// Threads that work.
    pub fn count(&self) -> usize {
        self.pool.as_ref().map_or(1, |pool| pool.current_num_threads())
    }

    /// Does `f` to each item, given its number. `work` estimates the elementary operations of all items together.
    pub(super) fn each<T: Send>(&self, items: Vec<T>, work: usize, f: impl Fn(usize, T) + Sync + Send) {
        match &self.pool {
            Some(pool) if work >= WORTH_WAKING => {
                pool.install(|| items.into_par_iter().enumerate().for_each(|(i, item)| f(i, item)));
            }
            _ => items.into_iter().enumerate().for_each(|(i, item)| f(i, item)),
        }
    }

    /// Puts each row of the f32 tensor `x` where it belongs in `out`, and lets `f` change it there, given its number.
    /// In place or not makes no other difference.
    pub(super) fn transform(
        &self,
        x: &Source<'_, HostBuffer>,
        out: ViewMut<'_, HostBuffer>,
        f: impl Fn(usize, &mut [f32]) + Sync + Send,
    ) {
        let x = match x {
            Source::Of(view) => Some(Rows::of(*view)),
            Source::InPlace => None,
        };
        let (dtype, work) = (out.layout.dtype(), out.layout.elements().unwrap_or(0));
        self.each(rows_mut(out), work, |i, row| {
            let row = floats_mut(row);
            if let Some(x) = &x {
                decode_row(dtype, x.bytes(i), row);
            }
            f(i, row);
        });
    }
}
