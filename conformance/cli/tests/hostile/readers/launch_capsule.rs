//! Capsules of launches.

use launch_capsule::{Found, LaunchCapsule, file};
use softhip::control::LaunchRecord;
use softhip::memory::{AllocationInfo, AllocationKind, Piece, Snapshot};
use softhip::report::HostCall;
use softhip::sched::{Given, Shape};

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "launch_capsule",
    sound,
    words: &[
        "kernel",
        "grid",
        "buffers",
        "pieces",
        "tensor",
        "buffer.0",
        "code_object",
        "arguments",
        "packed",
        "1",
        "",
        "U8",
    ],
    read: |path| match file::read(path) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err("no launch capsule".into()),
        Err(error) => Err(error.to_string()),
    },
    command: Some(Command { args: |path| super::with_file(&["replay"], path), ends: &[0, 1, 2] }),
};

fn sound() -> Vec<Vec<u8>> {
    let info = AllocationInfo {
        base: 0x1000,
        size: 64,
        label: Some("x".into()),
        kind: AllocationKind::Device,
        allocated: None,
        freed: None,
        is_freed: false,
    };
    let pieces = vec![Piece { offset: 0, bytes: vec![1; 16] }, Piece { offset: 32, bytes: vec![2; 32] }];
    let shape = Shape { grid: [2, 1, 1], block: [64, 1, 1], dynamic_lds: 0, cooperative: false };
    let record = |given| LaunchRecord {
        image: b"an object".as_slice().into(),
        image_base: 0x10_0000,
        kernel: "k".into(),
        shape,
        given,
        memory: vec![Snapshot { info: info.clone(), pieces: pieces.clone() }],
        call: HostCall::new("hipLaunchKernel", None),
    };
    let given = [Given::Packed(vec![0; 16]), Given::Each(vec![Some(vec![0; 8]), None, Some(vec![1; 4])])];
    let capsule = |given| LaunchCapsule {
        record: record(given),
        found: Found::Answer("hipErrorIllegalAddress".into()),
    };
    given.into_iter().map(|given| file::bytes("test", &capsule(given)).unwrap()).collect()
}
