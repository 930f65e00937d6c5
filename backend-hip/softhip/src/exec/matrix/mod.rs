//! Matrix multiply-accumulate: `D = A · B + C` by all 64 lanes, whatever EXEC says.
//!
//! Each operation is computed by vectors, sixteen results at a time ([`tile`]): [`fused`] has the formats whose products
//! the matrix units add before they round, [`chain`] those that round after every product, [`integer`] bytes.
//! [`scalar`] says the same for one result at a time, on integers; it is what the vectors are tested against, and it
//! computes the results that an infinity or a NaN of A or B takes part in.

#[cfg(target_arch = "x86_64")]
mod blocked;
mod chain;
mod format;
mod fused;
mod integer;
mod scalar;
mod shape;
mod sparse;
mod sum;
#[cfg(test)]
mod tests;
mod tile;

use std::ops::Range;

use super::core::cx::{Cx, Handler, Step};
use super::core::uop::Uop;
use crate::isa::inst::Mfma;
use crate::isa::table::matrix::{Element, Matrix};
use crate::isa::{Mods, Op, Operand, table};
use crate::memory::Lanes;
use chain::{ChainF32, ChainF64};
use format::Format;
use fused::Fused;
use integer::Integer;
use shape::lane_of_b;
use tile::Geometry;

/// The registers of an operation.
#[derive(Debug, Clone, Copy)]
struct Slots {
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    /// C is one register (or pair) for all of D.
    constant: bool,
}

