//! The machine's roofline: peak read bandwidth and peak arithmetic, measured. Kernels are compared with it.

use std::hint::black_box;
use std::time::Instant;

use super::simd::{Kernel, Simd, WIDTH};
use super::threads::Threads;

/// Bytes that are read: more than the last-level caches of common machines hold.
const BYTES: usize = 256 << 20;

/// Bytes of a task.
const CHUNK: usize = 1 << 20;

/// Times that each rate is measured; the highest counts.
const REPETITIONS: usize = 5;

/// Independent dependency chains per thread: enough to hide the latency of a multiply-add.
const CHAINS: usize = 12;

/// Multiply-adds of each chain.
const STEPS: usize = 1 << 21;

/// Highest rates that were measured.
#[derive(Clone, Copy, Debug)]
pub struct Roofline {
    /// Bytes per second read from memory.
    pub read: f64,
    /// f32 operations per second; a multiply-add is two.
    pub flops: f64,
    /// 8-bit operations per second, summed in i32; a multiply-add is two.
    pub byte_ops: f64,
}

impl Roofline {
    /// Measures what `threads` can do.
    pub fn measure(threads: &Threads) -> Self {
        let memory = vec![1u64; BYTES / size_of::<u64>()];
        let read = best(|| {
            threads.parallel_for(memory.chunks(CHUNK / size_of::<u64>()), BYTES, |_, chunk| {
                black_box(threads.compute(Read(bytemuck::cast_slice(chunk))));
            });
            BYTES as f64
        });
        let flops = best(|| {
            threads.parallel_for(0..threads.count(), STEPS, |_, _| {
                black_box(threads.compute(MultiplyAdd));
            });
            (2 * threads.count() * STEPS * CHAINS * WIDTH) as f64
        });
        let byte_ops = best(|| {
            threads.parallel_for(0..threads.count(), STEPS, |_, _| {
                black_box(threads.compute(Dots));
            });
            (2 * threads.count() * STEPS * CHAINS * 64) as f64
        });
        Roofline { read, flops, byte_ops }
    }
}

/// The highest rate of [`REPETITIONS`] runs of `work`, which returns how much it did.
fn best(work: impl Fn() -> f64) -> f64 {
    let rate = |_| {
        let begin = Instant::now();
        let done = work();
        done / begin.elapsed().as_secs_f64()
    };
    (0..REPETITIONS).map(rate).fold(0.0, f64::max)
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
        s.reduce_add(sums.into_iter().reduce(|a, b| s.add(a, b)).unwrap_or(factor))
    }
}

/// Multiplies bytes and adds in registers, 64 at a time.
struct Dots;

impl Kernel for Dots {
    type Output = [i32; 16];

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> [i32; 16] {
        let codes = s.splat_int16(black_box(0x0102_0304));
        let mut sums = [s.splat_int16(0); CHAINS];
        for step in 0..STEPS {
            // Varies, so that the compiler cannot hoist the product out of the loop.
            let x = if step % 3 == 0 { 0x0103_0507 } else { 0x0102_0507 };
            for sum in &mut sums {
                *sum = s.dot16(*sum, codes, x);
            }
        }
        s.int_array16(sums.into_iter().reduce(|a, b| s.add_ints16(a, b)).unwrap_or(codes))
    }
}
