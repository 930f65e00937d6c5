//! Wave instructions per second of whole kernels, with checks on and off, on one thread and on two.
//!
//! Runs on one thread are measured in time on the processor where the system tells it (Linux), so that a busy
//! machine does not matter; runs on two threads are measured by the clock, and need two idle processors.
//! `benches/threads.rs` compares one thread with two.
#![allow(missing_docs, reason = "a bench is no interface")]

mod launches;

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use launches::{q8_dot4, q8_matvec, rms_norm, softmax};
use softhip::memory::Checks;

/// Time that this thread has been running.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn speed(criterion: &mut Criterion) {
    let ways = [
        ("checked", Checks::ALL, 1),
        ("bounds only", Checks::BOUNDS, 1),
        ("checked, two threads", Checks::ALL, 2),
    ];
    for mut launch in [q8_matvec(), q8_dot4(), rms_norm(), softmax()] {
        let mut group = criterion.benchmark_group(launch.name);
        group.sample_size(10);
        for (way, checks, threads) in ways {
            launch.set(checks, threads);
            group.throughput(Throughput::Elements(launch.run().instructions));
            group.bench_function(way, |bencher| {
                bencher.iter_custom(|iterations| {
                    let (clock, processor) = (Instant::now(), processor_time());
                    for _ in 0..iterations {
                        launch.run();
                    }
                    match (threads, processor.zip(processor_time())) {
                        (1, Some((start, end))) => end.saturating_sub(start),
                        _ => clock.elapsed(),
                    }
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, speed);
criterion_main!(benches);
