//! An op that the plug-in lacks, on the CPU: what it reads is copied there, and what it writes is copied back.

use std::ops::Range;

use backend_cpu::fast::Fast;
use kernels::{Backend, Buffer, DeviceError, Op, Pending, Record, Role, Site};

/// Runs `op` on `cpu`. `read` and `write` reach the op's own buffers.
pub(crate) fn launch<B: Buffer>(
    cpu: &Fast,
    op: &Op<'_, B>,
    read: impl FnMut(&B, Range<usize>) -> Result<Vec<u8>, DeviceError>,
    mut write: impl FnMut(&B, usize, &[u8]) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let record = Record::cropped(op, read)?;
    let stream = cpu.stream()?;
    let mut buffers = record.upload(cpu, &stream)?;
    // The op is valid where it comes from.
    let lost = |why: &dyn std::fmt::Display| DeviceError::Watch(format!("{} on the CPU: {why}", record.stem));
    let there = record.bind(&mut buffers).map_err(|e| lost(&e))?.validate().map_err(|e| lost(&e))?;
    cpu.launch(&stream, there)?;
    cpu.synchronize(&stream)?;
    for ((stored, buffer), operand) in record.operands().iter().zip(&buffers).zip(op.operands()) {
        if stored.role != Role::Output {
            continue;
        }
        let site = Site::outside(stored.name.clone());
        let bytes = cpu.read_bytes(&stream, buffer, 0..stored.bytes.len(), &site)?.wait()?;
        if let (true, Some(range)) = (operand.layout.is_contiguous(), stored.layout.byte_range()) {
            write(operand.buffer, operand.layout.offset(), &bytes[range])?;
            continue;
        }
        // What lies between the rows stays as it is.
        for (from, to) in stored.layout.rows().zip(operand.layout.rows()) {
            write(operand.buffer, to.start, &bytes[from])?;
        }
    }
    Ok(())
}
