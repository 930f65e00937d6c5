//! The vectors against the scalar formulation, bit for bit.

use super::shape::{Input, Shape, lane_of_b};
use super::*;
use crate::memory::{WAVE, splitmix64};

impl Shape {
    fn of(op: Op) -> Self {
        let Matrix { m, k, blocks, a, b } = table::dense_matrix(op).unwrap();
        Self { m, k, blocks, a, b }
    }
}

/// Places of the operands in the file; C has 32 registers.
const A: usize = 0;
const B: usize = 2;
const C: usize = 4;
const D: usize = 36;
const FILE: usize = 68;

/// What the operands look like.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Any bits: all exponents, infinities, NaNs, denormals.
    Bits,
    /// Any bits of finite numbers.
    Finite,
    /// Around 1, as activations are.
    Usual,
    /// Few bits, few exponents: ties and cancellation.
    Coarse,
    /// Tiny numbers and zeros.
    Tiny,
    /// Usual, but a few infinities, NaNs and zeros.
    Sprinkled,
}

const KINDS: [Kind; 6] = [Kind::Bits, Kind::Finite, Kind::Usual, Kind::Coarse, Kind::Tiny, Kind::Sprinkled];

struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        splitmix64(&mut self.0) % end
    }

    /// A number of `fraction` and `exponent` bits, as bits.
    fn number(&mut self, kind: Kind, fraction: u32, exponent: u32) -> u64 {
        let sign = self.below(2) << (fraction + exponent);
        let any = splitmix64(&mut self.0);
        let digits = any & ((1 << fraction) - 1);
        let fields = 1u64 << exponent;
        let middle = fields / 2 - 1;
        let field = match kind {
            Kind::Bits => self.below(fields),
            Kind::Finite => self.below(fields - 1),
            Kind::Usual | Kind::Sprinkled => (middle + 2).saturating_sub(self.below(10)),
            Kind::Coarse => (middle + 1 - self.below(3).min(middle)) % fields,
            Kind::Tiny => self.below((fields / 6).max(3)),
        };
        let digits = match kind {
            Kind::Coarse => digits & (7 << (fraction.saturating_sub(2))),
            Kind::Bits | Kind::Sprinkled if field == fields - 1 && self.below(2) == 0 => 0,
            _ => digits,
        };
        match (kind, self.below(64)) {
            (Kind::Sprinkled, 0) => sign | ((fields - 1) << fraction),
            (Kind::Sprinkled, 1) => sign | ((fields - 1) << fraction) | digits,
            (Kind::Sprinkled | Kind::Tiny, 2..=12) | (_, 13) => sign,
            (Kind::Finite | Kind::Bits, 14..18) => sign | digits,
            _ => sign | (field << fraction) | digits,
        }
    }

    fn element(&mut self, kind: Kind, input: Input) -> u64 {
        match input {
            Input::F64 => self.number(kind, 52, 11),
            Input::F32 | Input::Xf32 => self.number(kind, 23, 8),
            Input::F16 => self.number(kind, 10, 5),
            Input::Bf16 => self.number(kind, 7, 8),
            Input::Fp8 => self.number(kind, 3, 4),
            Input::Bf8 => self.number(kind, 2, 5),
            Input::I8 => self.below(256),
        }
    }

    fn fill(&mut self, registers: &mut [Lanes], kind: Kind, input: Input) {
        for lane in 0..WAVE {
            let mut bits = 0;
            let mut have = 0;
            for register in registers.iter_mut() {
                if have == 0 {
                    for at in (0..64).step_by(input.bits()) {
                        bits |= self.element(kind, input) << at;
                    }
                    have = 64;
                }
                register[lane] = bits as u32;
                bits >>= 32;
                have -= 32;
            }
        }
    }
}

/// Runs an operation both ways on drawn operands.
fn compare(op: Op, draw: &mut Draw, kind: Kind, addend: Kind) {
    let (shape, (_, kernel)) = (Shape::of(op), operation(op).unwrap());
    let is_f64 = shape.a == Input::F64;
    let mut file = vec![[0; WAVE]; FILE];
    draw.fill(&mut file[A..B], kind, shape.a);
    draw.fill(&mut file[B..C], kind, shape.b);
    let result = match shape.a {
        Input::F64 => Input::F64,
        Input::I8 => Input::I8,
        _ => Input::F32,
    };
    draw.fill(&mut file[C..D], addend, result);
    let groups = (shape.blocks as u64).ilog2();
    let cbsz = if draw.below(4) == 0 { draw.below(u64::from(groups) + 1) as u8 } else { 0 };
    let control = Mfma {
        cbsz,
        abid: draw.below(1 << cbsz) as u8,
        blgp: if draw.below(3) == 0 { draw.below(8) as u8 } else { 0 },
    };
    // D apart from C, over it, partly so, or over A and B, too.
    let d = [D, C, C + 2, A][draw.below(4) as usize];
    let slots = Slots { a: A, b: B, c: C, d, constant: draw.below(8) == 0 };
    let before = file.clone();
    kernel(&mut file, slots, control);
    let mut b = [before[B], before[B + 1]];
    if !is_f64 {
        b = b.map(|lanes| std::array::from_fn(|lane| lanes[lane_of_b(control.blgp, lane)]));
    }
    let factors = Factors { a: [&before[A], &before[A + 1]], b: [&b[0], &b[1]], control };
    for r in 0..shape.results() {
        let from = if slots.constant { C } else { C + r * if is_f64 { 2 } else { 1 } };
        for lane in 0..WAVE {
            let pair =
                |file: &[Lanes], at: usize| u64::from(file[at][lane]) | (u64::from(file[at + 1][lane]) << 32);
            let (got, expected) = if is_f64 {
                let expected = scalar::result_f64(shape, &factors, r, lane, pair(&before, from));
                (pair(&file, d + 2 * r), expected)
            } else {
                let expected = scalar::result(shape, &factors, r, lane, before[from][lane]);
                (file[d + r][lane].into(), expected.into())
            };
            let what = format!("{} {kind:?} + {addend:?}, {slots:?}, {control:?}", op.mnemonic());
            assert_eq!(got, expected, "{what}: register {r} lane {lane}: {got:#x}, not {expected:#x}");
        }
    }
}

fn operations() -> impl Iterator<Item = Op> {
    table::mai::MAI.iter().map(|row| row.op).filter(|&op| table::dense_matrix(op).is_some())
}

/// Tiles per operation: `ASSAY_MATRIX_TILES`, or enough for a million results of all operations together.
fn tiles() -> usize {
    std::env::var("ASSAY_MATRIX_TILES").ok().and_then(|count| count.parse().ok()).unwrap_or(72)
}

fn compare_all() {
    for (seed, op) in (1..).zip(operations()) {
        let mut draw = Draw(seed);
        for tile in 0..tiles() {
            compare(op, &mut draw, KINDS[tile % 6], KINDS[tile / 6 % 6]);
        }
    }
}

#[test]
fn every_operation_gives_the_bits_of_the_scalar_formulation() {
    compare_all();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn fewer_vectors_give_the_same_bits() {
    use crate::wide::{Vectors, limit};
    for vectors in [Vectors::Baseline, Vectors::Avx2] {
        limit::with(vectors, compare_all);
    }
}

#[test]
fn every_operation_is_known() {
    assert_eq!(operations().filter(|&op| operation(op).is_none()).count(), 0);
    assert!(operations().count() >= 32);
}
