//! Ops that are launched together give what they give one by one.

use backend_cpu::HostBuffer;
use backend_cpu::fast::Fast;
use kernels::ops::Matmul;
use std::borrow::Cow;

use kernels::{Backend, DType, Layout, Op, Phase, Role, Site, View, ViewMut};

use super::cases::{self, Random};
use super::run::outputs;

const SITE: Site = Site { step: 0, phase: Phase::Decode, layer: Some(0), point: Cow::Borrowed("any") };

#[test]
fn all_ops_at_once() {
    let records = cases::all();
    let alone: Vec<_> = records.iter().map(|record| outputs(record, 1)).collect();
    for threads in [1, 2, 3, 7] {
        let backend = Fast::with_threads(threads);
        let stream = backend.stream().unwrap();
        let mut buffers: Vec<_> =
            records.iter().map(|record| record.upload(&backend, &stream).unwrap()).collect();
        let ops = records.iter().zip(&mut buffers);
        let ops = ops.map(|(record, buffers)| (SITE, record.bind(buffers).unwrap().validate().unwrap()));
        let ops = ops.collect();
        backend.launch_together(&stream, ops).unwrap();
        for ((record, buffers), alone) in records.iter().zip(&buffers).zip(&alone) {
            let operands = record.operands().iter().zip(buffers);
            let outputs = operands.filter(|(operand, _)| operand.role == Role::Output);
            for ((operand, buffer), alone) in outputs.zip(alone) {
                let got = operand.layout.gather(buffer.bytes(), 0).unwrap();
                assert!(got == *alone, "{} among others on {threads} threads: {record:?}", record.stem);
            }
        }
    }
}

/// A matrix of weights with a bias or without one.
struct Weights {
    layout: Layout,
    matrix: HostBuffer,
    bias: Option<HostBuffer>,
}

#[test]
fn products_of_the_same_activations() {
    const K: usize = 512;
    let backend = Fast::with_threads(2);
    let stream = backend.stream().unwrap();
    let mut random = Random::new(7);
    let upload = |bytes: &[u8]| backend.upload(&stream, bytes, "operand").unwrap();
    let mut weights = Vec::new();
    for (i, dtype) in DType::WEIGHTS.into_iter().enumerate() {
        // Numbers of columns that are no multiple of anything, and some that are.
        let n = [16, 37, 64, 129][i % 4];
        let matrix = upload(&random.blocks(dtype, n * K));
        let bias = (i % 3 == 0).then(|| upload(bytemuck::cast_slice(&random.floats(n))));
        weights.push(Weights { layout: Layout::contiguous(dtype, &[n, K]), matrix, bias });
    }
    for m in [1, 2, 3, 5, 33] {
        let x = upload(bytemuck::cast_slice(&random.floats(m * K)));
        let outs = || -> Vec<HostBuffer> {
            weights.iter().map(|w| backend.alloc(4 * m * w.layout.dim(0), "out").unwrap()).collect()
        };
        let (mut together, mut alone) = (outs(), outs());
        let ops = weights.iter().zip(&mut together).map(|(w, out)| (SITE, product(&x, m, K, w, out)));
        let ops: Vec<_> = ops.map(|(site, op)| (site, op.validate().unwrap())).collect();
        backend.launch_together(&stream, ops).unwrap();
        for (w, out) in weights.iter().zip(&mut alone) {
            backend.launch(&stream, product(&x, m, K, w, out).validate().unwrap()).unwrap();
        }
        for ((w, together), alone) in weights.iter().zip(&together).zip(&alone) {
            assert!(together.bytes() == alone.bytes(), "{m} rows with {:?}", w.layout);
        }
    }
}

fn product<'a>(
    x: &'a HostBuffer,
    m: usize,
    k: usize,
    weights: &'a Weights,
    out: &'a mut HostBuffer,
) -> Op<'a, HostBuffer> {
    let n = weights.layout.dim(0);
    let bias = weights.bias.as_ref().map(|bias| View::new(bias, Layout::contiguous(DType::F32, &[n])));
    Op::Matmul(Matmul {
        x: View::new(x, Layout::contiguous(DType::F32, &[m, k])),
        weight: View::new(&weights.matrix, weights.layout),
        bias,
        out: ViewMut::new(out, Layout::contiguous(DType::F32, &[m, n])),
    })
}
