//! Every interleaving of small uses of the pool, by loom.

use loom::model::Builder;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::*;

/// Runs `test` in every interleaving with at most three preemptions. More than that is seldom needed to show a fault, and costs hours.
fn model(test: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(test);
}

/// What `run` panicked with.
fn panic_of(pool: &Pool, job: &(dyn Fn(usize) + Sync)) -> Option<usize> {
    let caught = catch_unwind(AssertUnwindSafe(|| pool.run(job)));
    caught.err().map(|payload| *payload.downcast().expect("a number"))
}

#[test]
fn a_job_is_over_for_all_threads_when_run_returns() {
    model(|| {
        let pool = Pool::new(2, || {}).expect("threads");
        for _ in 0..2 {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.run(&|_| {
                begun.fetch_add(1, Ordering::Relaxed);
                ended.fetch_add(1, Ordering::Relaxed);
            });
            assert!(begun.load(Ordering::Relaxed) >= 1);
            assert_eq!(begun.load(Ordering::Relaxed), ended.load(Ordering::Relaxed));
        }
    });
}

#[test]
fn a_parked_worker_ends_with_the_pool() {
    model(|| drop(Pool::new(2, || {}).expect("threads")));
}

#[test]
fn a_panic_is_charged_to_the_caller_whose_job_it_was() {
    model(|| {
        let pool = Arc::new(Pool::new(2, || {}).expect("threads"));
        let callers = [1usize, 2].map(|caller| {
            let pool = Arc::clone(&pool);
            move || {
                let joined = AtomicUsize::new(0);
                let panic = panic_of(&pool, &|thread| {
                    if thread > 0 {
                        joined.fetch_add(1, Ordering::Relaxed);
                        resume_unwind(Box::new(caller));
                    }
                });
                let expected = (joined.load(Ordering::Relaxed) > 0).then_some(caller);
                assert_eq!(panic, expected);
            }
        });
        let [first, second] = callers;
        let other = thread::spawn(first);
        second();
        other.join().expect("no assertion failed");
    });
}
