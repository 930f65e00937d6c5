//! Commands on pages, and what they print.
//!
//! A block fenced with `console` holds commands, on lines that begin with `$ `, each followed by its output. In the expected output, `…`
//! stands for any text inside a line, and for any lines where it stands alone. `$ echo $?` shows the exit code. A block may say what it
//! needs behind `console`: `needs=model`, `needs=cc`.

#![allow(dead_code, reason = "each test needs a part")]

use std::path::{Path, PathBuf};

/// What a block may need that a test cannot count on. Tests of their own run those that need a C compiler or Python.
const NEEDS: [&str; 6] =
    ["needs=model", "needs=gpu", "needs=clang", "needs=minutes", "needs=cc", "needs=python"];

/// The top of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A command of a page with the output that the page shows.
#[derive(Debug)]
pub struct Shown {
    pub page: &'static str,
    pub line: usize,
    pub command: String,
    pub output: Vec<String>,
}

/// The commands in the blocks of a page that need nothing, or else `need`.
pub fn commands(page: &'static str, need: Option<&str>) -> Vec<Shown> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let mut shown: Vec<Shown> = Vec::new();
    let (mut fenced, mut runs) = (false, false);
    for (at, line) in text.lines().enumerate() {
        if let Some(info) = line.strip_prefix("```") {
            let mut words = info.split_whitespace();
            runs = !fenced && words.next() == Some("console");
            fenced = !fenced;
            let needed = words.next();
            if let Some(needed) = needed.filter(|_| runs) {
                assert!(NEEDS.contains(&needed), "{page}:{}: '{needed}' is none of {NEEDS:?}", at + 1);
            }
            runs &= needed == need;
        } else if let (true, Some(command)) = (runs, line.strip_prefix("$ ")) {
            shown.push(Shown { page, line: at + 1, command: command.into(), output: Vec::new() });
        } else if let (true, Some(last)) = (runs, shown.last_mut()) {
            last.output.push(line.into());
        }
    }
    shown
}

/// The words of a command line; single quotes keep blanks.
pub fn words(command: &str) -> Vec<String> {
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
pub fn line_matches(pattern: &str, text: &str) -> bool {
    let Some((head, mut rest)) = pattern.split_once('…') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    while let Some((part, after)) = rest.split_once('…') {
        let Some(at) = text.find(part) else { return false };
        (text, rest) = (&text[at + part.len()..], after);
    }
    text.ends_with(rest)
}

/// Whether `lines` are those of `pattern`, in which a line `…` is any lines.
pub fn lines_match(pattern: &[String], lines: &[&str]) -> bool {
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

impl Shown {
    /// What is wrong with what the command printed; none where it is as the page shows.
    pub fn complaint(&self, printed: &str) -> Option<String> {
        let lines: Vec<&str> = printed.lines().collect();
        let end = self.output.iter().rposition(|line| !line.is_empty()).map_or(0, |at| at + 1);
        let expected = &self.output[..end];
        let Shown { page, line, command, .. } = self;
        (!lines_match(expected, &lines)).then(|| {
            format!(
                "{page}:{line}: $ {command}\nprints\n{printed}\nand the page shows\n{}",
                expected.join("\n")
            )
        })
    }
}
