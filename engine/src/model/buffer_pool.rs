//! Host memory that one forward pass reuses from the last.
//!
//! Logits are large (SmolLM2: 192 KiB a row). In fresh memory, the page faults cost more than the copy of the logits
//! does, so that a dropped buffer goes back to its pool.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// A pool that holds at most one free buffer: the one that was dropped last.
#[derive(Clone, Default, Debug)]
pub(super) struct BufferPool(Arc<Mutex<Vec<f32>>>);

impl BufferPool {
    /// A buffer of `count` values, written by `fill`. Before that they are whatever the last user left, or 0.
    pub(super) fn filled<E>(
        &self,
        count: usize,
        fill: impl FnOnce(&mut [f32]) -> Result<(), E>,
    ) -> Result<PooledBuffer, E> {
        let values = self.exchange(Vec::new());
        let mut buffer = PooledBuffer { values, pool: self.clone() };
        buffer.values.resize(count, 0.0);
        fill(&mut buffer.values)?;
        Ok(buffer)
    }

    /// Puts `values` into the pool and returns what was there.
    fn exchange(&self, values: Vec<f32>) -> Vec<f32> {
        // Another thread's panic cannot leave the vector half written: the lock is held for this exchange only.
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), values)
    }
}

/// Values in memory that goes back to its pool when they are dropped.
#[derive(Clone, Debug)]
pub(super) struct PooledBuffer {
    values: Vec<f32>,
    pool: BufferPool,
}

impl Deref for PooledBuffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.values
    }
}

impl PartialEq for PooledBuffer {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        drop(self.pool.exchange(std::mem::take(&mut self.values)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_reused_and_buffers_in_use_stay_apart() {
        let pool = BufferPool::default();
        let fill = |value: f32| {
            move |values: &mut [f32]| {
                values.fill(value);
                Ok::<_, ()>(())
            }
        };
        let first = pool.filled(5, fill(1.0)).unwrap();
        let address = first.as_ptr();
        drop(first);
        let second = pool.filled(3, fill(2.0)).unwrap();
        assert_eq!((second.as_ptr(), &*second), (address, &[2.0; 3][..]));
        let third = pool.filled(4, fill(3.0)).unwrap();
        assert_eq!((&*second, &*third), (&[2.0; 3][..], &[3.0; 4][..]), "two at a time are apart");
        assert_eq!(pool.filled(1, |_| Err("no")).unwrap_err(), "no");
    }
}
