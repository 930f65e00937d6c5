//! The READMEs show what the program prints.
//!
//! A block fenced with `console` holds commands, on lines that begin with `$ `, each followed by its output. Every `assay` command
//! runs here, in a folder of its own that has the repository's folders. In the expected output, `…` stands for any text inside a
//! line, and for any lines where it stands alone. `$ echo $?` shows the exit code. A block that a test cannot run says why behind
//! `console`: `needs=model`, `needs=gpu`, `needs=clang` or `needs=minutes`.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The pages, relative to the repository's root.
const PAGES: [&str; 3] = ["README.md", "kernels/README.md", "conformance/README.md"];

/// What a block may need that a test cannot count on.
const NEEDS: [&str; 4] = ["needs=model", "needs=gpu", "needs=clang", "needs=minutes"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A command of a page with the output that the page shows.
#[derive(Debug)]
struct Shown {
    page: &'static str,
    line: usize,
    command: String,
    output: Vec<String>,
}

/// The commands in the blocks of a page that can run here.
fn commands(page: &'static str) -> Vec<Shown> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let mut shown: Vec<Shown> = Vec::new();
    let (mut fenced, mut runs) = (false, false);
    for (at, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            let mut words = info.split_whitespace();
            runs = !fenced && words.next() == Some("console");
            fenced = !fenced;
            if let Some(need) = words.next().filter(|_| runs) {
                assert!(NEEDS.contains(&need), "{page}:{}: '{need}' is none of {NEEDS:?}", at + 1);
                runs = false;
            }
        } else if let (true, Some(command)) = (runs, line.strip_prefix("$ ")) {
            shown.push(Shown { page, line: at + 1, command: command.into(), output: Vec::new() });
        } else if let (true, Some(last)) = (runs, shown.last_mut()) {
            last.output.push(line.into());
        }
    }
    shown
}

/// The words of a command line; single quotes keep blanks.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// Whether `text` is `pattern`, in which `…` is any text.
fn line_matches(pattern: &str, text: &str) -> bool {
    let Some((head, mut rest)) = pattern.split_once('…') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    while let Some((part, after)) = rest.split_once('…') {
        let Some(at) = text.find(part) else { return false };
        (text, rest) = (&text[at + part.len()..], after);
    }
    text.ends_with(rest)
}

/// Whether `lines` are those of `pattern`, in which a line `…` is any lines.
fn lines_match(pattern: &[String], lines: &[&str]) -> bool {
    match (pattern.split_first(), lines.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first == "…" => {
            (0..=lines.len()).any(|skip| lines_match(rest, &lines[skip..]))
        }
        (Some((first, rest)), Some((line, lines))) => {
            line_matches(first, line.trim_end()) && lines_match(rest, lines)
        }
        _ => false,
    }
}

#[test]
fn every_command_prints_what_its_page_shows() {
    let mut wrong = Vec::new();
    for page in PAGES {
        let folder = tempfile::tempdir().unwrap();
        for layer in ["backend-cpu", "backend-hip", "benches", "conformance", "engine", "golden", "kernels"] {
            symlink(root().join(layer), folder.path().join(layer)).unwrap();
        }
        let mut code = None;
        for shown in commands(page) {
            let (printed, expected) = match words(&shown.command) {
                words if words == ["echo", "$?"] => (format!("{}", code.unwrap()), &shown.output),
                words => {
                    assert_eq!(words[0], "assay", "{page}:{}: {}", shown.line, shown.command);
                    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
                        .args(&words[1..])
                        .current_dir(folder.path())
                        .env_remove("GITHUB_ACTIONS")
                        .env_remove("ASSAY_HIP_OBJECTS")
                        .output()
                        .unwrap();
                    code = output.status.code();
                    // Progress goes to stderr, and so do errors, which end a command that printed nothing else.
                    let stream = if output.stdout.is_empty() { output.stderr } else { output.stdout };
                    (String::from_utf8_lossy(&stream).trim_end().to_owned(), &shown.output)
                }
            };
            let lines: Vec<&str> = printed.lines().collect();
            let expected =
                &expected[..expected.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1)];
            if !lines_match(expected, &lines) {
                let Shown { page, line, command, .. } = &shown;
                wrong.push(format!(
                    "{page}:{line}: $ {command}\nprints\n{printed}\nand the page shows\n{}",
                    expected.join("\n")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn the_first_page_has_commands_that_run_here() {
    let commands = commands("README.md");
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