/// A and B as an operation finds them. Formats of fewer bits per lane use the first register only.
#[derive(Debug, Clone, Copy)]
struct Factors<'a> {
    a: [&'a Lanes; 2],
    /// In the lane-group pattern that the instruction asks for.
    b: [&'a Lanes; 2],
    control: Mfma,
}

/// Copies of A and B, where they cannot stay in their places.
fn copies<P: Product>(file: &[Lanes], slots: Slots, control: Mfma) -> [[Lanes; 2]; 2] {
    let registers = |first: usize| [file[first], file[first + P::REGISTERS - 1]];
    let mut b = registers(slots.b);
    if P::HAS_LANE_GROUPS && control.blgp != 0 {
        b = b.map(|register| std::array::from_fn(|lane| register[lane_of_b(control.blgp, lane)]));
    }
    [registers(slots.a), b]
}

fn disjoint(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.end <= b.start || b.end <= a.start
}

/// A matrix operation.
trait Product {
    /// Registers of A, and of B.
    const REGISTERS: usize;
    /// Registers of D.
    const RESULTS: usize;
    /// Registers of one number of D.
    const WIDTH: usize = 1;
    /// `blgp` moves the lanes of B; otherwise it negates operands.
    const HAS_LANE_GROUPS: bool = true;

    /// Adds the product to `d`, which holds C.
    fn add(factors: &Factors<'_>, d: &mut [Lanes]);
}

/// Carries an operation out on a vector file.
fn multiply<P: Product>(file: &mut [Lanes], slots: Slots, control: Mfma) {
    let [a, b] = [slots.a, slots.b].map(|first| first..first + P::REGISTERS);
    let d = slots.d..slots.d + P::RESULTS;
    let in_place = disjoint(&a, &d) && disjoint(&b, &d) && disjoint(&a, &b);
    let as_they_are = in_place && (control.blgp == 0 || !P::HAS_LANE_GROUPS);
    let copies = (!as_they_are).then(|| copies::<P>(file, slots, control));
    // C moves to where D will be; A and B, if D overlaps them, have been copied.
    if slots.constant {
        let constant = [file[slots.c], file[slots.c + P::WIDTH - 1]];
        for (r, register) in file[d.clone()].iter_mut().enumerate() {
            *register = constant[r % P::WIDTH];
        }
    } else if slots.c != slots.d {
        file.copy_within(slots.c..slots.c + P::RESULTS, slots.d);
    }
    if let Some([[a, more_a], [b, more_b]]) = &copies {
        P::add(&Factors { a: [a, more_a], b: [b, more_b], control }, &mut file[d]);
        return;
    }
    let Ok([a, b, d]) = file.get_disjoint_mut([a, b, d]) else {
        unreachable!("the registers are apart from each other")
    };
    let last = P::REGISTERS - 1;
    P::add(&Factors { a: [&a[0], &a[last]], b: [&b[0], &b[last]], control }, d);
}

fn run<P: Product>(c: &mut Cx<'_>, u: &Uop) -> Step {
    let Mods::Mfma(control) = u.inst.mods else { return c.unsupported(u, "modifiers") };
    let slots = Slots {
        a: u.src[0].into(),
        b: u.src[1].into(),
        c: u.src[2].into(),
        d: u.dst.into(),
        constant: !matches!(u.inst.src[2], Operand::Vgpr(_) | Operand::Agpr(_)),
    };
    multiply::<P>(&mut c.wave.v, slots, control);
    Step::Next
}

/// An operation on a vector file.
type Kernel = fn(&mut [Lanes], Slots, Mfma);

fn product<P: Product>() -> (Handler, Kernel) {
    (run::<P>, multiply::<P>)
}

/// Fused products of one block of 16 or 32 rows; a lane holds `PER` elements.
fn fused_block<A: Format, B: Format, const PER: usize>(rows: usize) -> (Handler, Kernel) {
    match rows {
        32 => product::<Fused<A, B, Geometry<32, 1, PER>, PER>>(),
        16 => product::<Fused<A, B, Geometry<16, 1, PER>, PER>>(),
        _ => unreachable!("no operation of this format has {rows} rows"),
    }
}

/// Fused products of the formats of 16 bits.
fn fused_16_bit<F: Format>(rows: usize, blocks: usize) -> (Handler, Kernel) {
    match (rows, blocks) {
        (_, 1) => fused_block::<F, F, 4>(rows),
        (32, 2) => product::<Fused<F, F, Geometry<32, 2, 4>, 4>>(),
        (16, 4) => product::<Fused<F, F, Geometry<16, 4, 4>, 4>>(),
        (4, 16) => product::<Fused<F, F, Geometry<4, 16, 4>, 4>>(),
        _ => unreachable!("no operation of this format has {blocks} blocks of {rows} rows"),
    }
}

fn operation(op: Op) -> Option<(Handler, Kernel)> {
    table::dense_matrix(op).map(dense)
}

fn dense(Matrix { m, blocks, a, b, .. }: Matrix) -> (Handler, Kernel) {
    use Element::{Bf8, Bf16, F16, F32, F64, Fp8, I8, Xf32};
    match (a, b) {
        (F16, _) => fused_16_bit::<format::F16>(m, blocks),
        (Bf16, _) => fused_16_bit::<format::Bf16>(m, blocks),
        (Xf32, _) => fused_block::<format::Xf32, format::Xf32, 2>(m),
        (Fp8, Fp8) => fused_block::<format::Fp8, format::Fp8, 8>(m),
        (Fp8, _) => fused_block::<format::Fp8, format::Bf8, 8>(m),
        (Bf8, Fp8) => fused_block::<format::Bf8, format::Fp8, 8>(m),
        (Bf8, _) => fused_block::<format::Bf8, format::Bf8, 8>(m),
        (F64, _) if m == 16 => product::<ChainF64<16>>(),
        (F64, _) => product::<ChainF64<4>>(),
        (F32, _) => match (m, blocks) {
            (32, 1) => product::<ChainF32<Geometry<32, 1, 1>>>(),
            (16, 1) => product::<ChainF32<Geometry<16, 1, 1>>>(),
            (32, 2) => product::<ChainF32<Geometry<32, 2, 1>>>(),
            (16, 4) => product::<ChainF32<Geometry<16, 4, 1>>>(),
            (4, 16) => product::<ChainF32<Geometry<4, 16, 1>>>(),
            _ => unreachable!("no operation on f32 has {blocks} blocks of {m} rows"),
        },
        (I8, _) => match (m, blocks) {
            (32, 1) => product::<Integer<Geometry<32, 1, 8>, 8>>(),
            (16, 1) => product::<Integer<Geometry<16, 1, 8>, 8>>(),
            (32, 2) => product::<Integer<Geometry<32, 2, 4>, 4>>(),
            (16, 4) => product::<Integer<Geometry<16, 4, 4>, 4>>(),
            (4, 16) => product::<Integer<Geometry<4, 16, 4>, 4>>(),
            _ => unreachable!("no operation on bytes has {blocks} blocks of {m} rows"),
        },
    }
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    operation(op).map(|(handler, _)| handler).or_else(|| sparse::handler(op))
}
