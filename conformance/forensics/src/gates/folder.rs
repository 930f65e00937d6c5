//! A run in a folder: `metadata.json`, `logits.jsonl.gz`, `summary.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::gzip;
use crate::provenance::hex;

/// Names of the files.
const METADATA: &str = "metadata.json";
const LOGITS: &str = "logits.jsonl.gz";
/// The file with the number of entries, and with what became of gates.
pub const SUMMARY: &str = "summary.json";
/// All of them.
pub const FILES: [&str; 3] = [METADATA, LOGITS, SUMMARY];

/// Bytes of text that a file of logits may hold beside [`GROWTH`] times its own: a run of logits that are all NaN is packed to nearly
/// nothing, and so is a file that was made to fill the memory.
const BASE: usize = 64 << 20;

/// Numbers that differ are packed to a half or a third.
const GROWTH: usize = 8;

/// The logits after a token: a line of the file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Number of the token, from 0.
    pub token_idx: u64,
    /// The token.
    pub token_id: u32,
    /// A logit for each token of the vocabulary. One that is no number is `null` in the file.
    #[serde(with = "numbers")]
    pub logits: Vec<f32>,
}

/// JSON has no NaN: it is written as `null`.
mod numbers {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::ptr_arg, reason = "serde gives the field as it is")]
    pub fn serialize<S: Serializer>(values: &Vec<f32>, to: S) -> Result<S::Ok, S::Error> {
        values.iter().map(|v| v.is_finite().then_some(*v)).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<f32>, D::Error> {
        let values = Vec::<Option<f32>>::deserialize(from)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f32::NAN)).collect())
    }
}

/// A run.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    /// Where it is; empty for one that is in no folder.
    pub path: PathBuf,
    /// What it is a run of.
    pub metadata: Map<String, Value>,
    /// The logits.
    pub entries: Vec<Entry>,
    /// SHA-256 of the logits' bits, with their tokens.
    pub sha256: String,
}

/// A folder that is no run.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct FolderError {
    path: PathBuf,
    what: String,
}

impl Stored {
    /// A run with these logits.
    pub fn new(metadata: Map<String, Value>, entries: Vec<Entry>) -> Self {
        let mut hash = Sha256::new();
        for entry in &entries {
            hash.update(entry.token_idx.to_le_bytes());
            hash.update(entry.token_id.to_le_bytes());
            hash.update(bytemuck::cast_slice::<f32, u8>(&entry.logits));
        }
        let sha256 = hex(&hash.finalize());
        Stored { path: PathBuf::new(), metadata, entries, sha256 }
    }

    /// The file of the logits; `None` for a run that is in no folder.
    pub fn logits_file(&self) -> Option<PathBuf> {
        (!self.path.as_os_str().is_empty()).then(|| self.path.join(LOGITS))
    }

    /// The text under a key of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key)?.as_str()
    }

    /// Reads a run. Metadata may be missing, as another engine may have none; logits may not.
    pub fn read(folder: &Path) -> Result<Self, FolderError> {
        let error = |file: &str, what: String| FolderError { path: folder.join(file), what };
        let metadata = match input_file::read_text(&folder.join(METADATA), input_file::TEXT) {
            Ok(text) => serde_json::from_str(&text).map_err(|e| error(METADATA, e.to_string()))?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Map::new(),
            Err(e) => return Err(error(METADATA, e.to_string())),
        };
        let packed = input_file::read(&folder.join(LOGITS), input_file::BINARY);
        let packed = packed.map_err(|e| error(LOGITS, e.to_string()))?;
        let limit = packed.len().saturating_mul(GROWTH).saturating_add(BASE);
        let text = gzip::unpack(&packed, limit).map_err(|what| error(LOGITS, what))?;
        let mut entries: Vec<Entry> = Vec::new();
        for (at, line) in text.split(|&b| b == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            let entry = serde_json::from_slice::<Entry>(line);
            entries.push(entry.map_err(|e| error(LOGITS, format!("line {}: {e}", at + 1)))?);
        }
        let mut stored = Stored::new(metadata, entries);
        stored.path = folder.into();
        Ok(stored)
    }

    /// Writes the run to a folder, which is made.
    pub fn write(&self, folder: &Path) -> Result<(), FolderError> {
        let error = |file: &str, e: &dyn std::fmt::Display| FolderError {
            path: folder.join(file),
            what: e.to_string(),
        };
        std::fs::create_dir_all(folder).map_err(|e| error("", &e))?;
        let mut lines = Vec::new();
        for entry in &self.entries {
            serde_json::to_writer(&mut lines, entry).map_err(|e| error(LOGITS, &e))?;
            lines.push(b'\n');
        }
        let summary = json!({
            "entries": self.entries.len(),
            "vocabulary": self.entries.first().map_or(0, |entry| entry.logits.len()),
            "logits_sha256": self.sha256,
        });
        let files = [
            (METADATA, format!("{:#}\n", Value::Object(self.metadata.clone())).into_bytes()),
            (LOGITS, gzip::pack(&lines)),
            (SUMMARY, format!("{summary:#}\n").into_bytes()),
        ];
        files.into_iter().try_for_each(|(file, bytes)| {
            output_file::write(&folder.join(file), &bytes).map_err(|e| error(file, &e))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_logits_that_would_fill_the_memory_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |logits: usize| {
            let text =
                format!("{{\"token_idx\":0,\"token_id\":1,\"logits\":[{}0]}}\n", "0,".repeat(logits - 1));
            std::fs::write(folder.path().join(LOGITS), gzip::pack(text.as_bytes())).unwrap();
            Stored::read(folder.path())
        };
        assert_eq!(write(1 << 20).unwrap().entries[0].logits.len(), 1 << 20);
        let error = write(1 << 26).unwrap_err().to_string();
        assert!(error.contains("it holds more than"), "{error}");
    }
}
