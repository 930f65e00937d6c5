//! What guards cost: an op with and without canaries around its buffers, and a whole run as `assay check` makes it (fresh
//! buffers, the op, everything read back) under each guard.

use assay_benches::smollm2::{EMBD, FF};
use assay_benches::{Dense, run, time};
use backend_cpu::fast::Fast;
use clap::ValueEnum;
use conformance::backends::{self, Guard};
use criterion::BenchmarkId;
use kernels::decor::Guarded;
use kernels::{DType, Record, Stem};

fn add(rows: usize) -> Record {
    let shape = [rows, EMBD];
    Record::new(Stem::Add).gauss("a", &shape).gauss("b", &shape).empty("out", DType::F32, &shape)
}

fn matmul(m: usize) -> Record {
    Record::new(Stem::Matmul).gauss("x", &[m, FF]).weights("weight", DType::Q4_0, [EMBD, FF]).empty(
        "out",
        DType::F32,
        &[m, EMBD],
    )
}

fn main() {
    let cases = [
        ("add 1x576", add(1)),
        ("add 64x576", add(64)),
        ("matmul q4_0 m=1", matmul(1)),
        ("matmul q4_0 m=64", matmul(64)),
    ];
    run(|criterion| {
        let mut group = criterion.benchmark_group("guarded launch");
        for (case, record) in &cases {
            let guarded = Guarded::new(Fast::default()).expect("a stream");
            group.bench_function(BenchmarkId::new("off", case), |b| time(b, &Fast::default(), record));
            group.bench_function(BenchmarkId::new("canaries", case), |b| time(b, &guarded, record));
        }
        group.finish();
        let mut group = criterion.benchmark_group("guarded run");
        for (case, record) in &cases {
            for guard in Guard::value_variants() {
                // Fences are not available on every system.
                let Ok(target) = backends::open("cpu", *guard) else { continue };
                let run = || target.run(record).expect("the op runs");
                group.bench_function(BenchmarkId::new(guard.to_string(), case), |b| b.iter(run));
            }
        }
        group.finish();
    });
}
