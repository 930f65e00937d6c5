//! Matrix multiply-accumulate: `D = A · B + C` by all 64 lanes, whatever EXEC says.
//!
//! A holds `m × k`, B `k × n`, C and D `m × n` numbers per block. Lane `l` holds row (of A) or column (of B)
//! `l % m`; the lanes with the same row hold different blocks, or consecutive stretches of `k`. In D, lane `l`
//! holds column `l % n`, and each register four rows apart as [`Shape::row`] says.

mod sum;

use super::core::cx::{Cx, Handler, Step};
use super::core::uop::Uop;
use super::float::fp8::{BF8, FP8};
use super::float::{f32_of_f16, fma};
use crate::isa::inst::Mfma;
use crate::isa::table::matrix::{Element as Number, Matrix};
use crate::isa::{Mods, Op, Operand, table};
use crate::memory::{Lanes, WAVE};
use crate::wide::{Job, widest};
use sum::{Element, fused};

/// Number formats of A and B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    F64,
    F32,
    Xf32,
    F16,
    Bf16,
    Fp8,
    Bf8,
    I8,
}

impl Input {
    const fn bits(self) -> usize {
        match self {
            Self::F64 => 64,
            Self::F32 | Self::Xf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::Fp8 | Self::Bf8 | Self::I8 => 8,
        }
    }

    const fn of(number: Number) -> Self {
        match number {
            Number::F64 => Self::F64,
            Number::F32 => Self::F32,
            Number::Xf32 => Self::Xf32,
            Number::F16 => Self::F16,
            Number::Bf16 => Self::Bf16,
            Number::Fp8 => Self::Fp8,
            Number::Bf8 => Self::Bf8,
            Number::I8 => Self::I8,
        }
    }
}

/// The shape and formats of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    /// Rows of A and D; also columns of B and D.
    m: usize,
    k: usize,
    blocks: usize,
    a: Input,
    b: Input,
}

impl Shape {
    /// From the table; `None` if the operation is no dense product.
    fn of(op: Op) -> Option<Self> {
        let Matrix { m, k, blocks, a, b } = table::dense_matrix(op)?;
        Some(Self { m, k, blocks, a: Input::of(a), b: Input::of(b) })
    }

    /// Elements of A, or of B, in one lane.
    const fn per_lane(self) -> usize {
        self.m * self.k * self.blocks / WAVE
    }

    /// The lane and the element within it that hold element `k` of row (or column) `i` of a block.
    const fn place(self, block: usize, i: usize, k: usize) -> (usize, usize) {
        if matches!(self.a, Input::F64) && self.blocks > 1 {
            // 4x4x4 f64: the lanes run over rows, then blocks, then k.
            return (i + self.m * (block + self.blocks * k), 0);
        }
        let per_lane = self.per_lane();
        let stretch = if self.blocks > 1 { block } else { k / per_lane };
        (i + self.m * stretch, k % per_lane)
    }

    /// The block and row that register `r` of `lane` holds in D.
    const fn row(self, r: usize, lane: usize) -> (usize, usize) {
        match (self.m, self.a) {
            (4, Input::F64) => ((lane / 4) % 4, lane / 16),
            (_, Input::F64) => (0, 4 * r + lane / 16),
            (32, _) => (r / 16, 8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4),
            (16, _) => (r / 4, 4 * (lane / 16) + r % 4),
            _ => (lane / 4, r),
        }
    }

    /// Registers (pairs for f64) of D.
    const fn results(self) -> usize {
        self.m * self.m * self.blocks / WAVE
    }
}

/// The block of A that a block of the product uses, under the broadcast controls.
const fn broadcast(control: Mfma, block: usize) -> usize {
    let group = 1 << control.cbsz;
    block / group * group + (control.abid as usize) % group
}

/// The lane whose B a lane uses, under the lane-group pattern.
const fn lane_of_b(blgp: u8, lane: usize) -> usize {
    match blgp {
        1 => lane % 32,
        2 => 32 + lane % 32,
        3 => (lane + 16) % 64,
        4 => lane % 16,
        5 => 16 + lane % 16,
        6 => 32 + lane % 16,
        7 => 48 + lane % 16,
        _ => lane,
    }
}

