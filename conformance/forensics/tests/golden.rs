//! The reference against results that other people's code computed.
//!
//! Every op has a folder `golden/<op>/` with capsules made by numpy or the Python package `gguf`; each names its generator.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use backend_cpu::HostBuffer;
use backend_cpu::reference::{Reference, oracle};
use forensics::capsule::{self, Capsule, Stored};
use kernels::{Backend, Expected, Numerics, Role, Stem};

fn files(stem: Stem) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(stem.name());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "safetensors"));
    files.sort();
    files
}

/// Runs a case on the reference backend and compares each output with the stored result and with the oracle's.
fn check(case: &Capsule) {
    let backend = Reference::default();
    let stream = backend.stream().unwrap();
    let mut buffers: Vec<HostBuffer> = case.record.upload(&backend, &stream).unwrap();
    let op = case.record.bind(&mut buffers).unwrap().validate().unwrap();
    let right = oracle(&op, &Numerics::F64);
    backend.launch(&stream, op).unwrap();
    let operands = case.record.operands();
    let outputs: Vec<_> = operands.iter().zip(&buffers).filter(|(o, _)| o.role == Role::Output).collect();
    assert_eq!(outputs.len(), case.expected.len(), "{}: every output has a stored result", case.name);
    for ((operand, buffer), oracle) in outputs.into_iter().zip(right) {
        let stored = case.expected.iter().find(|(name, _)| *name == operand.name).map(|(_, stored)| stored);
        let expected = match (stored, &oracle) {
            (Some(Stored::Bits(bytes)), _) => Expected::Bits(bytes.clone()),
            (Some(Stored::Values(value)), Expected::Within { bound, typical, .. }) => {
                Expected::Within { value: value.clone(), bound: bound.clone(), typical: typical.clone() }
            }
            other => panic!("{}: {}: {other:?}", case.name, operand.name),
        };
        let view = kernels::View::new(buffer, operand.layout);
        let got = backend
            .read(&stream, view, &kernels::Site::outside(operand.name.clone()))
            .unwrap()
            .wait()
            .unwrap();
        for (against, expected) in [("golden", &expected), ("oracle", &oracle)] {
            let verdict = expected.judge(&operand.layout, got.bytes());
            assert!(verdict.passed(), "{}: {} against {against}: {verdict:?}", case.name, operand.name);
        }
    }
}

fn check_all(stem: Stem) {
    let files = files(stem);
    assert!(!files.is_empty(), "golden/{stem}/ has no capsule");
    for file in files {
        let cases = capsule::read(&file).unwrap();
        assert!(!cases.is_empty(), "{} is empty", file.display());
        for case in cases {
            assert_eq!(case.record.stem, stem, "{}", file.display());
            check(&case);
        }
    }
}

/// One test per op, called by its stem.
macro_rules! golden {
    ($($op:ident $Op:ident,)+) => { $(#[test] fn $op() { check_all(Stem::$Op); })+ };
}
kernels::for_each_op!(golden);
