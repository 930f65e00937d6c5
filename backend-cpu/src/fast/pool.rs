//! A thread pool for jobs of a few microseconds.
//!
//! A token of a small model takes a few milliseconds and some 250 ops. A pool whose threads sleep between ops would spend more time
//! waking them than they work. Here a worker spins for a while before it parks, and a spinning worker starts in less than a
//! microsecond.
//!
//! # Protocol
//!
//! 1. A caller takes the `caller` lock. If another caller holds it, the new caller does its job alone.
//! 2. The caller publishes the job: under the `job` lock it fills the slot and increments `epoch`. Then it unparks parked workers.
//! 3. A worker that sees a new epoch takes the `job` lock. If the slot is still filled, the worker adds itself to `active` before it
//!    releases the lock, and runs the job. A worker that comes late finds an empty slot and waits on, so a thread that the system has
//!    descheduled delays nobody.
//! 4. The caller runs its part, empties the slot under the `job` lock, and spins until `active` is 0. From here on no worker has the
//!    job. It collects the first panic of the workers, and only then releases the `caller` lock.
//!
//! `cfg(loom)` replaces atomics, locks and threads by those of loom, which runs every interleaving of the tests in `pool/model.rs`:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --release -p assay-backend-cpu --lib pool::model
//! ```
#![expect(
    unsafe_code,
    reason = "a job borrows from the caller, who waits until all threads are done with it"
)]

#[cfg(all(test, loom))]
mod model;
mod sync;
#[cfg(all(test, not(loom)))]
mod tests;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{PoisonError, TryLockError};

use sync::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, Builder, JoinHandle, Mutex, MutexGuard, Ordering,
    SPINS_BEFORE_PARK, SPINS_BEFORE_YIELD, fence, park, spin_loop, yield_now,
};

/// Epoch that no job has: the workers should end.
const ENDED: u64 = u64::MAX;

/// What is to be done, given the index of the thread: 0 for the caller's.
type Job = &'static (dyn Fn(usize) + Sync);

/// What a panic was raised with.
type Payload = Box<dyn Any + Send>;

/// What the caller and the workers share.
struct Shared {
    slot: JobSlot,
    /// For each worker, true while it is parked or about to park.
    parked: Vec<AtomicBool>,
    /// What a worker does between two looks at the epoch. Must be short.
    idle: fn(),
    /// The first panic of a worker in the current job.
    panic: Mutex<Option<Payload>>,
}

/// The current job. All of it fits in one cache line, because the line moves from core to core.
#[derive(Default)]
#[repr(align(64))]
struct JobSlot {
    /// Number of the current job; 0 before the first, [`ENDED`] after the last.
    epoch: AtomicU64,
    /// The current job while workers may join it.
    job: Mutex<Option<Job>>,
    /// Workers that run the current job. It grows only under the lock of `job`, and only while that is filled.
    active: AtomicUsize,
    /// True if `Shared::panic` holds a panic of the current job.
    panicked: AtomicBool,
}

/// Threads that do one job at a time together with their caller.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// Held by the caller whose job is being done.
    caller: Mutex<()>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} threads)", self.count())
    }
}

impl Pool {
    /// A pool of `count` threads, the caller's among them. Workers call `idle` while they spin. `None` if the system does not grant
    /// the threads.
    pub fn new(count: usize, idle: fn()) -> Option<Self> {
        let workers = count.saturating_sub(1);
        let shared = Arc::new(Shared {
            slot: JobSlot::default(),
            parked: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            idle,
            panic: Mutex::new(None),
        });
        let mut pool = Pool { shared, workers: Vec::with_capacity(workers), caller: Mutex::new(()) };
        for worker in 0..workers {
            let shared = Arc::clone(&pool.shared);
            let thread = Builder::new().name(format!("assay-cpu-{}", worker + 1));
            pool.workers.push(thread.spawn(move || shared.work(worker)).ok()?);
        }
        Some(pool)
    }

