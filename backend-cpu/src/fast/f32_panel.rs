//! Sixteen rows of floats side by side, for products with many others: a vector has one value of each row.
//!
//! A product is a sum in eight lanes over the rows' values, the same that rows multiplied one by one give
//! ([`Simd::total`]); but each of its lanes is a vector here, which sixteen products share, and no lane has to be moved to be added to
//! another.

use super::simd::{Rows16, Simd, WIDTH};

/// How many rows.
pub const ROWS: usize = 16;

/// Others that are best multiplied with them at a time: as many as there are registers for.
pub const AT_A_TIME: usize = 3;

/// A value of each row.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Column([f32; ROWS]);

/// Sixteen rows, column by column, with zeros up to a whole number of vectors.
#[derive(Default)]
pub struct Sixteen(Vec<[Column; WIDTH]>);

impl Sixteen {
    /// Takes over rows of f32.
    #[inline(always)]
    pub fn fill<S: Simd>(&mut self, s: S, rows: Rows16<'_>) {
        const QUAD: usize = 4 * size_of::<f32>();
        let columns = rows.len() / size_of::<f32>();
        self.0.resize(columns.div_ceil(WIDTH), [Column::default(); WIDTH]);
        let (to, padding) = self.0.as_flattened_mut().split_at_mut(columns);
        padding.fill(Column::default());
        let (quads, rest) = to.as_chunks_mut::<4>();
        for (i, quad) in quads.iter_mut().enumerate() {
            for (to, column) in quad.iter_mut().zip(s.quads(rows, i * QUAD)) {
                to.0 = bytemuck::must_cast(s.byte_array16(column));
            }
        }
        for (i, to) in rest.iter_mut().enumerate() {
            to.0 =
                bytemuck::must_cast(s.byte_array16(s.words(rows, quads.len() * QUAD + i * size_of::<f32>())));
        }
    }

    /// Products of the sixteen with each of `x`, which are as long as they are.
    #[inline(always)]
    pub fn products<S: Simd, const R: usize>(&self, s: S, x: [&[f32]; R]) -> [[f32; ROWS]; R] {
        let full = x[0].len() / WIDTH;
        let eights = x.map(|x| &x.as_chunks::<WIDTH>().0[..full]);
        let (columns, last) = self.0.split_at(full);
        let mut sums = [[s.splat16(0.0); WIDTH]; R];
        for (i, columns) in columns.iter().enumerate() {
            add_products(s, &mut sums, eights.map(|eights| &eights[i]), columns);
        }
        for columns in last {
            let mut padded = [[0.0; WIDTH]; R];
            for (padded, x) in padded.iter_mut().zip(x) {
                padded[..x.len() - full * WIDTH].copy_from_slice(&x[full * WIDTH..]);
            }
            add_products(s, &mut sums, padded.each_ref(), columns);
        }
        let mut values = [[0.0; ROWS]; R];
        for (values, [a, b, c, d, e, f, g, h]) in values.iter_mut().zip(sums) {
            let low = s.add16(s.add16(a, c), s.add16(b, d));
            let high = s.add16(s.add16(e, g), s.add16(f, h));
            *values = s.array16(s.add16(low, high));
        }
        values
    }
}

/// Adds the products of eight columns, each to a lane of its own.
#[inline(always)]
fn add_products<S: Simd, const R: usize>(
    s: S,
    sums: &mut [[S::G; WIDTH]; R],
    x: [&[f32; WIDTH]; R],
    columns: &[Column; WIDTH],
) {
    for (lane, column) in columns.iter().enumerate() {
        let column = s.load16(&column.0);
        for (sums, x) in sums.iter_mut().zip(x) {
            sums[lane] = s.mul_add16(s.splat16(x[lane]), column, sums[lane]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::{Arch, Kernel};
    use super::*;

    struct Products<'a> {
        rows: Rows16<'a>,
        x: [&'a [f32]; 3],
    }

    impl Kernel for Products<'_> {
        type Output = [[f32; ROWS]; 3];

        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> Self::Output {
            let mut sixteen = Sixteen::default();
            sixteen.fill(s, self.rows);
            sixteen.products(s, self.x)
        }
    }

    /// The sum in eight lanes, one row with another.
    fn product(a: &[f32], b: &[f32]) -> f32 {
        let mut lanes = [0.0f32; WIDTH];
        for i in 0..a.len().next_multiple_of(WIDTH) {
            let [a, b] = [a, b].map(|x| x.get(i).copied().unwrap_or(0.0));
            lanes[i % WIDTH] = a.mul_add(b, lanes[i % WIDTH]);
        }
        let [a, b, c, d, e, f, g, h] = lanes;
        ((a + c) + (b + d)) + ((e + g) + (f + h))
    }

    #[test]
    fn sixteen_rows_together_give_the_bits_of_each_alone() {
        for columns in [1usize, 4, 7, 8, 13, 64, 100] {
            let value = |i: usize| ((i * i % 1013) as f32 * 0.37).sin();
            let rows: Vec<f32> = (0..ROWS * columns).map(value).collect();
            let x: Vec<f32> = (0..3 * columns).map(|i| value(i + 7)).collect();
            let row = |of: &[f32], r: usize| of[r * columns..][..columns].to_vec();
            let bytes = bytemuck::cast_slice(&rows);
            for arch in Arch::available() {
                let rows16 = Rows16::new(bytes, 4 * columns, 4 * columns).unwrap();
                let x16 = std::array::from_fn(|r| &x[r * columns..][..columns]);
                for (r, values) in arch.run(Products { rows: rows16, x: x16 }).iter().enumerate() {
                    let want = std::array::from_fn::<_, ROWS, _>(|c| product(&row(&rows, c), &row(&x, r)));
                    assert_eq!(values.map(f32::to_bits), want.map(f32::to_bits), "{columns} {}", arch.name());
                }
            }
        }
    }
}
