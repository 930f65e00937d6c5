//! Bytes that kernels move, as the software device counts them, against the least that the op needs: its operands, once.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::sync::Arc;

use backend_hip::{HipBackend, Options};
use kernels::ops::Matmul;
use kernels::{Backend, DType, Layout, View, ViewMut};
use softhip::control::{Options as SoftOptions, SoftDevice};

/// Bytes that one row of activations times `n` rows of `k` weights moves, and the bytes of the operands.
fn mat_vec(backend: &HipBackend, format: DType, n: usize, k: usize) -> [u64; 2] {
    let device = backend.software_device().unwrap();
    let stream = backend.stream().unwrap();
    let layouts = [(DType::F32, [1, k]), (format, [n, k]), (DType::F32, [1, n])]
        .map(|(dtype, shape)| Layout::contiguous(dtype, &shape));
    let sizes = layouts.map(|layout| layout.byte_range().unwrap().len());
    let [mut x, mut weight, mut out] = sizes.map(|bytes| backend.alloc(bytes, "operand").unwrap());
    backend.write(&stream, &mut x, 0, &vec![0; sizes[0]]).unwrap();
    backend.write(&stream, &mut weight, 0, &vec![0; sizes[1]]).unwrap();
    let op = Matmul {
        x: View::new(&x, layouts[0]),
        weight: View::new(&weight, layouts[1]),
        bias: None,
        out: ViewMut::new(&mut out, layouts[2]),
    };
    let before = device.counters();
    backend.launch(&stream, op.validate().unwrap()).unwrap();
    backend.synchronize(&stream).unwrap();
    let after = device.counters();
    assert!(device.take_reports().is_empty());
    let moved = after.bytes_read + after.bytes_written - before.bytes_read - before.bytes_written;
    [moved, sizes.iter().sum::<usize>() as u64]
}

#[test]
fn mat_vec_moves_at_most_a_tenth_more_than_its_operands() {
    let device = Arc::new(SoftDevice::new(SoftOptions::default()));
    let backend = HipBackend::on_software(device, Options::default()).unwrap();
    for format in DType::WEIGHTS {
        let shapes: &[_] =
            if format.block_len() == 256 { &[[1024, 1024]] } else { &[[576, 576], [1536, 576], [576, 1536]] };
        for &[n, k] in shapes {
            let [moved, least] = mat_vec(&backend, format, n, k);
            assert!(moved >= least, "{format} {n}x{k}: {moved} bytes counted, the operands have {least}");
            assert!(10 * moved <= 11 * least, "{format} {n}x{k}: {moved} bytes moved, the least is {least}");
        }
    }
}