    /// Threads of the pool, the caller's among them.
    pub fn count(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs `job` on the caller's thread and on every worker that joins before the caller's part is done. Returns when all are done.
    /// While the workers have another job, the caller's thread does this one alone.
    ///
    /// # Panics
    ///
    /// If `job` panics on any thread: with the caller's own panic, or else with the first one of a worker.
    pub fn run(&self, job: &(dyn Fn(usize) + Sync)) {
        let caller = match self.caller.try_lock() {
            Ok(caller) => caller,
            // The lock guards no data, and a job that panicked was closed while it was held.
            Err(TryLockError::Poisoned(caller)) => caller.into_inner(),
            Err(TryLockError::WouldBlock) => return job(0),
        };
        // SAFETY: only the lifetime changes. A worker has the job from `join` until it subtracts itself from `active`.
        // `OpenJob::close` empties the slot, so that no worker joins any more, and waits until `active` is 0. It is called below,
        // or by the drop of `open` if `job` unwinds: in both cases while `job` is still borrowed.
        let lasting = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Job>(job) };
        let mut open = self.publish(lasting, caller);
        job(0);
        let panic = open.close();
        drop(open);
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    fn publish<'a>(&'a self, job: Job, caller: MutexGuard<'a, ()>) -> OpenJob<'a> {
        let shared = &*self.shared;
        let mut slot = lock(&shared.slot.job);
        *slot = Some(job);
        shared.slot.epoch.fetch_add(1, Ordering::Release);
        drop(slot);
        self.unpark();
        OpenJob { shared, closed: false, _caller: caller }
    }

    /// Unparks the workers that might not have seen the current epoch.
    fn unpark(&self) {
        // Pairs with the fence in `wait_for_epoch_after`: either the worker sees the new epoch before it parks, or this sees
        // that it parks.
        fence(Ordering::SeqCst);
        for (parked, worker) in self.shared.parked.iter().zip(&self.workers) {
            if parked.load(Ordering::Relaxed) {
                worker.thread().unpark();
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.slot.epoch.store(ENDED, Ordering::Release);
        self.unpark();
        for worker in self.workers.drain(..) {
            // A worker catches the panics of jobs, so it has none of its own to report.
            let _ = worker.join();
        }
    }
}

/// A job that workers may join. Dropping it closes it.
struct OpenJob<'a> {
    shared: &'a Shared,
    closed: bool,
    /// Released last: until then no other job can replace this one's panic.
    _caller: MutexGuard<'a, ()>,
}

impl OpenJob<'_> {
    /// Empties the slot, waits for the workers that have joined, and returns the first panic among them.
    fn close(&mut self) -> Option<Payload> {
        let slot = &self.shared.slot;
        *lock(&slot.job) = None;
        let mut spins = 0;
        while slot.active.load(Ordering::Acquire) > 0 {
            back_off(&mut spins);
        }
        self.closed = true;
        if !slot.panicked.load(Ordering::Relaxed) {
            return None;
        }
        slot.panicked.store(false, Ordering::Relaxed);
        lock(&self.shared.panic).take()
    }
}

impl Drop for OpenJob<'_> {
    fn drop(&mut self) {
        if !self.closed {
            // The caller unwinds with its own panic. Dropping a second payload could panic again and abort the process.
            std::mem::forget(self.close());
        }
    }
}

impl Shared {
    /// The life of a worker.
    fn work(&self, worker: usize) {
        let mut seen = 0;
        loop {
            self.wait_for_epoch_after(seen, worker);
            let (epoch, job) = self.join();
            if epoch == ENDED {
                return;
            }
            seen = epoch;
            if let Some(job) = job {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| job(worker + 1))) {
                    self.record_panic(payload);
                }
                self.slot.active.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// Keeps the first payload of a job for the caller. Leaks later ones: dropping a payload may panic, and a worker that unwinds
    /// would stay counted in `active` forever.
    fn record_panic(&self, payload: Payload) {
        let mut first = lock(&self.panic);
        if first.is_none() {
            *first = Some(payload);
        } else {
            std::mem::forget(payload);
        }
        self.slot.panicked.store(true, Ordering::Relaxed);
    }

    /// The current epoch, and its job if the slot is still filled. The worker is then counted in `active`.
    fn join(&self) -> (u64, Option<Job>) {
        // The epoch changes under this lock, so it is that of the job even if another job has followed the one waited for.
        let job = lock(&self.slot.job);
        if job.is_some() {
            self.slot.active.fetch_add(1, Ordering::Relaxed);
        }
        (self.slot.epoch.load(Ordering::Relaxed), *job)
    }

    /// Spins, and then parks, until the epoch is no longer `seen`.
    fn wait_for_epoch_after(&self, seen: u64, worker: usize) {
        for spins in 1..=SPINS_BEFORE_PARK {
            if self.slot.epoch.load(Ordering::Acquire) != seen {
                return;
            }
            if spins.is_multiple_of(SPINS_BEFORE_YIELD) {
                yield_now();
            }
            (self.idle)();
            spin_loop();
        }
        let parked = &self.parked[worker];
        parked.store(true, Ordering::Relaxed);
        // Pairs with the fence in `unpark`.
        fence(Ordering::SeqCst);
        while self.slot.epoch.load(Ordering::Acquire) == seen {
            park();
        }
        parked.store(false, Ordering::Relaxed);
    }
}

/// Spins once, and yields to other threads now and then.
fn back_off(spins: &mut usize) {
    *spins += 1;
    if spins.is_multiple_of(SPINS_BEFORE_YIELD) {
        yield_now();
    }
    spin_loop();
}

/// Ignores poison: what the mutexes here guard is valid at every moment.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
