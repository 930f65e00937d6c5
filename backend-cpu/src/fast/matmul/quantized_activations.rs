//! Activations rounded to 8 bits: blocks of 32 integers in −127..=127 with one f32 scale, `max|x| / 127`.

use std::marker::PhantomData;

use super::super::Threads;
use super::super::rows::Rows;
use super::super::simd::{Kernel, Simd};
use super::group::{Operation, starts};

/// Values that share a scale.
pub const BLOCK: usize = 32;

/// Rows of activations, rounded.
pub struct Rounded<'a> {
    threads: &'a Threads,
    blocks_per_row: usize,
    blocks: Vec<Block>,
}

/// A block of a row.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The integers, as i8, four to an i32.
    pub quads: [i32; 8],
    /// What they are multiplied by.
    pub scale: f32,
    /// Sums of the first and of the second 16 integers.
    pub sums: [i32; 2],
    /// The sum of all, times the scale.
    pub scaled_sum: f32,
    /// What the products with the codes of a run begin with: less what the bias of the codes adds to them. One number for each half
    /// where the halves have factors of their own, else the first for both.
    pub starts: [i32; 2],
}

/// All zero.
const ZERO: Block = Block { quads: [0; 8], scale: 0.0, sums: [0; 2], scaled_sum: 0.0, starts: [0; 2] };

/// Rows that a thread rounds at a time.
const ROWS_PER_TASK: usize = 16;

impl<'a> Rounded<'a> {
    /// The first `rows` rows of `x`, of `k` values each, to be multiplied by `O`.
    pub fn of<O: Operation>(threads: &'a Threads, x: &Rows<'_>, rows: usize, k: usize) -> Self {
        let blocks_per_row = k / BLOCK;
        let mut blocks = threads.take_blocks();
        blocks.resize(rows * blocks_per_row, ZERO);
        let tasks = blocks.chunks_mut((ROWS_PER_TASK * blocks_per_row).max(1));
        threads.each(tasks, rows * k, |task, blocks| {
            let mut scratch = Vec::new();
            for (row, to) in (task * ROWS_PER_TASK..).zip(blocks.chunks_mut(blocks_per_row)) {
                threads.compute(Round::<O> { row: x.read(row, &mut scratch), to, operation: PhantomData });
            }
        });
        Rounded { threads, blocks_per_row, blocks }
    }

    /// The blocks of row `row`.
    pub fn row(&self, row: usize) -> &[Block] {
        &self.blocks[row * self.blocks_per_row..][..self.blocks_per_row]
    }
}

impl Drop for Rounded<'_> {
    /// Leaves the memory to the next product.
    fn drop(&mut self) {
        self.threads.keep_blocks(std::mem::take(&mut self.blocks));
    }
}

/// Rounds a row.
struct Round<'a, O> {
    row: &'a [f32],
    to: &'a mut [Block],
    operation: PhantomData<O>,
}

impl<O: Operation> Kernel for Round<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for (values, to) in self.row.as_chunks::<BLOCK>().0.iter().zip(self.to) {
            *to = round(s, values);
            to.starts = starts::<S, O>(to.sums);
        }
    }
}

/// Rounds a block. A NaN among its values makes the scale NaN, so that no product loses it. Where the scale is below the normal
/// numbers its reciprocal may overflow; the integers are 0 then.
#[inline(always)]
fn round<S: Simd>(s: S, block: &[f32; BLOCK]) -> Block {
    let eights = block.as_chunks::<8>().0;
    let values = [s.load(&eights[0]), s.load(&eights[1]), s.load(&eights[2]), s.load(&eights[3])];
    let [a, b, c, d] = [s.abs(values[0]), s.abs(values[1]), s.abs(values[2]), s.abs(values[3])];
    let largest = s.peak(s.max(s.max(a, b), s.max(c, d)));
    // A comparison does not see NaN. A sum of magnitudes does, and infinities make none.
    let hostile = s.total(s.add(s.add(a, b), s.add(c, d))).is_nan();
    let scale = if hostile { f32::NAN } else { largest / 127.0 };
    let inverse = if scale >= f32::MIN_POSITIVE && scale.is_finite() { scale.recip() } else { 0.0 };
    let (factor, low, high) = (s.splat(inverse), s.splat(-127.0), s.splat(127.0));
    let mut ints = [s.splat_int(0); 4];
    for (ints, value) in ints.iter_mut().zip(values) {
        *ints = s.nearest(s.max(s.min(s.mul(value, factor), high), low));
    }
    let halves = [s.add_ints(ints[0], ints[1]), s.add_ints(ints[2], ints[3])];
    let sums = [s.int_array(halves[0]).iter().sum(), s.int_array(halves[1]).iter().sum()];
    let sum: i32 = sums[0] + sums[1];
    Block {
        quads: bytemuck::must_cast(s.narrow(ints)),
        scale,
        sums,
        scaled_sum: scale * sum as f32,
        starts: [0; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::simd::Portable;
    use super::*;

    #[test]
    fn the_largest_is_127_and_all_are_within_half_a_step() {
        let values: [f32; BLOCK] = std::array::from_fn(|i| (i as f32 * 1.7).sin() * 3.0);
        let block = round(Portable, &values);
        let integers: [i8; BLOCK] = bytemuck::must_cast(block.quads);
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
            let mut values = [1.0; BLOCK];
            values[at] = f32::NAN;
            assert!(round(Portable, &values).scale.is_nan());
        }
        let tiny = round(Portable, &[f32::from_bits(3); BLOCK]);
        assert_eq!((tiny.quads, tiny.sums), ([0; 8], [0; 2]));
        assert_eq!(round(Portable, &[0.0; BLOCK]).scale.to_bits(), 0);
    }
}
