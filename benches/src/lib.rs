//! Benches of every op at the sizes of SmolLM2-135M, one file per stem under `benches/`.
//!
//! `cargo bench -p assay-benches --bench ops` runs them all, with `-- rope` those of one op, `-- --quick` in less time. A bench is called
//! `op/backend/case`. Elements per second are floating-point operations per second, bytes per second count the fewest
//! bytes that the op has to move: each input read once, each output written once. Only the op itself is timed, not the binding and
//! validation before it.
#![forbid(unsafe_code)]

pub mod costs;
pub mod smollm2;

use std::time::{Duration, Instant};

use backend_cpu::fast::Fast;
use backend_cpu::reference::Reference;
use criterion::{Bencher, BenchmarkId, Criterion};
use kernels::{Backend, Record, Stem};

pub use conformance::dense::Dense;
pub use costs::Cost;

/// Operations up to which the reference is timed as well. It is slow: it is written for clarity.
const QUICK: usize = 1 << 18;

/// Runs the benches that the command line selects.
pub fn run(bench: impl FnOnce(&mut Criterion)) {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    bench(&mut criterion);
    criterion.final_summary();
}

/// Times the op `record`, called `case`, on the fast backend, and on the reference if that is quick.
///
/// # Panics
///
/// When validation refuses the record, or a backend fails: a mistake in the bench.
pub fn op(criterion: &mut Criterion, case: &str, record: &Record, cost: Cost) {
    let mut group = criterion.benchmark_group(record.stem.name());
    group.throughput(cost.throughput());
    group.bench_function(BenchmarkId::new("cpu", case), |b| time(b, &Fast::default(), record));
    if cost.flops <= QUICK {
        group.bench_function(BenchmarkId::new("ref", case), |b| time(b, &Reference::default(), record));
    }
    group.finish();
}

/// Times the op of `stem` from `inputs` to `out`, all f32 `[rows, columns]`, for every number of
/// [rows](smollm2::ROWS). `finish` adds parameters and other operands; `flops` are the operations per element.
///
/// # Panics
///
/// As [`op`].
pub fn elementwise(
    criterion: &mut Criterion,
    stem: Stem,
    inputs: &[&str],
    columns: usize,
    flops: usize,
    finish: impl Fn(Record) -> Record,
) {
    for rows in smollm2::ROWS {
        let shape = [rows, columns];
        let record = inputs.iter().fold(Record::new(stem), |record, name| record.gauss(name, &shape));
        let record = finish(record.empty("out", kernels::DType::F32, &shape));
        op(criterion, &format!("{rows}x{columns}"), &record, Cost::pass(&record, flops * rows * columns));
    }
}

/// Times the op `record` on `backend`: `launch` until its work is done. The buffers are filled once; binding and
/// validation are not timed.
///
/// # Panics
///
/// When validation refuses the record, or the backend fails: a mistake in the bench.
pub fn time<D: Backend>(bencher: &mut Bencher<'_>, backend: &D, record: &Record) {
    let stream = backend.stream().expect("a stream");
    let mut buffers = record.upload(backend, &stream).expect("memory for the operands");
    bencher.iter_custom(|times| {
        let mut total = Duration::ZERO;
        for _ in 0..times {
            let op = record.bind(&mut buffers).expect("an op").validate().expect("a valid op");
            let begin = Instant::now();
            backend.launch(&stream, op).expect("the op runs");
            backend.synchronize(&stream).expect("the op ends");
            total += begin.elapsed();
        }
        total
    });
}
