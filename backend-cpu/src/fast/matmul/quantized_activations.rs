//! Quantisation of activations to 8 bits.

use std::marker::PhantomData;

use super::super::int8_block::{INT8_BLOCK, Int8Block};
use super::super::rows::Rows;
use super::super::simd::{Kernel, Simd};
use super::super::threads::Threads;
use super::group::initial_sums;
use super::operation::Operation;

/// Rows of activations, quantised. Their memory goes back to `threads` when they are dropped.
pub struct QuantizedActivations<'a> {
    threads: &'a Threads,
    blocks_per_row: usize,
    blocks: Vec<Int8Block>,
}

/// Rows of a task.
const ROWS_PER_TASK: usize = 16;

impl<'a> QuantizedActivations<'a> {
    /// The first `rows` rows of `x`, of `k` values each, for operation `O`.
    pub fn of<O: Operation>(threads: &'a Threads, x: &Rows<'_>, rows: usize, k: usize) -> Self {
        let blocks_per_row = k / INT8_BLOCK;
        let mut blocks = threads.acquire_int8_blocks();
        blocks.resize(rows * blocks_per_row, Int8Block::ZERO);
        let tasks = blocks.chunks_mut((ROWS_PER_TASK * blocks_per_row).max(1));
        threads.parallel_for(tasks, rows * k, |task, blocks| {
            let mut scratch = Vec::new();
            for (row, to) in (task * ROWS_PER_TASK..).zip(blocks.chunks_mut(blocks_per_row)) {
                threads.compute(Quantize::<O> { row: x.read(row, &mut scratch), to, operation: PhantomData });
            }
        });
        QuantizedActivations { threads, blocks_per_row, blocks }
    }

    /// The blocks of row `row`.
    pub fn row(&self, row: usize) -> &[Int8Block] {
        &self.blocks[row * self.blocks_per_row..][..self.blocks_per_row]
    }
}

impl Drop for QuantizedActivations<'_> {
    fn drop(&mut self) {
        self.threads.release_int8_blocks(std::mem::take(&mut self.blocks));
    }
}

/// Quantises a row.
struct Quantize<'a, O> {
    row: &'a [f32],
    to: &'a mut [Int8Block],
    operation: PhantomData<O>,
}

impl<O: Operation> Kernel for Quantize<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for (values, to) in self.row.as_chunks::<INT8_BLOCK>().0.iter().zip(self.to) {
            *to = quantize(s, values);
            to.initial_sums = initial_sums::<S, O>(to.sums);
        }
    }
}

/// Quantises a block. A NaN among its values makes the scale NaN, so that every product with it is NaN. If the scale is subnormal, its
/// reciprocal may overflow; the integers are 0 then.
#[inline(always)]
fn quantize<S: Simd>(s: S, block: &[f32; INT8_BLOCK]) -> Int8Block {
    let eights = block.as_chunks::<8>().0;
    let values = [s.load(&eights[0]), s.load(&eights[1]), s.load(&eights[2]), s.load(&eights[3])];
    let [a, b, c, d] = [s.abs(values[0]), s.abs(values[1]), s.abs(values[2]), s.abs(values[3])];
    let largest = s.reduce_max(s.max(s.max(a, b), s.max(c, d)));
    // A maximum ignores NaN. A sum of magnitudes does not, and infinities of one sign do not make it NaN.
    let has_nan = s.reduce_add(s.add(s.add(a, b), s.add(c, d))).is_nan();
    let scale = if has_nan { f32::NAN } else { largest / 127.0 };
    let inverse = if scale >= f32::MIN_POSITIVE && scale.is_finite() { scale.recip() } else { 0.0 };
    let (factor, low, high) = (s.splat(inverse), s.splat(-127.0), s.splat(127.0));
    let mut ints = [s.splat_int(0); 4];
    for (ints, value) in ints.iter_mut().zip(values) {
        *ints = s.nearest(s.max(s.min(s.mul(value, factor), high), low));
    }
    let halves = [s.add_ints(ints[0], ints[1]), s.add_ints(ints[2], ints[3])];
    let sums = [s.int_array(halves[0]).iter().sum(), s.int_array(halves[1]).iter().sum()];
    let sum: i32 = sums[0] + sums[1];
    Int8Block {
        quads: bytemuck::must_cast(s.narrow(ints)),
        scale,
        sums,
        scaled_sum: scale * sum as f32,
        initial_sums: [0; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::simd::Portable;
    use super::*;

    #[test]
    fn the_largest_is_127_and_all_are_within_half_a_step() {
        let values: [f32; INT8_BLOCK] = std::array::from_fn(|i| (i as f32 * 1.7).sin() * 3.0);
        let block = quantize(Portable, &values);
        let integers: [i8; INT8_BLOCK] = bytemuck::must_cast(block.quads);
        assert_eq!(integers.iter().map(|x| x.abs()).max(), Some(127));
        for (integer, value) in integers.iter().zip(&values) {
            assert!((f32::from(*integer) * block.scale - value).abs() <= block.scale * 0.500_01);
        }
        let sum = |half: &[i8]| half.iter().map(|&x| i32::from(x)).sum::<i32>();
        let sums = [sum(&integers[..16]), sum(&integers[16..])];
        assert_eq!(block.sums, sums);
        assert_eq!(block.scaled_sum.to_bits(), (block.scale * (sums[0] + sums[1]) as f32).to_bits());
    }

    #[test]
    fn a_nan_reaches_the_scale_and_nothing_small_overflows() {
        for at in [0, 9, 31] {
            let mut values = [1.0; INT8_BLOCK];
            values[at] = f32::NAN;
            assert!(quantize(Portable, &values).scale.is_nan());
        }
        let tiny = quantize(Portable, &[f32::from_bits(3); INT8_BLOCK]);
        assert_eq!((tiny.quads, tiny.sums), ([0; 8], [0; 2]));
        assert_eq!(quantize(Portable, &[0.0; INT8_BLOCK]).scale.to_bits(), 0);
    }
}
