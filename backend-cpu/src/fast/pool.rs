//! Threads that wait for work by looking for it, so that waking them costs less than a microsecond.
//!
//! A token of a small model takes a few milliseconds and some 250 ops. A pool whose threads sleep between ops would spend more
//! time on waking them than they work. Here a thread looks for the next job for a while before it sleeps.
//!
//! A job is done by those threads that come while it is open. So a thread that the system has put aside, on a machine with
//! more to do, does not keep the others waiting.
#![expect(
    unsafe_code,
    reason = "a job borrows from the caller, who waits until all threads are done with it"
)]

use std::fmt;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, JoinHandle, Thread};

/// Looks for a job before a thread sleeps: some hundred microseconds.
const LOOKS: usize = 1 << 13;

/// Looks before a thread that waits lets others run.
const LOOKS_BEFORE_YIELD: usize = 1 << 10;

/// Number that no job has: the threads should end.
const ENDED: u64 = u64::MAX;

/// What is to be done, given the number of the thread: 0 for the caller's.
type Job = &'static (dyn Fn(usize) + Sync);

/// What the caller and the threads share.
struct Shared {
    current: Current,
    /// Whether each thread sleeps, or is about to.
    asleep: Vec<AtomicBool>,
    /// What a thread does between two looks for a job: something short.
    meanwhile: fn(),
}

/// The current job. All of it in one line of memory, for it goes from processor to processor.
#[derive(Default)]
#[repr(align(64))]
struct Current {
    /// Number of the current job; 0 before the first, [`ENDED`] after the last.
    number: AtomicU64,
    /// The current job while it is open.
    job: Mutex<Option<Job>>,
    /// Threads that are at the current job. It grows only under the lock of `job`, and only while that is open.
    working: AtomicUsize,
    /// Set where the current job panicked in one of the threads.
    panicked: AtomicBool,
}

/// Threads that do one job at a time together with their caller.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Held by the caller whose job is being done.
    turn: Mutex<()>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} threads)", self.count())
    }
}

impl Pool {
    /// A pool in which `count` threads work, one of them the caller's, and do `meanwhile` between two looks for a job. `None` where
    /// the system does not grant them.
    pub fn new(count: usize, meanwhile: fn()) -> Option<Self> {
        let helpers = count.saturating_sub(1);
        let shared = Arc::new(Shared {
            current: Current::default(),
            asleep: (0..helpers).map(|_| AtomicBool::new(false)).collect(),
            meanwhile,
        });
        let mut pool = Pool { shared, threads: Vec::with_capacity(helpers), turn: Mutex::new(()) };
        for index in 0..helpers {
            let shared = Arc::clone(&pool.shared);
            let thread = thread::Builder::new().name(format!("assay-cpu-{}", index + 1));
            pool.threads.push(thread.spawn(move || shared.serve(index)).ok()?);
        }
        Some(pool)
    }

    /// Threads that work.
    pub fn count(&self) -> usize {
        self.threads.len() + 1
    }

    /// Does `job` on the caller's thread and on every other that comes before the caller is done, and returns when all are
    /// done. Where the threads have another job, the caller's thread does it alone.
    pub fn run(&self, job: &(dyn Fn(usize) + Sync)) {
        let turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            // A job that panicked has left nothing behind.
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => return job(0),
        };
        // SAFETY: the lifetime is extended for the threads. A thread has the job from `begin` until it is counted out of
        // `working`; `Underway::drop` closes the job, so that nobody begins it any more, and waits until nobody is at it. That
        // drop runs before this function returns or unwinds, while `job` is still borrowed.
        let lasting = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Job>(job) };
        let underway = self.publish(lasting, turn);
        job(0);
        drop(underway);
        assert!(!self.shared.current.panicked.load(Ordering::Relaxed), "a thread of the pool panicked");
    }

    fn publish<'a>(&'a self, job: Job, turn: MutexGuard<'a, ()>) -> Underway<'a> {
        let shared = &*self.shared;
        let mut open = lock(&shared.current.job);
        *open = Some(job);
        shared.current.panicked.store(false, Ordering::Relaxed);
        // Sequentially consistent, as are the accesses to `asleep`: either the thread sees the new number before it
        // sleeps, or this sees that it sleeps.
        shared.current.number.fetch_add(1, Ordering::SeqCst);
        drop(open);
        self.wake();
        Underway { shared, _turn: turn }
    }

    fn wake(&self) {
        for (asleep, thread) in self.shared.asleep.iter().zip(&self.threads) {
            if asleep.load(Ordering::SeqCst) {
                Thread::unpark(thread.thread());
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.current.number.store(ENDED, Ordering::SeqCst);
        self.wake();
        for thread in self.threads.drain(..) {
            // A thread catches the panics of jobs, so it has none of its own to tell.
            let _ = thread.join();
        }
    }
}

/// A job that is open. Its end closes it and waits for the threads that are at it.
struct Underway<'a> {
    shared: &'a Shared,
    _turn: MutexGuard<'a, ()>,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        *lock(&self.shared.current.job) = None;
        let mut looks = 0;
        while self.shared.current.working.load(Ordering::Acquire) > 0 {
            look_again(&mut looks);
        }
    }
}

