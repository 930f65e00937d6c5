//! Sparse products, `D += A · B`, of an A of which two in four neighbouring columns are stored.
//!
//! A register of indices says which two: two bits for each stored element. So row `i` of the result is row `i` of a dense
//! product of half as many columns, with the rows of B that the indices of row `i` choose. A lane of B holds the rows of B
//! for the same stretch of columns as a lane of A, so what is chosen stays within its lane.

use super::{Kernel, Slots, dense};
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::uop::Uop;
use crate::isa::inst::Mfma;
use crate::isa::table::matrix::{Element, Matrix};
use crate::isa::{Mods, Op, table};
use crate::memory::{Lanes, WAVE};

/// Registers of A, of the chosen part of B, and of B.
const HALF: usize = 2;
const WHOLE: usize = 4;
/// Most registers of D.
const RESULTS: usize = 16;

/// Bytes of an element of B.
fn element_bytes(matrix: Matrix) -> usize {
    if matches!(matrix.a, Element::F16 | Element::Bf16) { 2 } else { 1 }
}

/// Each lane's indices, from their first bit up.
fn indices(register: &Lanes, control: Mfma, bytes: usize) -> Lanes {
    // 8 bits for elements of 16, 16 bits for elements of 8.
    let (sets, bits) = if bytes == 2 { (4, 8) } else { (2, 16) };
    let set = if control.cbsz == 0 { u32::from(control.abid) % sets } else { 0 };
    register.map(|word| (word >> (bits * set)) & ((1 << bits) - 1))
}

/// The elements of one lane of B that the indices choose.
fn choose(b: [u32; WHOLE], indices: u32, bytes: usize) -> [u32; HALF] {
    let b: [u8; 4 * WHOLE] = std::array::from_fn(|i| b[i / 4].to_le_bytes()[i % 4]);
    let mut chosen = [0; 4 * HALF];
    for (element, to) in chosen.chunks_mut(bytes).enumerate() {
        let index = (indices >> (2 * element)) as usize % 4;
        let from = bytes * (element / 2 * 4 + index);
        to.copy_from_slice(&b[from..from + bytes]);
    }
    std::array::from_fn(|i| {
        u32::from_le_bytes([chosen[4 * i], chosen[4 * i + 1], chosen[4 * i + 2], chosen[4 * i + 3]])
    })
}

/// The register of D and its first lane that hold a row.
fn row_place(m: usize, row: usize) -> (usize, usize) {
    match m {
        16 => (row % 4, row / 4 * 16),
        _ => (row / 8 * 4 + row % 4, row / 4 % 2 * 32),
    }
}

/// Adds the product to `d`.
fn add(
    a: &[Lanes; HALF],
    b: &[Lanes; WHOLE],
    indices: &Lanes,
    d: &mut [Lanes],
    matrix: Matrix,
    kernel: Kernel,
) {
    let (m, bytes, count) = (matrix.m, element_bytes(matrix), d.len());
    let slots = Slots { a: 0, b: HALF, c: 2 * HALF, d: 2 * HALF, constant: false };
    let mut file = [[0; WAVE]; 2 * HALF + RESULTS];
    let before: [Lanes; RESULTS] = std::array::from_fn(|r| if r < count { d[r] } else { [0; WAVE] });
    for row in 0..m {
        file[..HALF].copy_from_slice(a);
        for lane in 0..WAVE {
            let chosen = choose(std::array::from_fn(|i| b[i][lane]), indices[lane / m * m + row], bytes);
            for (register, word) in file[HALF..2 * HALF].iter_mut().zip(chosen) {
                register[lane] = word;
            }
        }
        file[2 * HALF..2 * HALF + count].copy_from_slice(&before[..count]);
        kernel(&mut file, slots, Mfma::default());
        let (register, first) = row_place(m, row);
        d[register][first..first + m].copy_from_slice(&file[2 * HALF + register][first..first + m]);
    }
}

fn run(c: &mut Cx<'_>, u: &Uop) -> Step {
    let (Mods::Mfma(control), Some(matrix)) = (u.inst.mods, table::sparse_matrix(u.inst.op)) else {
        return c.unsupported(u, "modifiers");
    };
    let (_, kernel) = dense(Matrix { k: matrix.k / 2, ..matrix });
    let file = &c.wave.v;
    let registers = |first: u16, i: usize| file[usize::from(first) + i];
    let a = std::array::from_fn(|i| registers(u.src[0], i));
    let b = std::array::from_fn(|i| registers(u.src[1], i));
    let indices = indices(&registers(u.src[2], 0), control, element_bytes(matrix));
    let (first, count) = (usize::from(u.dst), matrix.m * matrix.m / WAVE);
    add(&a, &b, &indices, &mut c.wave.v[first..first + count], matrix, kernel);
    Step::Next
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    table::sparse_matrix(op).map(|_| run as Handler)
}
