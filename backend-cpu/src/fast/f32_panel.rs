//! Packed panels of sixteen rows of f32, and the micro-kernel that multiplies them with a few rows of the other operand.
//!
//! A panel is transposed: a vector has one value of each row. A dot product is a sum in eight lanes over the columns, as for rows that are
//! multiplied one by one ([`Simd::reduce_add`]), with the same roundings. Here each of the eight lanes is a vector that sixteen dot
//! products share, so adding up the lanes needs no shuffles.

use super::simd::{PANEL_ROWS, RowPanel, Simd, WIDTH};

/// Rows of the other operand in a register tile: as many as there are registers for.
pub const TILE_ROWS: usize = 3;

/// One value of each row.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Column([f32; PANEL_ROWS]);

/// A packed panel: [`PANEL_ROWS`] rows, column by column, zero-padded to a multiple of [`WIDTH`] columns.
#[derive(Default)]
pub struct F32Panel(Vec<[Column; WIDTH]>);

impl F32Panel {
    /// Packs rows of f32.
    #[inline(always)]
    pub fn pack<S: Simd>(&mut self, s: S, rows: RowPanel<'_>) {
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

    /// The micro-kernel: dot products of each row of `x` with each row of the panel, all of one length.
    #[inline(always)]
    pub fn multiply<S: Simd, const R: usize>(&self, s: S, x: [&[f32]; R]) -> [[f32; PANEL_ROWS]; R] {
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
        let mut values = [[0.0; PANEL_ROWS]; R];
        for (values, [a, b, c, d, e, f, g, h]) in values.iter_mut().zip(sums) {
            let low = s.add16(s.add16(a, c), s.add16(b, d));
            let high = s.add16(s.add16(e, g), s.add16(f, h));
            *values = s.array16(s.add16(low, high));
        }
        values
    }
}

/// Adds the products of eight columns, each to its own lane.
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
        rows: RowPanel<'a>,
        x: [&'a [f32]; 3],
    }

    impl Kernel for Products<'_> {
        type Output = [[f32; PANEL_ROWS]; 3];

        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> Self::Output {
            let mut panel = F32Panel::default();
            panel.pack(s, self.rows);
            panel.multiply(s, self.x)
        }
    }

    /// The dot product in eight lanes.
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
    fn a_panel_gives_the_bits_of_each_row_alone() {
        for columns in [1usize, 4, 7, 8, 13, 64, 100] {
            let value = |i: usize| ((i * i % 1013) as f32 * 0.37).sin();
            let rows: Vec<f32> = (0..PANEL_ROWS * columns).map(value).collect();
            let x: Vec<f32> = (0..3 * columns).map(|i| value(i + 7)).collect();
            let row = |of: &[f32], r: usize| of[r * columns..][..columns].to_vec();
            let bytes = bytemuck::cast_slice(&rows);
            for arch in Arch::available() {
                let panel = RowPanel::new(bytes, 4 * columns, 4 * columns).unwrap();
                let x_rows = std::array::from_fn(|r| &x[r * columns..][..columns]);
                for (r, values) in arch.run(Products { rows: panel, x: x_rows }).iter().enumerate() {
                    let want =
                        std::array::from_fn::<_, PANEL_ROWS, _>(|c| product(&row(&rows, c), &row(&x, r)));
                    assert_eq!(values.map(f32::to_bits), want.map(f32::to_bits), "{columns} {}", arch.name());
                }
            }
        }
    }
}
