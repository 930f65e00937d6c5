//! Taps of a run, compared with those of another one.

use std::path::Path;

use engine::safetensors_file::SafetensorsFile;
use forensics::diff::stored;

use crate::{Command, Reader};

pub const READER: Reader = Reader {
    name: "taps",
    sound,
    words: super::HEADER_WORDS,
    read,
    command: Some(Command {
        args: |path| {
            let words = ["diff", "--collect", "--limit", "0.1", "--right-taps", "input.other", "--left-taps"];
            super::with_file(&words, path)
        },
        ends: &[0, 1],
    }),
};

fn taps(value: f32) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taps");
    let mut file = SafetensorsFile::create(&path).unwrap();
    let names = ["step0.pos0.layer0.q", "step0.pos0.logits"];
    for name in names {
        file.tensor(name, &[1, 4]).unwrap();
        file.append(&[value, 1.0, 2.0, 3.0]).unwrap();
    }
    let entries = serde_json::json!([
        { "name": names[0], "point": "q", "step": 0, "phase": "prefill", "layer": 0, "shape": [1, 4] },
        { "name": names[1], "point": "logits", "step": 0, "phase": "prefill", "layer": -1, "shape": [1, 4] },
    ]);
    file.finish([("taps", entries.to_string())]).unwrap();
    std::fs::read(&path).unwrap()
}

fn sound() -> Vec<Vec<u8>> {
    vec![taps(0.5), taps(-1.0)]
}

fn read(path: &Path) -> Result<(), String> {
    let other = path.with_extension("other");
    if !other.exists() {
        std::fs::write(&other, taps(0.0)).unwrap();
    }
    stored::compare(path, &other, 0.1, true).map(drop).map_err(|e| e.to_string())
}
