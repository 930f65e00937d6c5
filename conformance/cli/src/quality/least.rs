//! The bytes that an op has to move: what it reads of its inputs once in, what it writes once out.

use kernels::{Layout, Record, Stem};

/// Bytes of the elements of a tensor.
fn all(layout: &Layout) -> usize {
    layout.rows().map(|row| row.len()).sum()
}

/// Bytes of `rows` rows of the innermost `axes` dimensions.
fn rows(layout: &Layout, rows: usize, axes: usize) -> usize {
    let shape = layout.shape();
    let elements = shape[shape.len() - axes..].iter().product::<usize>() * rows;
    layout.dtype().bytes_of(elements).unwrap_or(0)
}

/// The fewest bytes that `record` can be computed with. Of a table or a cache, only the rows that take part count.
pub fn least(record: &Record) -> usize {
    let indices = |name: &str| -> Vec<u32> {
        record.find(name).map(|o| bytemuck::pod_collect_to_vec(&o.bytes)).unwrap_or_default()
    };
    let operand = |o: &kernels::RecordOperand| match (record.stem, o.name.as_str()) {
        (Stem::Embed, "table") => {
            let mut ids = indices("ids");
            ids.sort_unstable();
            ids.dedup();
            rows(&o.layout, ids.len(), 1)
        }
        (Stem::KvWrite, "k_cache" | "v_cache") => rows(&o.layout, indices("positions").len(), 2),
        (Stem::Attention, "k_cache" | "v_cache") => {
            // What the last row of a sequence sees, all of its rows see.
            let mut seen = vec![0; o.layout.dim(0)];
            for (seq, position) in indices("seqs").into_iter().zip(indices("positions")) {
                let slots = &mut seen[seq as usize];
                *slots = (*slots).max(position as usize + 1);
            }
            rows(&o.layout, seen.iter().sum(), 2)
        }
        _ => all(&o.layout),
    };
    record.operands().iter().map(operand).sum()
}

#[cfg(test)]
mod tests {
    use kernels::DType;

    use super::*;
    use conformance::data::{Operands, Packing};

    #[test]
    fn padding_and_rows_that_take_no_part_do_not_count() {
        let norm = Record::new(Stem::RmsNorm)
            .floats("x", &[2, 5], &[0.0; 10], Packing::Padded)
            .floats("weight", &[5], &[0.0; 5], Packing::Dense)
            .out("out", DType::F32, &[2, 5], Packing::Padded);
        assert_eq!(least(&norm), 4 * (10 + 5 + 10));
        let embed = Record::new(Stem::Embed)
            .bytes("table", DType::Q8_0, &[9, 64], &[0; 9 * 68], Packing::Dense)
            .indices("ids", &[3, 3, 7])
            .out("out", DType::F32, &[3, 64], Packing::Dense);
        assert_eq!(least(&embed), 2 * 68 + 3 * 4 + 3 * 64 * 4);
        let attention = Record::new(Stem::Attention)
            .floats("q", &[2, 4, 32], &[0.0; 256], Packing::Dense)
            .bytes("k_cache", DType::F16, &[2, 8, 2, 32], &[0; 2048], Packing::Dense)
            .bytes("v_cache", DType::Q8_0, &[2, 8, 2, 32], &[0; 1088], Packing::Dense)
            .indices("seqs", &[1, 1])
            .indices("positions", &[4, 5])
            .out("out", DType::F32, &[2, 4, 32], Packing::Dense);
        assert_eq!(least(&attention), 2 * 1024 + 4 * 4 + 6 * 2 * 64 + 6 * 2 * 34);
        let write = Record::new(Stem::KvWrite)
            .floats("k", &[1, 2, 32], &[0.0; 64], Packing::Dense)
            .floats("v", &[1, 2, 32], &[0.0; 64], Packing::Dense)
            .indices("seqs", &[0])
            .indices("positions", &[7])
            .out("k_cache", DType::F16, &[1, 8, 2, 32], Packing::Dense)
            .out("v_cache", DType::F16, &[1, 8, 2, 32], Packing::Dense);
        assert_eq!(least(&write), 2 * 256 + 8 + 2 * 128);
    }

    /// Where indices choose rows of another operand, the rows that nobody chose must not count.
    #[test]
    fn every_op_with_indices_is_thought_of() {
        let has_indices = |stem: &&Stem| {
            let operands = &stem.facts().operands;
            operands.iter().any(|operand| operand.kind == kernels::OperandKind::Indices)
        };
        let found: Vec<Stem> = Stem::ALL.iter().filter(has_indices).copied().collect();
        // Positions of `rope` choose nothing: it reads every row.
        let known = [Stem::Embed, Stem::Rope, Stem::KvWrite, Stem::Attention];
        assert_eq!(found, known, "say in `least` which rows count");
    }
}
