//! One result at a time, on integers.

use super::Factors;
use super::shape::{Input, Shape};
use super::sum::{Element, fused};
use crate::exec::float::fp8::{BF8, FP8};
use crate::exec::float::{f32_of_f16, fma};
use crate::memory::Lanes;

/// Element `e` of a lane, as bits.
fn bits(registers: &[&Lanes; 2], lane: usize, e: usize, width: usize) -> u64 {
    let at = e * width;
    let word = registers[at / 32][lane] >> (at % 32);
    u64::from(word) & (u64::MAX >> (64 - width))
}

/// What register `r` of `lane` holds in D, if it holds `addend` in C; of any shape but those of f64.
pub(super) fn result(shape: Shape, factors: &Factors<'_>, r: usize, lane: usize, addend: u32) -> u32 {
    let (mut row, mut column) = (Vec::with_capacity(shape.k), Vec::with_capacity(shape.k));
    for k in 0..shape.k {
        let (from_a, from_b) = shape.lanes(factors.control, r, lane, k);
        let (_, e) = shape.place(0, 0, k);
        row.push(element(bits(&factors.a, from_a, e, shape.a.bits()), shape.a));
        column.push(element(bits(&factors.b, from_b, e, shape.b.bits()), shape.b));
    }
    dot(shape.a, &row, &column, addend)
}

fn element(bits: u64, input: Input) -> Element {
    match input {
        Input::I8 => Element::integer(bits as i8),
        Input::F32 | Input::F64 => Element::f32(f32::from_bits(bits as u32)),
        Input::Xf32 => Element::f32(f32::from_bits(bits as u32 & !0x1fff)),
        Input::F16 => Element::narrow(f32::from_bits(f32_of_f16(bits as u16)), -14),
        Input::Bf16 => Element::narrow(f32::from_bits((bits as u32) << 16), -126),
        Input::Fp8 => Element::narrow(FP8.widen(bits as u8), -7),
        Input::Bf8 => Element::narrow(BF8.widen(bits as u8), -15),
    }
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

/// As [`result`], of f64: register pair `r`.
#[cfg(test)]
pub(super) fn result_f64(shape: Shape, factors: &Factors<'_>, r: usize, lane: usize, addend: u64) -> u64 {
    let signed = |bits: u64, operand: u8| {
        f64::from_bits(bits ^ (u64::from((factors.control.blgp >> operand) & 1) << 63))
    };
    let pair = |[low, high]: &[&Lanes; 2], lane: usize| u64::from(low[lane]) | (u64::from(high[lane]) << 32);
    let mut sum = signed(addend, 2);
    for k in 0..shape.k {
        let (from_a, from_b) = shape.lanes(factors.control, r, lane, k);
        sum = fma(signed(pair(&factors.a, from_a), 0), signed(pair(&factors.b, from_b), 1), sum);
    }
    sum.to_bits()
}
