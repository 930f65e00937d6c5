//! Runs a record, and tells what is in memory afterwards.

use backend_cpu::HostBuffer;
use backend_cpu::fast::Fast;
use kernels::{Backend, Record, RecordOperand, Role};

/// The buffers of a record's operands after it was run on `threads` threads.
pub fn run(record: &Record, threads: usize) -> Vec<HostBuffer> {
    run_on(record, &Fast::with_threads(threads))
}

/// The buffers of a record's operands after it was run on `backend`.
pub fn run_on(record: &Record, backend: &Fast) -> Vec<HostBuffer> {
    let stream = backend.stream().unwrap();
    let mut buffers = record.upload(backend, &stream).unwrap();
    let op = record.bind(&mut buffers).unwrap().validate().unwrap();
    backend.launch(&stream, op).unwrap();
    buffers
}

/// The elements of a record's outputs after it was run, without padding.
pub fn outputs(record: &Record, threads: usize) -> Vec<Vec<u8>> {
    outputs_on(record, &Fast::with_threads(threads))
}

/// The elements of a record's outputs after it was run on `backend`, without padding.
pub fn outputs_on(record: &Record, backend: &Fast) -> Vec<Vec<u8>> {
    let buffers = run_on(record, backend);
    let operands = record.operands().iter().zip(&buffers);
    let outputs = operands.filter(|(operand, _)| operand.role == Role::Output);
    outputs.map(|(operand, buffer)| operand.layout.gather(buffer.bytes(), 0).unwrap()).collect()
}

/// The only output of a record, as f32.
pub fn floats(record: &Record) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(&outputs(record, 2)[0])
}

/// The record with other operands.
pub fn with_operands(record: &Record, operands: impl Iterator<Item = RecordOperand>) -> Record {
    let mut empty = Record::new(record.stem);
    empty.params.clone_from(&record.params);
    operands.fold(empty, |record, o| record.operand(&o.name, o.role, o.layout, o.bytes))
}
