//! Every op and every format has all of its files.
//!
//! `assay_cli::layers` is the list of an op's files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use assay_cli::layers::{Names, omissions};
use kernels::{DType, Stem};
use safetensors::SafeTensors;

/// Headings of an op's page, in their order.
const OP_PAGE: [&str; 6] = ["Formula", "Operands", "Errors", "Bound", "Edge cases", "References"];

/// Headings of a format's page, in their order.
const FORMAT_PAGE: [&str; 4] = ["Layout", "Formula", "Exactness", "References"];

/// Bytes that all golden files together may take.
const GOLDEN_BYTES: u64 = 8_000_000;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What is wrong with the page in `path`: headings other than `due`, or one with nothing under it.
fn page_faults(path: &str, due: &[&str]) -> Vec<String> {
    let text = match fs::read_to_string(top().join(path)) {
        Ok(text) => text,
        Err(error) => return vec![format!("{path}: {error}")],
    };
    let mut sections: Vec<(&str, usize)> = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("//!")).map(str::trim) {
        match (line.strip_prefix("# "), sections.last_mut()) {
            (Some(heading), _) => sections.push((heading, 0)),
            (None, Some((_, lines))) => *lines += usize::from(!line.is_empty()),
            (None, None) => {}
        }
    }
    let headings: Vec<_> = sections.iter().map(|(heading, _)| *heading).collect();
    if headings != due {
        return vec![format!("{path}: headings {headings:?}, due are {due:?}")];
    }
    let empty = sections.iter().filter(|(_, lines)| *lines == 0);
    empty.map(|(heading, _)| format!("{path}: nothing under '{heading}'")).collect()
}

#[track_caller]
fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_op_has_a_file_in_every_layer() {
    let content = |path: &str| fs::read(top().join(path)).ok();
    let each = |stem: &Stem| omissions(&Names::of(*stem), stem.facts().class, content);
    assert_none(&Stem::ALL.iter().flat_map(each).collect::<Vec<_>>());
}

#[test]
fn every_format_has_a_page_and_golden_blocks() {
    for dtype in DType::WEIGHTS {
        let (page, says) = if dtype.is_quantised() {
            (format!("kernels/src/quant/{dtype}.rs"), "impl BlockFormat<".to_owned())
        } else {
            ("kernels/src/quant/float.rs".into(), format!("DType = DType::{dtype:?};"))
        };
        let text = fs::read_to_string(top().join(&page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(&says), "{page} does not say '{says}'");
        let golden = top().join(format!("golden/quant/{dtype}.safetensors"));
        assert!(golden.exists(), "{} is missing", golden.display());
    }
}

#[test]
fn every_page_has_its_headings() {
    let ops = Stem::ALL.iter().map(|stem| page_faults(&format!("kernels/src/ops/{stem}.rs"), &OP_PAGE));
    let formats = DType::WEIGHTS.into_iter().map(|dtype| {
        let page = if dtype.is_quantised() { dtype.name() } else { "float" };
        page_faults(&format!("kernels/src/quant/{page}.rs"), &FORMAT_PAGE)
    });
    assert_none(&ops.chain(formats).flatten().collect::<Vec<_>>());
}

/// Every file in the folders of `golden/`.
fn golden_paths() -> Vec<PathBuf> {
    let folders = fs::read_dir(top().join("golden")).unwrap().map(|entry| entry.unwrap().path());
    let entries = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Every safetensors file in the folders of `golden/`, with its content.
fn golden_files() -> Vec<(PathBuf, Vec<u8>)> {
    let golden =
        golden_paths().into_iter().filter(|path| path.extension().is_some_and(|e| e == "safetensors"));
    golden
        .map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        })
        .collect()
}

#[test]
fn golden_files_name_what_made_them() {
    for (path, bytes) in golden_files() {
        let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
        let metadata = header.metadata().clone().unwrap_or_default();
        let generator = metadata.get("generator").map_or("", String::as_str);
        assert!(generator.contains("make.py"), "{}: generator '{generator}'", path.display());
        let version = generator.contains("numpy ") || metadata.contains_key("numpy");
        assert!(version, "{}: no version of numpy in '{generator}'", path.display());
    }
}

#[test]
fn golden_files_are_small_together() {
    let total: u64 = golden_paths().iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!((1..=GOLDEN_BYTES).contains(&total), "{total} bytes, {GOLDEN_BYTES} may be");
}
