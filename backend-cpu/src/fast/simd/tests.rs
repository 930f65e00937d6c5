//! Both sets of operations agree, bit for bit.

use super::portable::Portable;
use super::{Arch, Kernel, Simd};

/// Vectors of pseudo-random bits.
fn vectors(seed: u64) -> impl Iterator<Item = [u8; 32]> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        std::array::from_fn(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
    })
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
            s.halves(halves),
            s.brain_halves(halves),
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
            s.splat(s.total(a)),
            s.totals(self.rows.map(|row| s.load(&moderate(row)))),
        ];
        let (x, y) = (s.bytes(&self.a), s.bytes(&self.b));
        let not_lowest = s.bytes(&self.b.map(|b| if b == 0x80 { 0x81 } else { b }));
        let [first, .., last] = self.rows.map(|row| s.bytes(&row));
        let nibbles = s.nibbles(&bytemuck::must_cast::<_, [[u8; 16]; 2]>(self.a)[0]);
        let mut ints = vec![
            s.nearest(a),
            s.shorts(&bytemuck::must_cast(self.a)),
            s.splat_halves(-3, 77),
            s.or(x, y),
            s.field(x, 3, 7),
            s.field(x, 4, 15),
            nibbles,
            s.bits(0xdead_beef, 16),
            s.look_up(&[-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], nibbles),
            s.dot_unsigned(s.field(x, 1, 127), y),
            s.dot_signed(x, not_lowest),
            s.dot_shorts(s.widen_signed(x)[0], s.widen_signed(y)[1]),
            s.add_ints(x, y),
            s.sub_ints(x, y),
            s.sub_shorts(x, y),
            s.mul_shorts(x, y),
            s.shift_ints(x, 5),
            s.sums(self.rows.map(|row| s.field(s.bytes(&row), 4, 15))),
            first,
            last,
        ];
        ints.extend(s.widen_unsigned(x));
        ints.extend(s.widen_signed(x));
        ints.extend(s.transpose(self.rows.map(|row| s.bytes(&row))));
        let mut bits: Vec<[u32; 8]> = floats.map(|f| s.array(f).map(f32::to_bits)).into();
        bits.extend(ints.into_iter().map(|i| s.int_array(i).map(i32::cast_unsigned)));
        bits.push(bytemuck::must_cast([s.to_halves(a), s.to_halves(b)]));
        bits.push(bytemuck::must_cast(s.short_array(x)));
        bits
    }
}

#[test]
fn the_instructions_do_what_plain_rust_does() {
    let mut source = vectors(3);
    let mut next = || source.next().unwrap_or_default();
    for round in 0..2000 {
        let inputs = Everything { a: next(), b: next(), rows: std::array::from_fn(|_| next()) };
        assert_eq!(Arch::detect().run(inputs), Portable.run(inputs), "round {round}");
    }
}
