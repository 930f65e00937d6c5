//! What this machine can do at most: the rates that the kernels are measured against.

use std::hint::black_box;
use std::time::Instant;

use super::Threads;
use super::simd::{Kernel, Simd, WIDTH};

/// Bytes that are read: more than the caches of common machines hold.
const BYTES: usize = 256 << 20;

/// Bytes that a thread reads at a time.
const PIECE: usize = 1 << 20;

/// Times that each rate is measured; the best counts.
const TIMES: usize = 5;

/// Sums that a thread forms side by side: enough to hide the latency of a multiply-add.
const CHAINS: usize = 12;

/// Multiply-adds of each chain.
const STEPS: usize = 1 << 21;

/// Highest rates that were measured.
#[derive(Clone, Copy, Debug)]
pub struct Peaks {
    /// Bytes per second read from memory.
    pub read: f64,
    /// Operations per second in f32, a multiply-add being two.
    pub flops: f64,
}

impl Peaks {
    /// Measures what `threads` can do.
    pub fn measure(threads: &Threads) -> Self {
        let memory = vec![1u64; BYTES / size_of::<u64>()];
        let read = best(|| {
            threads.each(memory.chunks(PIECE / size_of::<u64>()), BYTES, |_, piece| {
                black_box(threads.compute(Read(bytemuck::cast_slice(piece))));
            });
            BYTES as f64
        });
        let flops = best(|| {
            threads.each(0..threads.count(), STEPS, |_, _| {
                black_box(threads.compute(MultiplyAdd));
            });
            (2 * threads.count() * STEPS * CHAINS * WIDTH) as f64
        });
        Peaks { read, flops }
    }
}

/// The highest rate of several runs of `work`, which returns how much it did.
fn best(work: impl Fn() -> f64) -> f64 {
    let rate = |_| {
        let begin = Instant::now();
        let done = work();
        done / begin.elapsed().as_secs_f64()
    };
    (0..TIMES).map(rate).fold(0.0, f64::max)
}

/// Reads memory.
struct Read<'a>(&'a [u8]);

impl Kernel for Read<'_> {
    type Output = [i32; 8];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [i32; 8] {
        let mut sums = [s.splat_int(0); 4];
        for line in self.0.as_chunks::<32>().0.as_chunks::<4>().0 {
            for (sum, bytes) in sums.iter_mut().zip(line) {
                *sum = s.or(*sum, s.bytes(bytes));
            }
        }
        s.int_array(s.or(s.or(sums[0], sums[1]), s.or(sums[2], sums[3])))
    }
}

/// Multiplies and adds in registers.
struct MultiplyAdd;

impl Kernel for MultiplyAdd {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f32 {
        let factor = s.splat(black_box(0.999));
        let mut sums = [s.splat(1.0); CHAINS];
        for _ in 0..STEPS {
            for sum in &mut sums {
                *sum = s.mul_add(*sum, factor, factor);
            }
        }
        s.total(sums.into_iter().reduce(|a, b| s.add(a, b)).unwrap_or(factor))
    }
}