/// Element `e` of a lane, as bits.
fn bits(file: &[Lanes], first: usize, lane: usize, e: usize, width: usize) -> u64 {
    if width == 64 {
        return u64::from(file[first + 2 * e][lane]) | (u64::from(file[first + 2 * e + 1][lane]) << 32);
    }
    let at = e * width;
    let word = file[first + at / 32][lane] >> (at % 32);
    u64::from(word) & (u64::MAX >> (64 - width))
}

/// One operand row or column: the bits of its `k` elements.
fn gather(
    file: &[Lanes],
    first: usize,
    shape: Shape,
    input: Input,
    block: usize,
    i: usize,
    blgp: u8,
) -> Vec<u64> {
    (0..shape.k)
        .map(|k| {
            let (lane, element) = shape.place(block, i, k);
            bits(file, first, lane_of_b(blgp, lane), element, input.bits())
        })
        .collect()
}

fn multiply(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (Some(shape), Mods::Mfma(control)) = (Shape::of(u.inst.op), u.inst.mods) else {
        return c.unsupported(u, "shape");
    };
    if shape.a == Input::F64 {
        return multiply_f64(c, u, shape, control);
    }
    if shape.a == Input::F32 && shape.blocks == 1 && control.blgp == 0 {
        return multiply_f32(c, u, shape);
    }
    let file = &c.wave.v;
    let (a, b) = (usize::from(u.src[0]), usize::from(u.src[1]));
    let mut rows = Vec::with_capacity(shape.blocks * shape.m);
    let mut columns = Vec::with_capacity(shape.blocks * shape.m);
    for block in 0..shape.blocks {
        for i in 0..shape.m {
            rows.push(gather(file, a, shape, shape.a, broadcast(control, block), i, 0));
            columns.push(gather(file, b, shape, shape.b, block, i, control.blgp));
        }
    }
    let rows: Vec<Vec<Element>> = rows.iter().map(|row| elements(row, shape.a)).collect();
    let columns: Vec<Vec<Element>> = columns.iter().map(|column| elements(column, shape.b)).collect();
    let mut results = vec![[0; WAVE]; shape.results()];
    for (r, register) in results.iter_mut().enumerate() {
        for (lane, out) in register.iter_mut().enumerate() {
            let (block, row) = shape.row(r, lane);
            let (row, column) = (&rows[block * shape.m + row], &columns[block * shape.m + lane % shape.m]);
            *out = dot(shape.a, row, column, addend(c, u, r, lane));
        }
    }
    c.wave.v[usize::from(u.dst)..][..results.len()].copy_from_slice(&results);
    Step::Next
}

/// One block of f32 by f32, as [`multiply`] does it but straight from the registers.
fn multiply_f32(c: &mut Cx<'_>, u: &Uop, shape: Shape) -> Step {
    let lanes = |operand: usize| c.wave.v[usize::from(u.src[operand])].map(f32::from_bits);
    let (a, b) = (lanes(0), lanes(1));
    let mut results = [[0; WAVE]; 16];
    for (r, register) in results.iter_mut().enumerate().take(shape.results()) {
        let sums = std::array::from_fn(|lane| f32::from_bits(addend(c, u, r, lane)));
        *register = widest(Chains { shape, a: &a, b: &b, r, sums }).map(f32::to_bits);
    }
    c.wave.v[usize::from(u.dst)..][..shape.results()].copy_from_slice(&results[..shape.results()]);
    Step::Next
}

/// Register `r` of D: in each lane a chain of fused multiply-adds over `k`, begun with C.
struct Chains<'a> {
    shape: Shape,
    a: &'a [f32; WAVE],
    b: &'a [f32; WAVE],
    r: usize,
    sums: [f32; WAVE],
}

