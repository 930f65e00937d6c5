//! What Triton's compiler writes beside a code object, of which a first manifest is made.

use std::path::{Path, PathBuf};

use kernel_manifest::{KernelFiles, draft};
use kernels::Stem;
use softhip::object::TargetId;

use crate::Reader;

pub const READER: Reader = Reader {
    name: "triton_json",
    sound: || vec![std::fs::read(object().with_extension("json")).unwrap()],
    words: &[
        "\"name\":",
        "\"triton_rms_norm\"",
        "\"num_warps\":",
        "\"shared\":",
        "\"target\":",
        "\"warp_size\":",
        "18446744073709551615",
        "null",
        "{",
        "}",
        "[[[[[[",
    ],
    read,
    // What is no such file is passed over: no command says that it is refused.
    command: None,
};

fn object() -> PathBuf {
    Path::new(super::TOP).join("conformance/zoo/foreign/objects/triton_rms_norm.hsaco")
}

fn read(path: &Path) -> Result<(), String> {
    thread_local! {
        static KERNELS: KernelFiles = KernelFiles::load(&[object()], &TargetId::gfx942()).unwrap();
    }
    let beside = path.with_file_name("kernel.hsaco");
    if !beside.exists() {
        std::fs::copy(object(), &beside).unwrap();
    }
    std::fs::copy(path, beside.with_extension("json")).unwrap();
    let text = KERNELS.with(|files| {
        let kernel = draft::kernel(files, Stem::RmsNorm, None).unwrap();
        draft::draft(kernel, Stem::RmsNorm, &beside)
    });
    if text.contains("ptr null") { Ok(()) } else { Err("it is passed over".into()) }
}
