//! Atomics, locks and threads of the pool: those of the standard library, or those of loom under `cfg(loom)`.

#[cfg(not(loom))]
mod imp {
    pub use std::hint::spin_loop;
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub use std::sync::{Arc, Mutex, MutexGuard};
    pub use std::thread::{Builder, JoinHandle, park, yield_now};

    /// Looks at the epoch before a worker parks: some hundred microseconds.
    pub const SPINS_BEFORE_PARK: usize = 1 << 13;

    /// Spins before a waiting thread yields to others.
    pub const SPINS_BEFORE_YIELD: usize = 1 << 10;
}

#[cfg(loom)]
mod imp {
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub use loom::sync::{Arc, Mutex, MutexGuard};
    pub use loom::thread::{Builder, JoinHandle, park, yield_now};

    /// One spin, so that there are models in which a worker sees the epoch at once and models in which it parks.
    pub const SPINS_BEFORE_PARK: usize = 1;

    /// A caller that waits yields at every second spin, because loom does not end a spin loop without yields. A worker parks before it would
    /// yield: loom does not run a thread that has yielded before all others are blocked, which would hide a lost unpark.
    pub const SPINS_BEFORE_YIELD: usize = 2;

    /// Nothing: that of loom yields.
    pub fn spin_loop() {}
}

pub use imp::*;
