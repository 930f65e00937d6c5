//! The table of limits in SECURITY.md: its numbers are those of the code, and its tests exist.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::fs;
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A row of the table.
#[derive(Debug, PartialEq)]
struct Limit {
    number: u128,
    constant: String,
    file: String,
    test: String,
}

fn table() -> Vec<Limit> {
    let text = fs::read_to_string(top().join("SECURITY.md")).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with("Limits")).unwrap();
    section.lines().filter(|line| line.starts_with('|')).skip(2).map(row).collect()
}

fn row(line: &str) -> Limit {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [_, number, constant, test] = cells[..] else { panic!("{line}") };
    let (constant, file) = constant.split_once(" in ").unwrap();
    let plain = |text: &str| text.trim_matches('`').to_owned();
    Limit {
        number: number.replace(',', "").parse().unwrap(),
        constant: plain(constant),
        file: plain(file),
        test: plain(test),
    }
}

/// The value of a constant in a source file: an integer, or a product or shift of two.
fn value(source: &str, constant: &str) -> Option<u128> {
    let definition = source.split(&format!("const {constant}: ")).nth(1)?;
    let expression = definition.split(" = ").nth(1)?.split(';').next()?;
    let number = |text: &str| text.trim().replace('_', "").parse::<u128>().ok();
    if let Some((left, right)) = expression.split_once("<<") {
        return number(left)?.checked_shl(number(right)?.try_into().ok()?);
    }
    number(expression)
}

/// The text of every Rust file below `folder`.
fn sources(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_limits_of_the_security_page_are_those_of_the_code() {
    let limits = table();
    assert!(limits.len() > 10, "{limits:?}");
    let mut all = String::new();
    for folder in ["engine", "conformance", "backend-hip", "kernels"] {
        sources(&top().join(folder), &mut all);
    }
    for Limit { number, constant, file, test } in limits {
        let source = fs::read_to_string(top().join(&file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(value(&source, &constant), Some(number), "{constant} in {file}");
        assert!(all.contains(&format!("fn {test}(")), "there is no test '{test}'");
    }
}

#[test]
fn values_are_read_from_definitions() {
    let source = "pub const A: usize = 128 << 10;\nconst B: u64 = 10_000;\n";
    assert_eq!(
        (value(source, "A"), value(source, "B"), value(source, "C")),
        (Some(131_072), Some(10_000), None)
    );
}
