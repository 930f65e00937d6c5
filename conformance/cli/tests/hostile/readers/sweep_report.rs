//! Reports of parts of a sweep, joined into one and written again.

use std::path::Path;
use std::process;

use assay_cli::report::{self, merge};

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "sweep_report",
    sound: || {
        let folder = tempfile::tempdir().unwrap();
        let report = |filter: &str, backend: &str| {
            let args = ["check", filter, "--backend", backend, "--html", "/dev/null", "--json", "r.json"];
            let mut command = process::Command::new(env!("CARGO_BIN_EXE_assay"));
            command.args(args).current_dir(&folder).output().unwrap();
            std::fs::read(folder.path().join("r.json")).unwrap()
        };
        vec![
            report("add/ rows=5 exact n=31", "cpu"),
            report("rms_norm bounded n=576 rows=1", "mutant:rms-norm-eps-missing"),
        ]
    },
    words: &[
        "\"cases\":",
        "\"verdict\":",
        "\"failed\"",
        "\"passed\"",
        "\"1/18446744073709551615\"",
        "\"2/3\"",
        "1e999",
        "null",
        "\"share\":",
        "[]",
        "{",
        "}",
        "true",
        "\u{0}",
        "/",
    ],
    read,
    command: Some(Command { args: |path| super::with_file(&["merge"], path), ends: &[0, 1] }),
};

fn read(path: &Path) -> Result<(), String> {
    let merged = merge::merge(&[path.into()]).map_err(|e| e.to_string())?;
    let sweep = merged.sweep;
    assert!(!report::table(&sweep).is_empty() && !report::html::html(&sweep).is_empty());
    assert!(report::json(&sweep).is_object());
    report::junit(&sweep).map_err(|e| e.to_string())?;
    if merged.missing.is_empty() { Ok(()) } else { Err("parts are missing".into()) }
}
