//! The same tensors in other places: with padding between rows, at an offset, one row alone, in place.

use kernels::{Layout, Record, RecordOperand, Role};

use super::run::with_operands;

/// The record with every operand at an offset and with padding between its rows (and between the planes of a cache), the
/// padding filled with `poison`.
pub fn padded(record: &Record, poison: u8) -> Record {
    let pad = |operand: &RecordOperand| spread(operand, poison, (0..operand.layout.rank() - 1).rev());
    with_operands(record, record.operands().iter().map(pad))
}

/// The record as by [`padded`], with the outer dimensions of every operand in the reverse order.
pub fn reversed(record: &Record, poison: u8) -> Record {
    let turn = |operand: &RecordOperand| spread(operand, poison, 0..operand.layout.rank() - 1);
    with_operands(record, record.operands().iter().map(turn))
}

/// Lays an operand out with strides that grow along `axes`, its outer dimensions.
fn spread(operand: &RecordOperand, poison: u8, axes: impl Iterator<Item = usize>) -> RecordOperand {
    let dense = operand.layout;
    let (rank, block) = (dense.rank(), dense.dtype().block_len());
    let mut strides = vec![1; rank];
    let mut span = dense.dim(rank - 1);
    for axis in axes {
        // A different gap at each axis, so that mixing up two of them shows.
        strides[axis] = span + (rank - axis) * block.max(4);
        span = strides[axis] * dense.dim(axis);
    }
    let offset = 2 * dense.dtype().block_bytes().next_multiple_of(4);
    let layout = Layout::strided(dense.dtype(), dense.shape(), &strides).at(offset);
    let mut bytes = vec![poison; layout.byte_range().unwrap().end + 64];
    for (to, from) in layout.rows().zip(dense.rows()) {
        bytes[to].copy_from_slice(&operand.bytes[from]);
    }
    RecordOperand { layout, bytes, ..operand.clone() }
}

/// Operands that have one row (or one plane, or one index) per row of the op. Of an op's second factor, which may be one
/// row for all, this depends on its shape.
const PER_ROW: [&str; 10] = ["x", "a", "b", "gate", "up", "q", "k", "v", "out", "ids"];

/// The record of row `row` of `rows` alone.
pub fn alone(record: &Record, row: usize, rows: usize) -> Record {
    let cut = |operand: &RecordOperand| {
        let layout = operand.layout;
        let per_row = PER_ROW.contains(&operand.name.as_str()) || operand.role == Role::Indices;
        if !per_row || layout.dim(0) != rows {
            return operand.clone();
        }
        let shape: Vec<_> = [1].into_iter().chain(layout.shape()[1..].iter().copied()).collect();
        let size = operand.bytes.len() / rows;
        RecordOperand {
            layout: Layout::contiguous(layout.dtype(), &shape),
            bytes: operand.bytes[row * size..][..size].to_vec(),
            ..operand.clone()
        }
    };
    with_operands(record, record.operands().iter().map(cut))
}

/// The record with its first operand in the place of the output; `None` where the op cannot do that.
pub fn in_place(record: &Record) -> Option<Record> {
    let source = record.find(record.stem.facts().in_place()?)?;
    let moved = |operand: &RecordOperand| match operand.role {
        Role::Output => RecordOperand { bytes: source.bytes.clone(), ..operand.clone() },
        Role::Input | Role::Indices => operand.clone(),
    };
    let others = record.operands().iter().filter(|operand| operand.name != source.name);
    Some(with_operands(record, others.map(moved)))
}
