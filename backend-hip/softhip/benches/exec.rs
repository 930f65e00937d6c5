//! Wave instructions per second of whole kernels, with checks on and off, on one thread and on two.
//!
//! Runs on one thread are measured in time on the processor where the system tells it (Linux), so that a busy
//! machine does not matter; runs on two threads are measured by the clock, and need two idle processors.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    missing_docs,
    reason = "launches of known size"
)]

use std::time::{Duration, Instant};

#[path = "../tests/exec_launch/mod.rs"]
mod exec_launch;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use exec_launch::{Arguments, Device};
use softhip::memory::Checks;
use softhip::sched::Limits;

/// A kernel with its launch.
struct Launch {
    name: &'static str,
    device: Device,
    grid: [u32; 3],
    block: [u32; 3],
    arguments: Arguments,
}

/// Time that this thread has been running.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

fn q8_matvec() -> Launch {
    let (rows, n) = (1024usize, 4096usize);
    let device = Device::load("q8_matvec");
    let weights: Vec<u8> = (0..rows * n / 32)
        .flat_map(|block| {
            let scale = half::f16::from_f32(0.01).to_bits().to_le_bytes();
            scale.into_iter().chain((0..32).map(move |i| ((block * 31 + i * 17) % 256) as u8))
        })
        .collect();
    let (w, x, out) = (device.upload(&weights), device.upload(&ramp(n)), device.buffer(4 * rows));
    let arguments = device.arguments("q8_matvec_f32").pointer(w).pointer(x).pointer(out).u32(n as u32);
    Launch { name: "q8_matvec_f32", device, grid: [rows as u32, 1, 1], block: [64, 1, 1], arguments }
}

fn rms_norm() -> Launch {
    let (rows, n) = (256usize, 4096usize);
    let device = Device::load("rms_norm");
    let (x, w, out) = (device.upload(&ramp(rows * n)), device.upload(&ramp(n)), device.buffer(4 * rows * n));
    let arguments =
        device.arguments("rms_norm_f32").pointer(x).pointer(w).pointer(out).u32(n as u32).f32(1e-5);
    Launch { name: "rms_norm_f32", device, grid: [rows as u32, 1, 1], block: [256, 1, 1], arguments }
}

fn softmax() -> Launch {
    let (rows, n) = (256usize, 4096usize);
    let device = Device::load("softmax");
    let (x, out) = (device.upload(&ramp(rows * n)), device.buffer(4 * rows * n));
    let arguments = device.arguments("softmax_f32").pointer(x).pointer(out).u32(n as u32);
    Launch { name: "softmax_f32", device, grid: [rows as u32, 1, 1], block: [256, 1, 1], arguments }
}

fn speed(criterion: &mut Criterion) {
    let ways = [
        ("checked", Checks::ALL, 1),
        ("bounds only", Checks::BOUNDS, 1),
        ("checked, two threads", Checks::ALL, 2),
    ];
    for mut launch in [q8_matvec(), rms_norm(), softmax()] {
        let mut group = criterion.benchmark_group(launch.name);
        group.sample_size(10);
        for (way, checks, threads) in ways {
            launch.device.checks = checks;
            launch.device.limits = Limits { threads, ..Limits::default() };
            let run = || launch.device.run(launch.name, launch.grid, launch.block, &launch.arguments);
            let counters = run().expect("the kernel is right");
            group.throughput(Throughput::Elements(counters.instructions));
            group.bench_function(way, |bencher| {
                bencher.iter_custom(|iterations| {
                    let (clock, processor) = (Instant::now(), processor_time());
                    for _ in 0..iterations {
                        run().expect("the kernel is right");
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