impl Job for Chains<'_> {
    type Out = [f32; WAVE];

    #[inline(always)]
    fn run(mut self) -> Self::Out {
        let rows: [usize; WAVE] = std::array::from_fn(|lane| self.shape.row(self.r, lane).1);
        for k in 0..self.shape.k {
            let first = self.shape.m * k;
            let x: [f32; WAVE] = std::array::from_fn(|lane| self.a[(first + rows[lane]) % WAVE]);
            let y: [f32; WAVE] =
                std::array::from_fn(|lane| self.b[(first + (lane & (self.shape.m - 1))) % WAVE]);
            for lane in 0..WAVE {
                self.sums[lane] = fma(x[lane], y[lane], self.sums[lane]);
            }
        }
        self.sums
    }
}

/// C at a register and lane; a constant is the same everywhere.
fn addend(c: &Cx<'_>, u: &Uop, r: usize, lane: usize) -> u32 {
    let first = usize::from(u.src[2]);
    match u.inst.src[2] {
        Operand::Vgpr(_) | Operand::Agpr(_) => c.wave.v[first + r][lane],
        _ => c.wave.v[first][lane],
    }
}

fn elements(bits: &[u64], input: Input) -> Vec<Element> {
    bits.iter()
        .map(|&bits| match input {
            Input::I8 => Element::integer(bits as i8),
            Input::F32 | Input::F64 => Element::f32(f32::from_bits(bits as u32)),
            Input::Xf32 => Element::f32(f32::from_bits(bits as u32 & !0x1fff)),
            Input::F16 => Element::narrow(f32::from_bits(f32_of_f16(bits as u16)), -14),
            Input::Bf16 => Element::narrow(f32::from_bits((bits as u32) << 16), -126),
            Input::Fp8 => Element::narrow(FP8.widen(bits as u8), -7),
            Input::Bf8 => Element::narrow(BF8.widen(bits as u8), -15),
        })
        .collect()
}

fn dot(input: Input, row: &[Element], column: &[Element], addend: u32) -> u32 {
    let pairs = || row.iter().zip(column);
    let mut sum = f32::from_bits(addend);
    match input {
        Input::I8 => {
            let products = pairs().map(|(a, b)| a.product_i32(b));
            return products.fold(addend.cast_signed(), i32::wrapping_add).cast_unsigned();
        }
        Input::F32 | Input::F64 => {
            for (a, b) in pairs() {
                sum = fma(a.value, b.value, sum);
            }
        }
        _ => {
            let (group, interleaved) = match input {
                Input::Xf32 => (4, false),
                Input::Fp8 | Input::Bf8 => (16, true),
                _ => (8, false),
            };
            for (a, b) in row.chunks(group).zip(column.chunks(group)) {
                sum = fused(a, b, sum, interleaved);
            }
        }
    }
    sum.to_bits()
}

#[expect(clippy::needless_range_loop, reason = "the lane is also a place in the matrix")]
fn multiply_f64(c: &mut Cx<'_>, u: &Uop, shape: Shape, control: Mfma) -> Step {
    let file = &c.wave.v;
    let signed =
        |bits: u64, operand: u8| f64::from_bits(bits ^ (u64::from((control.blgp >> operand) & 1) << 63));
    let (a, b, d) = (usize::from(u.src[0]), usize::from(u.src[1]), usize::from(u.src[2]));
    let constant = !matches!(u.inst.src[2], Operand::Vgpr(_) | Operand::Agpr(_));
    let mut results = vec![[0; WAVE]; 2 * shape.results()];
    for r in 0..shape.results() {
        for lane in 0..WAVE {
            let (block, row) = shape.row(r, lane);
            let mut sum = signed(bits(file, d, lane, if constant { 0 } else { r }, 64), 2);
            for k in 0..shape.k {
                let (from_a, _) = shape.place(broadcast(control, block), row, k);
                let (from_b, _) = shape.place(block, lane % shape.m, k);
                let (x, y) =
                    (signed(bits(file, a, from_a, 0, 64), 0), signed(bits(file, b, from_b, 0, 64), 1));
                sum = fma(x, y, sum);
            }
            let (low, high) = (2 * r, 2 * r + 1);
            results[low][lane] = sum.to_bits() as u32;
            results[high][lane] = (sum.to_bits() >> 32) as u32;
        }
    }
    c.wave.v[usize::from(u.dst)..][..results.len()].copy_from_slice(&results);
    Step::Next
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    Shape::of(op).map(|_| multiply as Handler)
}