impl Shared {
    /// The life of thread `index`.
    fn serve(&self, index: usize) {
        let mut done = 0;
        loop {
            self.wait_for_another(index, done);
            let (number, job) = self.begin();
            if number == ENDED {
                return;
            }
            done = number;
            if let Some(job) = job {
                if catch_unwind(AssertUnwindSafe(|| job(index + 1))).is_err() {
                    self.current.panicked.store(true, Ordering::Relaxed);
                }
                self.current.working.fetch_sub(1, Ordering::Release);
            }
        }
    }

    /// The number of the current job, and the job if it is still open, with the thread counted in.
    fn begin(&self) -> (u64, Option<Job>) {
        // The number changes under this lock, so it is that of the job, even where another has followed the one waited for.
        let job = lock(&self.current.job);
        if job.is_some() {
            self.current.working.fetch_add(1, Ordering::Relaxed);
        }
        (self.current.number.load(Ordering::Relaxed), *job)
    }

    /// Waits for a job other than number `done`.
    fn wait_for_another(&self, index: usize, done: u64) {
        for looks in 1..=LOOKS {
            if self.current.number.load(Ordering::Acquire) != done {
                return;
            }
            if looks.is_multiple_of(LOOKS_BEFORE_YIELD) {
                thread::yield_now();
            }
            (self.meanwhile)();
            spin_loop();
        }
        let asleep = &self.asleep[index];
        asleep.store(true, Ordering::SeqCst);
        while self.current.number.load(Ordering::SeqCst) == done {
            thread::park();
        }
        asleep.store(false, Ordering::Relaxed);
    }
}

/// Passes a moment, and lets others run now and then.
fn look_again(looks: &mut usize) {
    *looks += 1;
    if looks.is_multiple_of(LOOKS_BEFORE_YIELD) {
        thread::yield_now();
    }
    spin_loop();
}

/// What a mutex guards here is valid at every moment, so a panic elsewhere does not spoil it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_done_by_its_caller_and_by_no_thread_twice() {
        for count in [1, 2, 3, 7] {
            let pool = Pool::new(count, || {}).unwrap();
            for _ in 0..500 {
                let done = Mutex::new(Vec::new());
                pool.run(&|_| lock(&done).push(thread::current().id()));
                let mut done = done.into_inner().unwrap();
                assert!(done.contains(&thread::current().id()));
                let all = done.len();
                done.sort_by_key(|id| format!("{id:?}"));
                done.dedup();
                assert!(done.len() == all && all <= count);
            }
        }
    }

    #[test]
    fn threads_work_side_by_side() {
        let pool = Pool::new(3, || {}).unwrap();
        let here = AtomicUsize::new(0);
        // Each waits for all others, so it ends only if all three do the job at the same time.
        pool.run(&|_| {
            here.fetch_add(1, Ordering::SeqCst);
            while here.load(Ordering::SeqCst) < 3 {
                thread::yield_now();
            }
        });
        assert_eq!(here.into_inner(), 3);
    }

    #[test]
    fn a_job_inside_a_job_is_done_by_its_caller() {
        let pool = Pool::new(2, || {}).unwrap();
        let done = AtomicUsize::new(0);
        pool.run(&|_| {
            pool.run(&|_| {
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert!((1..=2).contains(&done.into_inner()));
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let pool = Pool::new(3, || {}).unwrap();
        let caught = catch_unwind(AssertUnwindSafe(|| pool.run(&|_| panic!("as planned"))));
        assert!(caught.is_err());
        let done = AtomicUsize::new(0);
        pool.run(&|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert!((1..=3).contains(&done.into_inner()));
    }

    #[test]
    fn threads_end_whatever_they_are_about_to_do() {
        for _ in 0..2000 {
            let pool = Pool::new(3, || {}).unwrap();
            pool.run(&|_| {});
        }
    }

    #[test]
    fn sleeping_threads_are_woken() {
        let pool = Pool::new(2, || {}).unwrap();
        while !pool.shared.asleep[0].load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let here = AtomicUsize::new(0);
        pool.run(&|_| {
            here.fetch_add(1, Ordering::SeqCst);
            while here.load(Ordering::SeqCst) < 2 {
                thread::yield_now();
            }
        });
        assert_eq!(here.into_inner(), 2);
    }
}
