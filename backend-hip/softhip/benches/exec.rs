//! Wave instructions per second of whole kernels, with checks on and off, on one thread and on two.
//!
//! Runs on one thread are measured in time on the processor where the system tells it (Linux), so that a busy
//! machine does not matter; runs on two threads are measured by the clock, and need two idle processors.
//! `benches/threads.rs` compares one thread with two.
#![allow(missing_docs, reason = "a bench is no interface")]

#[path = "../tests/hip/mod.rs"]
mod hip;
mod launches;

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hip::{Arg, Hip};
use launches::{attention, matmul_bf16, matmul_f16, q8_dot4, q8_matvec, rms_norm, softmax};
use softhip::control::Options;
use softhip::memory::Checks;
use softhip::sched::Limits;

/// Time that this thread has been running.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// How long `work` runs: in time on the processor if it has one thread and that can be told.
fn timed(threads: usize, work: impl FnOnce()) -> Duration {
    let (clock, processor) = (Instant::now(), processor_time());
    work();
    match (threads, processor.zip(processor_time())) {
        (1, Some((start, end))) => end.saturating_sub(start),
        _ => clock.elapsed(),
    }
}

fn speed(criterion: &mut Criterion) {
    let ways = [
        ("checked", Checks::ALL, 1),
        ("bounds only", Checks::BOUNDS, 1),
        ("checked, two threads", Checks::ALL, 2),
    ];
    let kernels = [q8_matvec, q8_dot4, rms_norm, softmax, matmul_f16, matmul_bf16, attention];
    for mut launch in kernels.map(|kernel| kernel()) {
        let mut group = criterion.benchmark_group(launch.name);
        group.sample_size(10);
        for (way, checks, threads) in ways {
            launch.set(checks, threads);
            group.throughput(Throughput::Elements(launch.run().instructions));
            group.bench_function(way, |bencher| {
                bencher.iter_custom(|iterations| {
                    timed(threads, || {
                        for _ in 0..iterations {
                            launch.run();
                        }
                    })
                });
            });
        }
        group.finish();
    }
}

/// Launches per measurement: time on the processor is not told by the microsecond.
const LAUNCHES: u64 = 10_000;

/// Launches of one wave by HIP's calls, each waited for: what a launch costs beside its instructions.
fn one_wave(criterion: &mut Criterion) {
    let limits = Limits { threads: 1, ..Limits::default() };
    let hip = Hip::with(Options { limits, ..Options::default() });
    let kernel = hip.kernel("faults", "copy_u8");
    let (x, out) = (hip.upload(&[1u8; 64]), hip.malloc(64));
    let arguments = [Arg::Pointer(x), Arg::Pointer(out)];
    let mut group = criterion.benchmark_group("one wave");
    group.sample_size(10).throughput(Throughput::Elements(LAUNCHES));
    group.bench_function("10000 launches", |bencher| {
        bencher.iter_custom(|iterations| {
            timed(1, || {
                for _ in 0..iterations * LAUNCHES {
                    assert_eq!(hip.launch(kernel, hip::Launch::new(1, 64), &arguments), hip::SUCCESS);
                    assert_eq!(hip.synchronize(), hip::SUCCESS);
                }
            })
        });
    });
    group.finish();
}

criterion_group!(benches, speed, one_wave);
criterion_main!(benches);
