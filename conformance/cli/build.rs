//! Tells the program what it was built from and for. Git is not needed: the commit is read from its files.

use std::path::{Path, PathBuf};

fn main() {
    // Cargo also sets these variables for programs that it runs, where a name that begins with ASSAY_ would be taken for a setting.
    println!("cargo::rerun-if-env-changed=ASSAY_COMMIT");
    let commit = std::env::var("ASSAY_COMMIT").ok().or_else(packaged_commit).or_else(checked_out_commit);
    println!("cargo::rustc-env=BUILD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    for (name, from) in [("BUILD_TARGET", "TARGET"), ("BUILD_PROFILE", "PROFILE")] {
        println!("cargo::rustc-env={name}={}", std::env::var(from).unwrap_or_default());
    }
}

/// The commit that `cargo package` wrote down.
fn packaged_commit() -> Option<String> {
    let info = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = info.split_once("\"sha1\": \"")?;
    Some(rest.split_once('"')?.0.to_owned())
}

/// The commit of the working copy that this is part of.
fn checked_out_commit() -> Option<String> {
    let folder = git_folder(Path::new("../../.git"))?;
    let head = read_watched(&folder.join("HEAD"))?;
    let Some(branch) = head.strip_prefix("ref: ") else { return Some(head) };
    // A linked working tree has its branches in the main one.
    let common = read_watched(&folder.join("commondir")).map_or(folder.clone(), |path| folder.join(path));
    read_watched(&common.join(branch)).or_else(|| {
        let packed = read_watched(&common.join("packed-refs"))?;
        let line = packed.lines().find(|line| line.ends_with(branch))?;
        line.split_once(' ').map(|(commit, _)| commit.to_owned())
    })
}

/// Git's folder: `path` itself, or the folder that the file `path` names.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.into());
    }
    let text = std::fs::read_to_string(path).ok()?;
    Some(PathBuf::from(text.trim().strip_prefix("gitdir: ")?))
}

/// The content of a file without blanks around it; a change of the file makes cargo build again.
fn read_watched(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text.trim().to_owned())
}
