//! All sets of operations agree, bit for bit.

use kernels::SplitMix64;

use super::portable::Portable;
use super::{Arch, Kernel, RowPanel, Simd};

/// A vector of random bits.
fn vector(random: &mut SplitMix64) -> [u8; 32] {
    bytemuck::must_cast::<[u64; 4], _>(std::array::from_fn(|_| random.next_u64()))
}

/// Every operation on one set of inputs, as bits.
#[derive(Clone, Copy)]
struct Everything {
    a: [u8; 32],
    b: [u8; 32],
    rows: [[u8; 32]; 8],
}

/// f32 of moderate size made of bits.
fn moderate(x: [u8; 32]) -> [f32; 8] {
    bytemuck::must_cast::<_, [i32; 8]>(x).map(|x| x as f32 / 65_536.0)
}

impl Kernel for Everything {
    type Output = Vec<[u32; 8]>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Vec<[u32; 8]> {
        let (a, b) = (s.load(&moderate(self.a)), s.load(&moderate(self.b)));
        let halves: [u16; 16] = bytemuck::must_cast(self.a);
        let halves = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| halves[i] & 0xfbff);
        let floats = [
            s.splat(1.5),
            s.load_bytes(&bytemuck::must_cast(moderate(self.a))),
            s.f16_to_f32(halves),
            s.bf16_to_f32(halves),
            s.add(a, b),
            s.sub(a, b),
            s.mul(a, b),
            s.div(a, b),
            s.mul_add(a, b, a),
            s.max(a, b),
            s.min(a, b),
            s.abs(a),
            s.max(s.splat(f32::NAN), b),
            s.max(a, s.splat(f32::NAN)),
            s.scale_by_power(a, s.splat_int(-3)),
            s.zero_where_below(a, b, s.splat(0.0)),
            s.floats(s.bytes(&self.a)),
            s.splat(s.reduce_add(a)),
            s.splat(s.reduce_max(a)),
            s.reduce_add_rows(self.rows.map(|row| s.load(&moderate(row)))),
        ];
        let (x, y) = (s.bytes(&self.a), s.bytes(&self.b));
        let small = s.splat_int(i32::from(self.a[0].cast_signed()));
        let ints = [s.nearest(a), s.or(x, y), s.add_ints(x, y), s.splat_int(-3)];
        let mut bits: Vec<[u32; 8]> = floats.map(|f| s.array(f).map(f32::to_bits)).into();
        bits.extend(ints.into_iter().map(|i| s.int_array(i).map(i32::cast_unsigned)));
        bits.push(bytemuck::must_cast([s.f32_to_f16(a), s.f32_to_f16(b)]));
        bits.push(bytemuck::must_cast(s.narrow([small, s.splat_int(-127), s.splat_int(127), small])));
        bits
    }
}

/// Every operation on wide lanes, as bits.
#[derive(Clone, Copy)]
struct EverythingWide {
    /// Rows of 20 bytes and some that belong to no row.
    rows: [[u8; 32]; 16],
    x: i32,
}

/// f32 of moderate size made of bits.
fn moderate16(x: [u8; 64]) -> [f32; 16] {
    bytemuck::must_cast::<_, [i32; 16]>(x).map(|x| x as f32 / 65_536.0)
}

impl Kernel for EverythingWide {
    type Output = Vec<[u32; 16]>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Vec<[u32; 16]> {
        let bytes = self.rows.as_flattened();
        let rows =
            RowPanel::new(&bytes[..15 * 32 + 20], 32, 20).unwrap_or_else(|| unreachable!("so many bytes"));
        let [a, b, c, d] = s.quads(rows, 3);
        let sum_of_x: i32 = self.x.to_le_bytes().iter().map(|x| i32::from(x.cast_signed())).sum();
        let biased = s.dot_biased16(c, s.biased16(a), self.x);
        let mut ints = vec![
            a,
            b,
            c,
            d,
            s.words(rows, 16),
            s.ints16(&s.int_array16(a)),
            s.bytes16(&s.byte_array16(b)),
            s.splat_int16(self.x),
            s.field16(a, 0, 15),
            s.field16(a, 4, 15),
            s.field16(b, 6, 3),
            s.word_field16(b, 16, 0xffff),
            s.word_field16(b, 5, 63),
            s.or_shifted16(s.field16(a, 0, 15), s.field16(b, 0, 3), 4),
            s.table_lookup16(
                &[-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113],
                s.field16(c, 0, 15),
            ),
            s.dot16(d, s.field16(a, 1, 127), self.x),
            s.add_ints16(biased, s.splat_int16(-S::BIAS * sum_of_x)),
            s.add_ints16(a, b),
            s.mul_ints16(a, b),
        ];
        for index in 0..4 {
            ints.push(s.signed_byte16(d, index));
        }
        for quad in 0..8 {
            ints.push(s.bits16(d, quad, 16));
        }
        let (x, y) = (s.load16(&moderate16(s.byte_array16(a))), s.load16(&moderate16(s.byte_array16(b))));
        let floats = [
            x,
            s.splat16(0.1),
            s.mul16(x, y),
            s.mul_add16(x, y, s.splat16(-3.0)),
            s.floats16(c),
            // Without the bit that makes a NaN of a half.
            s.low_f16_to_f32_16(s.word_field16(d, 0, 0xfbff)),
        ];
        let mut bits: Vec<_> = ints.into_iter().map(|i| s.int_array16(i).map(i32::cast_unsigned)).collect();
        bits.extend(floats.map(|f| s.array16(f).map(f32::to_bits)));
        bits
    }
}

#[test]
fn the_instructions_do_what_plain_rust_does() {
    let mut random = SplitMix64::new(3);
    let mut next = || vector(&mut random);
    for round in 0..2000 {
        let inputs = Everything { a: next(), b: next(), rows: std::array::from_fn(|_| next()) };
        // No −128 among the activations.
        let x =
            i32::from_le_bytes([0, 1, 2, 3].map(|i| if inputs.a[i] == 0x80 { 0x81 } else { inputs.a[i] }));
        let wide = EverythingWide { rows: std::array::from_fn(|_| next()), x };
        for arch in Arch::available() {
            assert_eq!(arch.run(inputs), Portable.run(inputs), "{arch:?}, round {round}");
            assert_eq!(arch.run(wide), Portable.run(wide), "{arch:?}, round {round}");
        }
    }
}
