//! Names of cases that failed before, to be run first: one per line, kept in a file.

use std::io;
use std::path::Path;

/// Reads the names; none where the file does not exist.
pub fn read(path: &Path) -> io::Result<Vec<String>> {
    match input_file::read_text(path, input_file::TEXT) {
        Ok(text) => Ok(text
            .lines()
            .filter(|l| !l.trim().is_empty() && !l.starts_with('#'))
            .map(str::to_owned)
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Adds names that are not there yet.
pub fn add(path: &Path, names: &[String]) -> io::Result<()> {
    let mut all = read(path)?;
    let new: Vec<_> = names.iter().filter(|name| !all.contains(name)).cloned().collect();
    if new.is_empty() {
        return Ok(());
    }
    all.extend(new);
    let text = format!("# Cases that have failed; `assay check` runs them first.\n{}\n", all.join("\n"));
    output_file::write(path, text.as_bytes())
}
