//! What an op has to do, whatever the implementation.

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
    /// Each operand of `record` passes once, with `flops` operations.
    pub fn pass(record: &Record, flops: usize) -> Self {
        let bytes = |o: &kernels::RecordOperand| o.layout.byte_range().map_or(0, |range| range.len());
        Cost { bytes: record.operands().iter().map(bytes).sum(), flops }
    }

    pub(crate) fn throughput(self) -> Throughput {
        Throughput::ElementsAndBytes { elements: self.flops as u64, bytes: self.bytes as u64 }
    }
}
