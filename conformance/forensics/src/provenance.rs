//! Which program, which model, which op: what a finding must carry to be of use elsewhere.

use std::fmt::Write;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A model file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ModelId {
    /// Its name, without the folder.
    pub file: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub sha256: String,
}

impl ModelId {
    /// The model in the file at `path`.
    pub fn of(path: &Path) -> io::Result<Self> {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(ModelId { file, sha256: sha256(path)? })
    }
}

/// SHA-256 of a file's bytes, in hexadecimal.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut file = input_file::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hash.update(&buffer[..n]),
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// This program: version, and the hash of its executable where it can be read.
pub fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        match std::env::current_exe().and_then(|path| sha256(&path)) {
            Ok(hash) => format!("assay {version}, sha256 {}", &hash[..16]),
            Err(_) => format!("assay {version}"),
        }
    })
}
