//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Puts `bytes` at `path`: written beside it, flushed to the disk, renamed. A reader sees the old content or the new,
/// whatever happens in between.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        // The first error is the one to report; a file that was never made cannot be removed.
        let _ = fs::remove_file(&part);
    }
    written
}
