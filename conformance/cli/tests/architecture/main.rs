//! No two root modules of a crate need each other, directly or by way of others, and no two crates do.
//!
//! Dependencies point one way, so that each part can be read knowing only what is below it.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod crates;
mod graph;
mod modules;
mod planted;
mod tokens;

use std::path::{Path, PathBuf};

/// What the suite may not depend on: an engine, a device, a command line.
const ABOVE_THE_SUITE: [&str; 8] =
    ["engine", "backend-hip", "softhip", "forensics", "zoo", "clap", "indicatif", "quick-junit"];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn root_modules_form_no_cycle() {
    let mut wrong = Vec::new();
    for member in crates::members(&top()) {
        let cycles: Vec<String> =
            member.roots(&top()).iter().flat_map(|root| modules::graph(root).cycles()).collect();
        wrong.extend(cycles.iter().map(|cycle| format!("{}: {cycle}", member.name)));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn crates_form_no_cycle() {
    let members = crates::members(&top());
    assert!(members.len() >= 10, "{} crates", members.len());
    let cycles = crates::graph(&top(), &members).cycles();
    assert!(cycles.is_empty(), "\n{}", cycles.join("\n"));
}

#[test]
fn the_suite_depends_on_nothing_above_it() {
    let members = crates::members(&top());
    let suite = members.iter().find(|member| member.name == "assay-conformance").unwrap();
    let needed = suite.dependencies(&["dependencies", "build-dependencies"]);
    assert!(needed.contains(&"kernels"));
    let above: Vec<_> = needed.iter().filter(|name| ABOVE_THE_SUITE.contains(name)).collect();
    assert!(above.is_empty(), "{above:?}");
}

/// A published package holds only its own files: nothing may be included from outside it.
#[test]
fn no_package_includes_a_file_from_outside() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for member in crates::members(&top()) {
        let package = top().join(&member.folder).canonicalize().unwrap();
        for source in crates::sources(&package.join("src")) {
            let text = std::fs::read_to_string(&source).unwrap();
            for included in included(&text) {
                seen += 1;
                // What is made up of parts (`concat!`) is judged by its first part, the folder.
                let path = source.parent().unwrap().join(&included);
                let inside = path.canonicalize().is_ok_and(|path| path.starts_with(&package));
                if !inside {
                    wrong.push(format!("{}: {included} is not in package {}", source.display(), member.name));
                }
            }
        }
    }
    assert!(seen >= 10, "only {seen} included files were found");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The paths in `include_str!("…")` and `include_bytes!(concat!("…", …))`.
fn included(text: &str) -> Vec<String> {
    let after = |start: usize| text[start..].split('"').nth(1).map(str::to_owned);
    ["include_str!(", "include_bytes!(", "include!("]
        .into_iter()
        .flat_map(|call| text.match_indices(call).filter_map(move |(at, _)| after(at)))
        .collect()
}

/// CONTRIBUTING.md has a table that says why each dependency is there.
#[test]
fn contributing_says_why_each_dependency_is_there() {
    let members = crates::members(&top());
    let page = std::fs::read_to_string(top().join("CONTRIBUTING.md")).unwrap();
    let (_, table) = page.split_once("\n## Dependencies\n").unwrap();
    let ours = crates::workspace_keys(&top());
    let all = members.iter().flat_map(|member| member.dependencies(&["dependencies", "dev-dependencies"]));
    let unsaid: std::collections::BTreeSet<&str> = all
        .filter(|name| !ours.iter().any(|key| key == name) && !table.contains(&format!("`{name}`")))
        .collect();
    assert!(unsaid.is_empty(), "CONTRIBUTING.md does not say why these are there: {unsaid:?}");
}

/// Licences under which code may become part of ours.
const LICENCES: [&str; 14] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
    "CC0-1.0",
    "0BSD",
    "BSL-1.0",
    "MIT-0",
    // Copyleft by file: no file of ours is touched by it.
    "MPL-2.0",
];

/// Every crate that a build takes in has a licence, and one of the alternatives it offers is on the list.
#[test]
fn every_dependency_has_a_licence_that_allows_ours() {
    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(top())
        .output()
        .unwrap();
    assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "{} packages", packages.len());
    let mut wrong = Vec::new();
    for package in packages {
        let licence = package["license"].as_str().unwrap_or("none");
        // Alternatives are separated by OR, in old manifests by a slash; parentheses group what goes together.
        let alternatives = licence.replace(['(', ')'], "").replace('/', " OR ");
        let allowed = alternatives
            .split(" OR ")
            .any(|together| together.split(" AND ").all(|one| LICENCES.contains(&one.trim())));
        if !allowed {
            wrong.push(format!("{}: {licence}", package["name"]));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
