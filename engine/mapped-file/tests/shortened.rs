//! A mapped file that is shortened. The test runs itself once more, since the access ends the process.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Output};

use mapped_file::{MappedFile, explain_bus_errors};

/// Tells a process of this test what to do: the file to map, shorten and read.
const CHILD: &str = "ASSAY_TEST_SHORTENED";

fn child(path: &Path, test: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(CHILD, path).output().unwrap()
}

fn map_shorten_and_read(path: &Path) {
    explain_bus_errors().unwrap();
    let other = MappedFile::open(&std::env::current_exe().unwrap()).unwrap();
    let file = MappedFile::open(path).unwrap();
    drop(other);
    assert_eq!(file.as_ref()[1 << 20], 0);
    OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap();
    assert_eq!(file.as_ref()[0], 0, "the first page is still there");
    println!("read {}", file.as_ref()[1 << 20]);
}

#[test]
fn the_message_names_the_file() {
    if let Some(path) = std::env::var_os(CHILD) {
        return map_shorten_and_read(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    File::create(&path).unwrap().set_len(2 << 20).unwrap();
    let output = child(&path, "the_message_names_the_file");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    let expected = format!("error: {}: a part of the file is gone", path.display());
    assert!(said.contains(&expected) && said.contains("--no-mmap"), "{said}");
}

#[test]
fn empty_and_whole_files_are_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    for bytes in [&b""[..], b"some bytes"] {
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(MappedFile::open(&path).unwrap().as_ref(), bytes);
    }
    assert!(MappedFile::open(folder.path()).is_err());
}
