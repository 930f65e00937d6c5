//! The operations on eight lanes in plain Rust.

use super::super::float16::{narrow, widen, widen_bf16};
use super::vector::{Kernel, Simd};

/// Needs nothing of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Portable;

type Bytes = [u8; 32];

fn each(f: impl Fn(usize) -> f32) -> [f32; 8] {
    std::array::from_fn(f)
}

fn ints(x: Bytes) -> [i32; 8] {
    bytemuck::must_cast(x)
}

fn each_int(f: impl Fn(usize) -> i32) -> Bytes {
    bytemuck::must_cast::<[i32; 8], _>(std::array::from_fn(f))
}

impl Simd for Portable {
    type F = [f32; 8];
    type I = Bytes;

    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    fn splat(self, x: f32) -> [f32; 8] {
        [x; 8]
    }

    fn load(self, x: &[f32; 8]) -> [f32; 8] {
        *x
    }

    fn load_bytes(self, x: &[u8; 32]) -> [f32; 8] {
        bytemuck::must_cast(*x)
    }

    fn f16_to_f32(self, x: [u16; 8]) -> [f32; 8] {
        x.map(widen)
    }

    fn bf16_to_f32(self, x: [u16; 8]) -> [f32; 8] {
        x.map(widen_bf16)
    }

    fn f32_to_f16(self, x: [f32; 8]) -> [u16; 8] {
        x.map(narrow)
    }

    fn array(self, x: [f32; 8]) -> [f32; 8] {
        x
    }

    fn add(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        each(|i| a[i] + b[i])
    }

    fn sub(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        each(|i| a[i] - b[i])
    }

    fn mul(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        each(|i| a[i] * b[i])
    }

    fn div(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        each(|i| a[i] / b[i])
    }

    fn mul_add(self, a: [f32; 8], b: [f32; 8], c: [f32; 8]) -> [f32; 8] {
        each(|i| a[i].mul_add(b[i], c[i]))
    }

    fn max(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        each(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }

    fn min(self, a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        each(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }

    fn abs(self, a: [f32; 8]) -> [f32; 8] {
        a.map(f32::abs)
    }

    fn scale_by_power(self, x: [f32; 8], n: Bytes) -> [f32; 8] {
        let n = ints(n);
        each(|i| f32::from_bits(x[i].to_bits().wrapping_add((n[i] << 23).cast_unsigned())))
    }

    fn zero_where_below(self, x: [f32; 8], a: [f32; 8], b: [f32; 8]) -> [f32; 8] {
        each(|i| if a[i] < b[i] { 0.0 } else { x[i] })
    }

    #[expect(clippy::cast_possible_truncation, reason = "the operation's condition")]
    fn nearest(self, x: [f32; 8]) -> Bytes {
        each_int(|i| x[i].round_ties_even() as i32)
    }

    fn floats(self, x: Bytes) -> [f32; 8] {
        ints(x).map(|x| x as f32)
    }

    fn reduce_max(self, x: [f32; 8]) -> f32 {
        x.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }

    fn reduce_add(self, x: [f32; 8]) -> f32 {
        ((x[0] + x[2]) + (x[1] + x[3])) + ((x[4] + x[6]) + (x[5] + x[7]))
    }

    fn reduce_add_rows(self, x: [[f32; 8]; 8]) -> [f32; 8] {
        x.map(|x| self.reduce_add(x))
    }

    fn bytes(self, x: &[u8; 32]) -> Bytes {
        *x
    }

    fn splat_int(self, x: i32) -> Bytes {
        each_int(|_| x)
    }

    fn int_array(self, x: Bytes) -> [i32; 8] {
        ints(x)
    }

    fn or(self, a: Bytes, b: Bytes) -> Bytes {
        std::array::from_fn(|i| a[i] | b[i])
    }

    fn add_ints(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (ints(a), ints(b));
        each_int(|i| a[i].wrapping_add(b[i]))
    }

    fn narrow(self, x: [Bytes; 4]) -> [u8; 32] {
        let x = x.map(ints);
        std::array::from_fn(|i| x[i / 8][i % 8].to_le_bytes()[0])
    }
}
