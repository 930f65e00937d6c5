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

/// Crates whose root modules still form cycles. One without a cycle fails until it is off this list.
const NOT_YET: &[&str] = &["assay-kernels", "softhip", "assay-engine"];

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
        match (NOT_YET.contains(&member.name.as_str()), cycles.is_empty()) {
            (false, false) => wrong.extend(cycles.iter().map(|cycle| format!("{}: {cycle}", member.name))),
            (true, true) => wrong.push(format!("{} has no cycle: take it off the list", member.name)),
            (false, true) | (true, false) => {}
        }
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
