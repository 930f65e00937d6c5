//! Activations rounded to 8 bits: blocks of 32 integers in −127..=127 with one f32 scale, `max|x| / 127`.

use super::super::Threads;
use super::super::rows::Rows;
use super::super::simd::{Kernel, Simd};

/// Values that share a scale.
pub const BLOCK: usize = 32;

/// Rows of activations, rounded.
pub struct Rounded {
    blocks_per_row: usize,
    blocks: Vec<Block>,
}

/// A block of a row.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The integers, as i16: what products with wide weights take.
    pub shorts: [i16; 32],
    /// The integers, as i8: what products with packed codes take.
    pub bytes: [u8; 32],
    /// What they are multiplied by.
    pub scale: f32,
    /// Sums of the first and of the second 16 integers.
    pub sums: [i16; 2],
}

/// All zero.
const ZERO: Block = Block { shorts: [0; BLOCK], bytes: [0; BLOCK], scale: 0.0, sums: [0; 2] };

/// Rows that a thread rounds at a time.
const ROWS_PER_TASK: usize = 16;

impl Rounded {
    /// The first `rows` rows of `x`, of `k` values each.
    pub fn of(threads: &Threads, x: &Rows<'_>, rows: usize, k: usize) -> Self {
        let blocks_per_row = k / BLOCK;
        let mut blocks = threads.take_blocks();
        blocks.resize(rows * blocks_per_row, ZERO);
        let tasks = blocks.chunks_mut((ROWS_PER_TASK * blocks_per_row).max(1));
        threads.each(tasks, rows * k, |task, blocks| {
            let mut scratch = Vec::new();
            for (row, to) in (task * ROWS_PER_TASK..).zip(blocks.chunks_mut(blocks_per_row)) {
                threads.compute(Round { row: x.read(row, &mut scratch), to });
            }
        });
        Rounded { blocks_per_row, blocks }
    }

    /// The blocks of row `row`.
    pub fn row(&self, row: usize) -> &[Block] {
        &self.blocks[row * self.blocks_per_row..][..self.blocks_per_row]
    }

    /// Leaves the memory to the next product.
    pub fn keep(self, threads: &Threads) {
        threads.keep_blocks(self.blocks);
    }
}

/// Rounds a row.
struct Round<'a> {
    row: &'a [f32],
    to: &'a mut [Block],
}

impl Kernel for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for (values, to) in self.row.as_chunks::<BLOCK>().0.iter().zip(self.to) {
            *to = round(s, values);
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
    let largest = s.array(s.max(s.max(a, b), s.max(c, d)));
    // A comparison does not see NaN. A sum of magnitudes does, and infinities make none.
    let hostile = s.total(s.add(s.add(a, b), s.add(c, d))).is_nan();
    let mut peak = if hostile { f32::NAN } else { 0.0 };
    for value in largest {
        if value > peak {
            peak = value;
        }
    }
    let scale = peak / 127.0;
    let inverse = if scale >= f32::MIN_POSITIVE && scale.is_finite() { scale.recip() } else { 0.0 };
    let (factor, low, high) = (s.splat(inverse), s.splat(-127.0), s.splat(127.0));
    let mut rounded = Block { scale, ..ZERO };
    for (i, value) in values.into_iter().enumerate() {
        let ints = s.int_array(s.nearest(s.max(s.min(s.mul(value, factor), high), low)));
        for (j, int) in ints.into_iter().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "within −127..=127")]
            let short = int as i16;
            rounded.shorts[8 * i + j] = short;
            rounded.bytes[8 * i + j] = short.to_le_bytes()[0];
            rounded.sums[i / 2] += short;
        }
    }
    rounded
}

#[cfg(test)]
mod tests {
    use super::super::super::simd::Portable;
    use super::*;

    #[test]
    fn the_largest_is_127_and_all_are_within_half_a_step() {
        let values: [f32; BLOCK] = std::array::from_fn(|i| (i as f32 * 1.7).sin() * 3.0);
        let block = round(Portable, &values);
        assert_eq!(block.shorts.iter().map(|x| x.abs()).max(), Some(127));
        for (i, value) in values.iter().enumerate() {
            assert!((f32::from(block.shorts[i]) * block.scale - value).abs() <= block.scale * 0.500_01);
            assert_eq!(i16::from(block.bytes[i].cast_signed()), block.shorts[i]);
        }
        let sums = [&block.shorts[..16], &block.shorts[16..]].map(|half| half.iter().sum::<i16>());
        assert_eq!(block.sums, sums);
    }

    #[test]
    fn a_nan_reaches_the_scale_and_nothing_small_overflows() {
        for at in [0, 9, 31] {
            let mut values = [1.0; BLOCK];
            values[at] = f32::NAN;
            assert!(round(Portable, &values).scale.is_nan());
        }
        let tiny = round(Portable, &[f32::from_bits(3); BLOCK]);
        assert_eq!((tiny.shorts, tiny.sums), ([0; BLOCK], [0; 2]));
        assert_eq!(round(Portable, &[0.0; BLOCK]).scale.to_bits(), 0);
    }
}
