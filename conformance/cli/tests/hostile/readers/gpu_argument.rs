//! Arguments of a kernel, as `gpu run --arg` takes them, put on the device.

use std::path::Path;

use assay_cli::argument::Value;
use softhip::control::{Options, SoftDevice};
use softhip::object::CodeObject;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "gpu_argument",
    sound: || {
        super::texts(&["u32:5", "f32:-0.5", "null", "out:64:o.bin", "zero:4096:o.bin", "i8:-128", "f16:1e3"])
    },
    words: &[
        ":",
        "u8:",
        "u64:",
        "f64:nan",
        "out:",
        "zero:",
        "inout:",
        "buf:/dev/zero",
        "bytes:/dev/zero",
        "18446744073709551615",
        "99999999999",
        "-1",
        "\u{0}",
    ],
    read,
    command: Some(Command { args, ends: &[2] }),
};

const OBJECT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/hip/objects/add.hsaco");

/// One argument where the kernel takes more: what is read is refused after that.
fn args(path: &Path) -> Option<Vec<std::ffi::OsString>> {
    super::with_text(&["gpu", "run", OBJECT, "add_f32", "--grid", "1", "--block", "64", "--arg="], path)
}

fn read(path: &Path) -> Result<(), String> {
    thread_local! {
        static KERNEL: CodeObject = CodeObject::parse(&std::fs::read(OBJECT).unwrap()).unwrap();
    }
    let value = super::text(path)?.parse::<Value>()?;
    // Buffers may be as large as the device, whose memory is the host's.
    let device = SoftDevice::new(Options { memory_bytes: 16 << 20, ..Options::default() });
    KERNEL.with(|object| {
        for (index, want) in object.kernels()[0].explicit_arguments().enumerate() {
            let placed = value.place(&device, index, want);
            assert!(placed.is_ok() || placed.is_err_and(|why| !why.is_empty()));
        }
    });
    Ok(())
}
