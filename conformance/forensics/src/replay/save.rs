//! Failing cases saved as capsules.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use conformance::outcome::CaseResult;
use conformance::shrink::{alike, finders};
use output_file::scratch::Scratch;

use super::request;
use crate::capsule;

/// Runs the failing case once more and saves the first of its ops that fails by itself as the case does. `None` where no
/// single op does: the case is about a relation between several.
///
/// `record` runs a case by name and stores each op in the given folder before the op runs, as a
/// [`Recorder`](capsule::recorder::Recorder) does; `run` runs a case by name. Both must survive its crash.
pub fn save(
    folder: &Path,
    case: &CaseResult,
    record: impl FnOnce(&str, &Path) -> io::Result<CaseResult>,
    run: impl FnMut(&str) -> io::Result<CaseResult>,
) -> io::Result<Option<PathBuf>> {
    let ops = Scratch::folder(folder.join(format!(".ops.{}", std::process::id())))?;
    record(&case.name, ops.path()).and_then(|again| first_alike(ops.path(), folder, &again, run))
}

/// Moves the first op in `ops` that fails as `case` does to `folder`.
fn first_alike(
    ops: &Path,
    folder: &Path,
    case: &CaseResult,
    mut run: impl FnMut(&str) -> io::Result<CaseResult>,
) -> io::Result<Option<PathBuf>> {
    let wanted = finders(case);
    for op in capsule::files(ops)? {
        let result = run(&request(&op))?;
        if alike(&wanted, &result) {
            let path = folder.join(format!("{}.capsule", file_name(&case.name)));
            fs::rename(&op, &path)?;
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// A case's name as the name of a file.
fn file_name(case: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "=._-".contains(c) { c } else { '-' };
    case.chars().map(plain).take(120).collect()
}
