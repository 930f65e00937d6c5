//! Manifests of other people's kernels: read, compared with the kernels, and worked out for the forms of an op.

use std::path::{Path, PathBuf};

use conformance::suite;
use kernel_manifest::{KernelFiles, Manifest};
use softhip::object::TargetId;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "manifest",
    sound: || {
        let names = ["rms_norm.toml", "honest_split.toml", "honest_half.toml"];
        names.map(|name| std::fs::read(folder().join(name)).unwrap()).into()
    },
    words: &[
        "[[op]]",
        "[[op.launch]]",
        "[op.let]",
        "[op.numerics]",
        "[op.types]",
        "[op.workspace]",
        "name = \"rms_norm\"",
        "supports = [\"columns % 4 == 0\"]",
        "\"a = b\"",
        "= \"",
        "\"",
        "(",
        ")",
        "!",
        "-",
        "+ columns",
        "* 9223372036854775807",
        "/ 0",
        "% 0",
        "ceil_div(rows, 0)",
        "next_power_of_two(",
        "x.shape[-9]",
        "x.stride[0]",
        "max(",
        "{weight}",
        "{out}{out}",
        "ptr ",
        "i64 ",
        "null",
        "\n",
    ],
    read,
    command: Some(Command {
        args: |path| {
            let object = folder().join("objects/rms_norm.hsaco");
            let words = ["check", "rms_norm/ rows=1 exact", "--kernels", object.to_str()?, "--manifest"];
            super::with_file(&words, path)
        },
        ends: &[0, 1, 2],
    }),
};

fn folder() -> PathBuf {
    Path::new(super::TOP).join("conformance/zoo/foreign")
}

fn read(path: &Path) -> Result<(), String> {
    thread_local! {
        static KERNELS: Vec<KernelFiles> = ["rms_norm", "honest"].map(kernels).into();
    }
    let manifest = Manifest::open(path).map_err(|e| e.to_string())?;
    let checked = KERNELS.with(|files| {
        let mut checks = files.iter().map(|files| manifest.check(files));
        checks.find(Result::is_ok).or_else(|| Some(manifest.check(&files[0]))).unwrap()
    });
    checked.map_err(|e| e.to_string())?;
    for stem in manifest.stems() {
        manifest.rehearse(&suite::forms(stem)).map_err(|e| e.to_string())?;
    }
    Ok(())
}

fn kernels(name: &str) -> KernelFiles {
    KernelFiles::load(&[folder().join(format!("objects/{name}.hsaco"))], &TargetId::gfx942()).unwrap()
}
