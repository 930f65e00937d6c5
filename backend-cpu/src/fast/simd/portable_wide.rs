//! The operations on sixteen lanes in plain Rust.

use super::portable::Portable;
use super::row_panel::RowPanel;
use super::wide::Wide;
use crate::fast::float16::widen;

type Bytes = [u8; 64];

fn ints(x: Bytes) -> [i32; 16] {
    bytemuck::must_cast(x)
}

fn each_int(f: impl Fn(usize) -> i32) -> Bytes {
    bytemuck::must_cast::<[i32; 16], _>(std::array::from_fn(f))
}

impl Wide for Portable {
    type G = [f32; 16];
    type W = Bytes;

    const MANY_REGISTERS: bool = false;
    const BIAS: i32 = 0;

    fn quads(self, rows: RowPanel<'_>, at: usize) -> [Bytes; 4] {
        let columns = rows.columns::<16>(at);
        std::array::from_fn(|q| std::array::from_fn(|i| columns.row(i / 4)[4 * q + i % 4]))
    }

    fn words(self, rows: RowPanel<'_>, at: usize) -> Bytes {
        let columns = rows.columns::<4>(at);
        std::array::from_fn(|i| columns.row(i / 4)[i % 4])
    }

    fn bytes16(self, x: &Bytes) -> Bytes {
        *x
    }

    fn byte_array16(self, x: Bytes) -> Bytes {
        x
    }

    fn ints16(self, x: &[i32; 16]) -> Bytes {
        bytemuck::must_cast(*x)
    }

    fn int_array16(self, x: Bytes) -> [i32; 16] {
        ints(x)
    }

    fn splat_int16(self, x: i32) -> Bytes {
        each_int(|_| x)
    }

    fn field16(self, x: Bytes, shift: u32, mask: u8) -> Bytes {
        x.map(|byte| (byte >> shift) & mask)
    }

    fn word_field16(self, x: Bytes, shift: u32, mask: u32) -> Bytes {
        each_int(|i| ((ints(x)[i].cast_unsigned() >> shift) & mask).cast_signed())
    }

    fn signed_byte16(self, x: Bytes, index: u32) -> Bytes {
        each_int(|i| (ints(x)[i] << (24 - 8 * index)) >> 24)
    }

    fn or_shifted16(self, a: Bytes, b: Bytes, shift: u32) -> Bytes {
        std::array::from_fn(|i| a[i] | b[i] << shift)
    }

    fn bits16(self, x: Bytes, quad: u32, value: u8) -> Bytes {
        let x = ints(x);
        std::array::from_fn(|i| if x[i / 4] >> (4 * quad) >> (i % 4) & 1 == 1 { value } else { 0 })
    }

    fn table_lookup16(self, table: &[i8; 16], x: Bytes) -> Bytes {
        x.map(|byte| table[usize::from(byte & 15)].cast_unsigned())
    }

    fn biased16(self, x: Bytes) -> Bytes {
        x
    }

    fn dot16(self, sum: Bytes, codes: Bytes, x: i32) -> Bytes {
        let x = x.to_le_bytes().map(|x| i32::from(x.cast_signed()));
        let product = |i: usize, j: usize| i32::from(codes[4 * i + j]) * x[j];
        each_int(|i| ints(sum)[i].wrapping_add(product(i, 0) + product(i, 1) + product(i, 2) + product(i, 3)))
    }

    fn dot_biased16(self, sum: Bytes, codes: Bytes, x: i32) -> Bytes {
        let x = x.to_le_bytes().map(|x| i32::from(x.cast_signed()));
        let product = |i: usize, j: usize| i32::from(codes[4 * i + j].cast_signed()) * x[j];
        each_int(|i| ints(sum)[i].wrapping_add(product(i, 0) + product(i, 1) + product(i, 2) + product(i, 3)))
    }

    fn add_ints16(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (ints(a), ints(b));
        each_int(|i| a[i].wrapping_add(b[i]))
    }

    fn mul_ints16(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (ints(a), ints(b));
        each_int(|i| a[i].wrapping_mul(b[i]))
    }

    fn floats16(self, x: Bytes) -> [f32; 16] {
        ints(x).map(|x| x as f32)
    }

    fn low_f16_to_f32_16(self, x: Bytes) -> [f32; 16] {
        std::array::from_fn(|i| widen(u16::from_le_bytes([x[4 * i], x[4 * i + 1]])))
    }

    fn splat16(self, x: f32) -> [f32; 16] {
        [x; 16]
    }

    fn load16(self, x: &[f32; 16]) -> [f32; 16] {
        *x
    }

    fn array16(self, x: [f32; 16]) -> [f32; 16] {
        x
    }

    fn add16(self, a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i] + b[i])
    }

    fn mul16(self, a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i] * b[i])
    }

    fn mul_add16(self, a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }
}
