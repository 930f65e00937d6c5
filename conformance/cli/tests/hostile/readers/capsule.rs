//! Capsules of ops.

use forensics::capsule::{self, Capsule, right_answers};
use kernels::{DType, Layout, Record, Role, Stem};

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "capsule",
    sound,
    words: super::HEADER_WORDS,
    read: |path| capsule::read(path).map(drop).map_err(|e| e.to_string()),
    command: Some(Command { args: |path| super::with_file(&["capsule", "show"], path), ends: &[0] }),
};

fn floats(n: u8) -> Vec<u8> {
    (0..n).flat_map(|i| f32::from(i).to_le_bytes()).collect()
}

fn sound() -> Vec<Vec<u8>> {
    let f32s = |shape: &[usize]| Layout::contiguous(DType::F32, shape);
    let norm = Record::new(Stem::RmsNorm)
        .param("eps", 1e-6)
        .operand("x", Role::Input, f32s(&[2, 8]), floats(16))
        .operand("weight", Role::Input, f32s(&[8]), floats(8))
        .blank("out", f32s(&[2, 8]), vec![0; 64]);
    let ids = [1_u32, 0].iter().flat_map(|id| id.to_le_bytes()).collect();
    let embed = Record::new(Stem::Embed)
        .operand("ids", Role::Indices, Layout::contiguous(DType::U32, &[2]), ids)
        .operand("table", Role::Input, f32s(&[3, 4]), floats(12))
        .blank("out", f32s(&[2, 4]), vec![0; 32]);
    [norm, embed]
        .into_iter()
        .map(|record| {
            let expected = right_answers(&record);
            let case = Capsule { name: "case".into(), record, expected, observed: Vec::new(), origin: None };
            capsule::bytes("test", &[case]).unwrap()
        })
        .collect()
}
