//! The READMEs show what the program prints.
//!
//! Every `assay` command that needs nothing runs here, in a folder of its own that has the repository's folders. [`pages`] says how
//! a page shows commands.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod pages;

use std::os::unix::fs::symlink;
use std::process::Command;

use pages::{commands, line_matches, lines_match, root, words};

/// The pages, relative to the repository's root.
const PAGES: [&str; 6] = [
    "README.md",
    "kernels/README.md",
    "conformance/README.md",
    "conformance/kernel-authors.md",
    "conformance/plugin/README.md",
    "conformance/seeds-story.md",
];

#[test]
fn every_command_prints_what_its_page_shows() {
    let mut wrong = Vec::new();
    for page in PAGES {
        let folder = tempfile::tempdir().unwrap();
        for layer in ["backend-cpu", "backend-hip", "benches", "conformance", "engine", "golden", "kernels"] {
            symlink(root().join(layer), folder.path().join(layer)).unwrap();
        }
        let mut code = None;
        for shown in commands(page, None) {
            let printed = match words(&shown.command) {
                words if words == ["echo", "$?"] => format!("{}", code.unwrap()),
                words => {
                    assert_eq!(words[0], "assay", "{page}:{}: {}", shown.line, shown.command);
                    // Cargo builds the library for the tests here.
                    let library = std::env::current_exe().unwrap().with_file_name("libamdhip64.so");
                    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
                        .args(&words[1..])
                        .env("ASSAY_LIBAMDHIP64", library)
                        .current_dir(folder.path())
                        .env_remove("GITHUB_ACTIONS")
                        .env_remove("ASSAY_HIP_OBJECTS")
                        .output()
                        .unwrap();
                    code = output.status.code();
                    // Progress goes to stderr, and so do errors, which end a command that printed nothing else.
                    let stream = if output.stdout.is_empty() { output.stderr } else { output.stdout };
                    String::from_utf8_lossy(&stream).trim_end().to_owned()
                }
            };
            wrong.extend(shown.complaint(&printed));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_first_page_has_commands_that_run_here() {
    let commands = commands("README.md", None);
    for (command, why) in [
        ("check", "a verdict"),
        ("diff", "the first wrong op"),
        ("locate", "the op that faulted"),
        ("run", "a model"),
    ] {
        assert!(commands.iter().any(|shown| words(&shown.command)[1] == command), "{why}: assay {command}");
    }
}

#[test]
fn links_and_pictures_lead_to_files() {
    for page in PAGES {
        let folder = root().join(page).parent().unwrap().to_owned();
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        for part in text.split("](").skip(1) {
            let link = part.split(')').next().unwrap().split('#').next().unwrap();
            if !link.is_empty() && !link.starts_with("http") {
                assert!(folder.join(link).exists(), "{page}: {link}");
            }
        }
    }
}

#[test]
fn patterns_match_lines() {
    assert!(line_matches("1332 cases in … s: … passed", "1332 cases in 7.3 s: 199 passed"));
    assert!(line_matches("a…", "a") && line_matches("…b", "ab") && line_matches("a", "a"));
    assert!(!line_matches("a…b…c", "a c") && !line_matches("a", "ab") && !line_matches("a…", "b"));
    let pattern: Vec<String> = ["one", "…", "four"].map(Into::into).into();
    assert!(
        lines_match(&pattern, &["one", "two", "three", "four"]) && lines_match(&pattern, &["one", "four"])
    );
    assert!(!lines_match(&pattern, &["one", "two"]) && !lines_match(&pattern, &["four"]));
}
