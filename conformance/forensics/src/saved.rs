//! Failing cases saved as capsules, and folders of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::outcome::CaseResult;
use crate::replay::PREFIX;
use crate::shrink::{alike, finders};
use crate::worker::{Recipe, Worker};

/// The capsules of a folder, by name.
pub fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "capsule" || e == "safetensors") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Runs the failing case once more on a worker that stores each op before it runs, and keeps the first op that fails by itself
/// as the case does. `None` where no single op does: the case is about a relation between several.
pub fn save(folder: &Path, case: &CaseResult, recipe: &Recipe) -> io::Result<Option<PathBuf>> {
    let ops = folder.join(format!(".ops.{}", std::process::id()));
    fs::create_dir_all(&ops)?;
    let saved = first_alike(&ops, folder, case, recipe);
    fs::remove_dir_all(&ops)?;
    saved
}

fn first_alike(ops: &Path, folder: &Path, case: &CaseResult, recipe: &Recipe) -> io::Result<Option<PathBuf>> {
    let keeping = Recipe { keep: Some(ops.to_owned()), ..recipe.clone() };
    let again = Worker::new(keeping).run(&case.name)?;
    let wanted = finders(&again);
    let mut worker = Worker::new(recipe.clone());
    for op in files(ops)? {
        let result = worker.run(&format!("{PREFIX}{}", op.display()))?;
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
