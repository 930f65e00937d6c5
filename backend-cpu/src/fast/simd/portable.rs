//! The vector operations by plain Rust.

use super::super::blocks::{narrow, widen, widen_bf16};
use super::{Kernel, Simd};

/// Needs nothing of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Portable;

type Bytes = [u8; 32];

fn each(f: impl Fn(usize) -> f32) -> [f32; 8] {
    std::array::from_fn(f)
}

fn shorts(x: Bytes) -> [i16; 16] {
    bytemuck::must_cast(x)
}

fn ints(x: Bytes) -> [i32; 8] {
    bytemuck::must_cast(x)
}

fn each_short(f: impl Fn(usize) -> i16) -> Bytes {
    bytemuck::must_cast::<[i16; 16], _>(std::array::from_fn(f))
}

fn each_int(f: impl Fn(usize) -> i32) -> Bytes {
    bytemuck::must_cast::<[i32; 8], _>(std::array::from_fn(f))
}

/// Sums of neighbouring products, as i16.
fn dot_bytes(f: impl Fn(usize) -> i32) -> Bytes {
    #[expect(clippy::cast_possible_truncation, reason = "the operation's condition")]
    each_short(|i| (f(2 * i) + f(2 * i + 1)) as i16)
}

impl Simd for Portable {
    type F = [f32; 8];
    type I = Bytes;

    fn run<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    fn prefetch(self, _: &[u8], _: usize) {}

    fn splat(self, x: f32) -> [f32; 8] {
        [x; 8]
    }

    fn load(self, x: &[f32; 8]) -> [f32; 8] {
        *x
    }

    fn load_bytes(self, x: &[u8; 32]) -> [f32; 8] {
        bytemuck::must_cast(*x)
    }

    fn halves(self, x: [u16; 8]) -> [f32; 8] {
        x.map(widen)
    }

    fn brain_halves(self, x: [u16; 8]) -> [f32; 8] {
        x.map(widen_bf16)
    }

    fn to_halves(self, x: [f32; 8]) -> [u16; 8] {
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

    fn total(self, x: [f32; 8]) -> f32 {
        ((x[0] + x[2]) + (x[1] + x[3])) + ((x[4] + x[6]) + (x[5] + x[7]))
    }

    fn totals(self, x: [[f32; 8]; 8]) -> [f32; 8] {
        x.map(|x| self.total(x))
    }

    fn bytes(self, x: &[u8; 32]) -> Bytes {
        *x
    }

    fn shorts(self, x: &[i16; 16]) -> Bytes {
        bytemuck::must_cast(*x)
    }

    fn splat_int(self, x: i32) -> Bytes {
        each_int(|_| x)
    }

    fn splat_halves(self, low: i16, high: i16) -> Bytes {
        each_short(|i| if i < 8 { low } else { high })
    }

    fn short_array(self, x: Bytes) -> [i16; 16] {
        shorts(x)
    }

    fn int_array(self, x: Bytes) -> [i32; 8] {
        ints(x)
    }

    fn or(self, a: Bytes, b: Bytes) -> Bytes {
        std::array::from_fn(|i| a[i] | b[i])
    }

    fn field(self, x: Bytes, shift: i32, mask: u8) -> Bytes {
        x.map(|byte| (byte >> shift) & mask)
    }

    fn nibbles(self, x: &[u8; 16]) -> Bytes {
        std::array::from_fn(|i| if i < 16 { x[i] & 15 } else { x[i - 16] >> 4 })
    }

    fn bits(self, bits: u32, value: u8) -> Bytes {
        std::array::from_fn(|i| if bits >> i & 1 == 1 { value } else { 0 })
    }

    fn look_up(self, table: &[i8; 16], x: Bytes) -> Bytes {
        x.map(|byte| table[usize::from(byte & 15)].cast_unsigned())
    }

    fn dot_unsigned(self, a: Bytes, b: Bytes) -> Bytes {
        dot_bytes(|i| i32::from(a[i]) * i32::from(b[i].cast_signed()))
    }

    fn dot_signed(self, a: Bytes, b: Bytes) -> Bytes {
        dot_bytes(|i| i32::from(a[i].cast_signed()) * i32::from(b[i].cast_signed()))
    }

    fn dot_shorts(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (shorts(a).map(i32::from), shorts(b).map(i32::from));
        each_int(|i| a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1])
    }

    fn add_ints(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (ints(a), ints(b));
        each_int(|i| a[i].wrapping_add(b[i]))
    }

    fn sub_ints(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (ints(a), ints(b));
        each_int(|i| a[i].wrapping_sub(b[i]))
    }

    fn sub_shorts(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (shorts(a), shorts(b));
        each_short(|i| a[i].wrapping_sub(b[i]))
    }

    fn mul_shorts(self, a: Bytes, b: Bytes) -> Bytes {
        let (a, b) = (shorts(a), shorts(b));
        each_short(|i| a[i].wrapping_mul(b[i]))
    }

    fn shift_ints(self, a: Bytes, shift: i32) -> Bytes {
        each_int(|i| ints(a)[i] << shift)
    }

    fn widen_unsigned(self, x: Bytes) -> [Bytes; 2] {
        [0, 16].map(|at| each_short(|i| i16::from(x[at + i])))
    }

    fn widen_signed(self, x: Bytes) -> [Bytes; 2] {
        [0, 16].map(|at| each_short(|i| i16::from(x[at + i].cast_signed())))
    }

    fn sums(self, x: [Bytes; 8]) -> Bytes {
        each_int(|r| ints(x[r]).iter().sum())
    }

    fn transpose(self, x: [Bytes; 8]) -> [Bytes; 8] {
        let x = x.map(ints);
        std::array::from_fn(|r| each_int(|c| x[c][r]))
    }
}
