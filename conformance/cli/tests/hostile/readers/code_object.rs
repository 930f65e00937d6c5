//! Code objects and bundles of them, as `assay gpu` takes them.

use std::path::Path;

use softhip::object::{self, CodeObject, TargetId};

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "code_object",
    sound: || {
        let object = |path: &str| std::fs::read(format!("{}/{path}", super::TOP)).unwrap();
        let object = object("kernels/hip/objects/add.hsaco");
        vec![bundle(&object), object]
    },
    words: &[
        "__CLANG_OFFLOAD_BUNDLE__",
        "CCOB",
        "hipv4-amdgcn-amd-amdhsa--gfx942",
        "\u{7f}ELF",
        "amdhsa.kernels",
        ".kd",
    ],
    read,
    command: Some(Command { args: |path| super::with_file(&["gpu", "info"], path), ends: &[0] }),
};

/// A bundle of one code object.
fn bundle(object: &[u8]) -> Vec<u8> {
    const NAME: &str = "hipv4-amdgcn-amd-amdhsa--gfx942";
    let mut file = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let offset = (24 + 8 + 24 + NAME.len()) as u64;
    for word in [1, offset, object.len() as u64, NAME.len() as u64] {
        file.extend(word.to_le_bytes());
    }
    file.extend(NAME.as_bytes());
    file.extend(object);
    file
}

fn read(path: &Path) -> Result<(), String> {
    let bytes = std::fs::read(path).unwrap();
    for packed in object::open_for(&bytes, &TargetId::gfx942()).map_err(|e| e.to_string())? {
        CodeObject::parse(&packed.bytes).map_err(|e| e.to_string())?;
    }
    Ok(())
}
