//! Runs of a model in folders, which other engines can write, too: metadata and logits. What looks like lines of logits is packed first,
//! since damage to packed bytes seldom passes their checksum.

use std::path::Path;

use forensics::gates::folder::Stored;
use forensics::gates::gate::{Thresholds, equivalence};
use forensics::gates::gzip;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "gate_run",
    sound: || vec![LOGITS.into(), gzip::pack(LOGITS.as_bytes()), METADATA.into()],
    words: &[
        "token_idx",
        "token_id",
        "logits",
        "null",
        "1e999",
        "-1",
        "[]",
        "\n",
        "run_id",
        "engine",
        "backend",
        "[[[[[[[[",
        "{\"a\":",
    ],
    read,
    command: Some(Command {
        args: |path| {
            let folder = path.parent()?;
            write_other(folder);
            super::with_file(&["gate", "--compare", "other"], &folder.join("run"))
        },
        ends: &[0, 1, 2],
    }),
};

const LOGITS: &str = "\
{\"token_idx\":0,\"token_id\":5,\"logits\":[0.5,-1.25,null,3e4]}
{\"token_idx\":1,\"token_id\":7,\"logits\":[0.5,-1.25,2,3]}
";

const METADATA: &str = r#"{"run_id":"1","engine":"assay","backend":"cpu","model_sha256":"ab"}"#;

/// Puts the input where the folder of a run has it.
fn write(input: &[u8], folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let packed = gzip::pack(LOGITS.as_bytes());
    let (metadata, logits) = match input {
        [0x1f, ..] => (METADATA.as_bytes(), input.to_vec()),
        _ if input.windows(9).any(|part| part == b"token_idx") => (METADATA.as_bytes(), gzip::pack(input)),
        _ => (input, packed),
    };
    crate::write_new(&folder.join("metadata.json"), metadata);
    crate::write_new(&folder.join("logits.jsonl.gz"), &logits);
}

fn write_other(folder: &Path) {
    write(LOGITS.replace("0.5", "0.25").as_bytes(), &folder.join("other"));
}

fn read(path: &Path) -> Result<(), String> {
    let folder = path.with_file_name("run");
    write(&std::fs::read(path).unwrap(), &folder);
    let stored = Stored::read(&folder).map_err(|e| e.to_string())?;
    let other = Stored::new(stored.metadata.clone(), stored.entries.clone());
    let gate = equivalence("same", &stored, &other, &Thresholds::default(), false);
    assert!(!gate.why.is_empty() || gate.distance.is_some());
    Ok(())
}
