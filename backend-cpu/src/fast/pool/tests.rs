//! The pool with real threads.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

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
            yield_now();
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
    while !pool.shared.parked[0].load(Ordering::SeqCst) {
        yield_now();
    }
    let here = AtomicUsize::new(0);
    pool.run(&|_| {
        here.fetch_add(1, Ordering::SeqCst);
        while here.load(Ordering::SeqCst) < 2 {
            yield_now();
        }
    });
    assert_eq!(here.into_inner(), 2);
}

/// Runs `test` on a thread of its own, so that a pool that hangs fails the test instead of stopping all.
fn within_a_minute(test: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    finished.recv_timeout(Duration::from_secs(60)).expect("the pool hangs, or the test panicked");
}

/// Runs a job in which every worker panics with `payload`, and returns what the caller caught.
fn panic_in_workers<P: Send + 'static>(pool: &Pool, payload: impl Fn() -> P + Sync) -> Payload {
    let arrived = AtomicUsize::new(0);
    let workers = pool.count() - 1;
    let job = |thread: usize| {
        if thread > 0 {
            arrived.fetch_add(1, Ordering::SeqCst);
            // As `panic!` does, but without the message on standard error.
            resume_unwind(Box::new(payload()));
        }
        while arrived.load(Ordering::SeqCst) < workers {
            yield_now();
        }
    };
    catch_unwind(AssertUnwindSafe(|| pool.run(&job))).expect_err("all workers panicked")
}

/// Panics when dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a payload was dropped");
    }
}

#[test]
fn a_payload_whose_drop_panics_does_not_hang_the_caller() {
    within_a_minute(|| {
        let pool = Pool::new(3, || {}).unwrap();
        for _ in 0..100 {
            let payload = panic_in_workers(&pool, || Bomb);
            assert!(payload.is::<Bomb>());
            std::mem::forget(payload);
        }
        pool.run(&|_| {});
    });
}

#[test]
fn a_panic_of_a_worker_reaches_the_caller_with_its_payload() {
    let pool = Pool::new(2, || {}).unwrap();
    assert_eq!(panic_in_workers(&pool, || 7i32).downcast_ref(), Some(&7));
    pool.run(&|_| {});
}

#[test]
fn a_panic_of_the_caller_comes_before_those_of_workers() {
    within_a_minute(|| {
        let pool = Pool::new(2, || {}).unwrap();
        let arrived = AtomicBool::new(false);
        let job = |thread: usize| {
            if thread > 0 {
                arrived.store(true, Ordering::SeqCst);
                resume_unwind(Box::new(Bomb));
            }
            while !arrived.load(Ordering::SeqCst) {
                yield_now();
            }
            resume_unwind(Box::new("the caller's"));
        };
        let caught = catch_unwind(AssertUnwindSafe(|| pool.run(&job))).unwrap_err();
        assert_eq!(caught.downcast_ref(), Some(&"the caller's"));
        pool.run(&|_| {});
    });
}

#[test]
fn a_panic_is_charged_to_the_caller_whose_job_it_was() {
    within_a_minute(|| {
        let pool = Pool::new(2, || {}).unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        let caught = catch_unwind(AssertUnwindSafe(|| pool.run(&|_| {})));
                        assert!(caught.is_ok(), "another caller's panic");
                    }
                });
            }
            let mut panics = 0;
            while panics < 2000 {
                let panicked = AtomicBool::new(false);
                let job = |thread: usize| {
                    if thread > 0 {
                        panicked.store(true, Ordering::SeqCst);
                        resume_unwind(Box::new(()));
                    }
                };
                let caught = catch_unwind(AssertUnwindSafe(|| pool.run(&job)));
                assert_eq!(caught.is_err(), panicked.load(Ordering::SeqCst), "after {panics} panics");
                panics += usize::from(caught.is_err());
            }
            over.store(true, Ordering::Relaxed);
        });
    });
}
