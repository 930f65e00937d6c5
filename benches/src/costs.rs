//! The work of an op, independent of its implementation.

use criterion::Throughput;
use kernels::Record;

/// Work of one run of an op.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Bytes that must be read or written.
    pub bytes: usize,
    /// Floating-point operations; for an op that only moves or converts, elements.
    pub flops: usize,
}

impl Cost {
    /// Each operand of `record` is read or written once, with `flops` operations.
    ///
    /// # Panics
    ///
    /// If an operand has no size: a mistake in the bench.
    pub fn pass(record: &Record, flops: usize) -> Self {
        let bytes = |o: &kernels::RecordOperand| o.layout.byte_range().expect("an operand with a size").len();
        Cost { bytes: record.operands().iter().map(bytes).sum(), flops }
    }

    pub(crate) fn throughput(self) -> Throughput {
        Throughput::ElementsAndBytes { elements: self.flops as u64, bytes: self.bytes as u64 }
    }
}
