//! Which root module of a crate names which.
//!
//! Paths through `crate`, `$crate`, `self` and `super` count, wherever they stand; a re-export of the crate's root leads to the module
//! that has the item. What the root defines itself belongs to a node of its own, [`ROOT`]. Code under `#[cfg(test)]` does not count.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice::from_ref;

use crate::graph::Graph;
use crate::tokens::{Token, tokens};

/// The node of what the root file defines, other than modules and re-exports.
pub const ROOT: &str = "the crate's root";

/// A file of a crate.
struct File {
    path: PathBuf,
    /// Names of its module and those around it, from the root's child inwards; empty for the root.
    module: Vec<String>,
    tokens: Vec<(Token, usize)>,
}

/// Who needs whom among the root modules of the crate whose root file is `root`.
pub fn graph(root: &Path) -> Graph {
    let mut files = Vec::new();
    let folder = root.parent().unwrap_or(Path::new(".")).to_owned();
    collect(root.to_owned(), &[], &folder, &mut files);
    let homes = homes(&files);
    let mut graph = Graph::default();
    for file in &files {
        let show = file.path.strip_prefix(&folder).unwrap_or(&file.path).display().to_string();
        let own = file.module.first().map_or(ROOT, String::as_str);
        let mut scan = Scan { file, homes: &homes, inside: Vec::new(), found: Vec::new() };
        scan.run();
        for (name, line) in scan.found {
            let to = match homes.get(&name) {
                Some(home) => home.as_str(),
                None if own == ROOT => continue,
                None => ROOT,
            };
            graph.add(own, to, || format!("{show}:{line}"));
        }
    }
    graph
}

/// Reads the module in `path` and those below it, whose files are in `folder`.
fn collect(path: PathBuf, module: &[String], folder: &Path, files: &mut Vec<File>) {
    let source = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let tokens = without_tests(&tokens(&source));
    let mut below = Vec::new();
    for (at, window) in tokens.windows(3).enumerate() {
        let [(Token::Word(keyword), _), (Token::Word(name), _), (Token::Mark(';'), _)] = window else {
            continue;
        };
        if keyword == "mod" {
            let beside = path.parent().unwrap_or(Path::new("."));
            let candidates = match path_attribute(&tokens[..at]) {
                Some(told) => vec![beside.join(told)],
                None => vec![folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")],
            };
            // A module that another system has, or a macro's text, has no file here.
            if let Some(found) = candidates.into_iter().find(|path| path.exists()) {
                below.push((found, name.clone()));
            }
        }
    }
    files.push(File { path, module: module.to_vec(), tokens });
    for (found, name) in below {
        let module = [module, from_ref(&name)].concat();
        collect(found, &module, &folder.join(&name), files);
    }
}

/// The path in an attribute `#[path = "…"]` that ends the tokens, a visibility aside.
fn path_attribute(before: &[(Token, usize)]) -> Option<&str> {
    let end = before.iter().rposition(|(token, _)| *token == Token::Mark(']'))?;
    match &before[end.checked_sub(5)?..end] {
        [.., (Token::Word(path), _), (Token::Mark('='), _), (Token::Text(told), _)]
            if path == "path" && before.len() - end <= 5 =>
        {
            Some(told)
        }
        _ => None,
    }
}

/// The tokens without the items that only tests see.
fn without_tests(tokens: &[(Token, usize)]) -> Vec<(Token, usize)> {
    let mark = |at: usize, c: char| matches!(tokens.get(at), Some((Token::Mark(m), _)) if *m == c);
    let word = |at: usize, w: &str| matches!(tokens.get(at), Some((Token::Word(x), _)) if x == w);
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let test = mark(at, '#')
            && mark(at + 1, '[')
            && word(at + 2, "cfg")
            && mark(at + 3, '(')
            && word(at + 4, "test")
            && mark(at + 5, ')');
        if test {
            at = end_of_item(tokens, at + 7);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// The end of the item that begins at `at`: behind its semicolon or its braces.
fn end_of_item(tokens: &[(Token, usize)], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some((token, _)) = tokens.get(at) {
        at += 1;
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']') => depth -= 1,
            Token::Mark('}') => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            Token::Mark(';') if depth == 0 => break,
            _ => {}
        }
    }
    at
}

/// The root module that has each name which a path from the root may begin with: modules, re-exports, exported macros.
fn homes(files: &[File]) -> HashMap<String, String> {
    let mut homes = HashMap::new();
    for file in files {
        if let Some(module) = file.module.first() {
            homes.insert(module.clone(), module.clone());
            for window in file.tokens.windows(3) {
                if let [(Token::Word(rules), _), (Token::Mark('!'), _), (Token::Word(name), _)] = window
                    && rules == "macro_rules"
                {
                    homes.insert(name.clone(), module.clone());
                }
            }
        }
    }
    let root = &files[0];
    for (name, from) in re_exports(root) {
        if let Some(home) = homes.get(&from).cloned() {
            homes.entry(name).or_insert(home);
        }
    }
    homes
}

/// Names that the root re-exports, each with the first name of its path.
fn re_exports(root: &File) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < root.tokens.len() {
        if matches!(&root.tokens[at].0, Token::Word(word) if word == "use") {
            let end = end_of_item(&root.tokens, at + 1);
            let mut leaves = Vec::new();
            use_tree(&root.tokens[at + 1..end], &mut Vec::new(), &mut leaves);
            for mut path in leaves {
                path.retain(|segment| segment != "crate" && segment != "self");
                if let [from, .., name] = path.as_slice() {
                    found.push((name.clone(), from.clone()));
                }
            }
            at = end;
        } else {
            at += 1;
        }
    }
    found
}

/// The paths of a `use`: as they are named, a renamed one by its new name. Returns how many tokens it took.
fn use_tree(tokens: &[(Token, usize)], prefix: &mut Vec<String>, leaves: &mut Vec<Vec<String>>) -> usize {
    let depth = prefix.len();
    let mut at = 0;
    let mut group = false;
    while let Some((token, _)) = tokens.get(at) {
        at += 1;
        match token {
            Token::Word(word) if word == "as" => {
                prefix.pop();
            }
            Token::Word(word) => prefix.push(word.clone()),
            Token::Mark('{') => {
                group = true;
                loop {
                    at += use_tree(&tokens[at..], prefix, leaves);
                    match tokens.get(at) {
                        Some((Token::Mark(','), _)) => at += 1,
                        _ => break,
                    }
                }
                at += 1;
            }
            Token::Mark(',' | '}' | ';') => {
                at -= 1;
                break;
            }
            Token::PathSep | Token::Text(_) | Token::Mark(_) => {}
        }
    }
    if !group && prefix.len() > depth {
        leaves.push(prefix.clone());
    }
    prefix.truncate(depth);
    at
}

/// Looks for paths that lead through the crate's root.
struct Scan<'f> {
    file: &'f File,
    homes: &'f HashMap<String, String>,
    /// Inline modules around the token at hand: name, and the depth of braces outside it.
    inside: Vec<(String, usize)>,
    /// First names of the paths, with their lines.
    found: Vec<(String, usize)>,
}

impl Scan<'_> {
    fn run(&mut self) {
        let tokens = &self.file.tokens;
        let mut depth = 0;
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at].0 {
                Token::Mark('{') => depth += 1,
                Token::Mark('}') => {
                    depth = usize::saturating_sub(depth, 1);
                    self.inside.retain(|(_, outside)| *outside < depth);
                }
                Token::Word(word) if word == "mod" => {
                    if let [(Token::Word(name), _), (Token::Mark('{'), _)] =
                        &tokens[at + 1..(at + 3).min(tokens.len())]
                    {
                        self.inside.push((name.clone(), depth));
                    }
                }
                Token::Word(word) if word == "pub" && self.is_root() => {
                    if let Some(end) = self.re_export(at) {
                        at = end;
                        continue;
                    }
                }
                Token::Word(word) if !self.follows_path(at) => self.path(word, at),
                _ => {}
            }
            at += 1;
        }
    }

    fn is_root(&self) -> bool {
        self.file.module.is_empty() && self.inside.is_empty()
    }

    fn follows_path(&self, at: usize) -> bool {
        at > 0 && self.file.tokens[at - 1].0 == Token::PathSep
    }

    /// The end of the `pub use` that begins at `at`, if one does.
    fn re_export(&self, at: usize) -> Option<usize> {
        let tokens = &self.file.tokens;
        let mut next = at + 1;
        if tokens.get(next)?.0 == Token::Mark('(') {
            while tokens.get(next)?.0 != Token::Mark(')') {
                next += 1;
            }
            next += 1;
        }
        matches!(&tokens.get(next)?.0, Token::Word(word) if word == "use").then(|| end_of_item(tokens, next))
    }

    /// A path that begins at `at` with `first`: what does it name in the root, if it leads there?
    fn path(&mut self, first: &str, at: usize) {
        let tokens = &self.file.tokens;
        let mut here = self.file.module.len() + self.inside.len();
        let mut next = at + 1;
        let separated = |at: usize| matches!(tokens.get(at), Some((Token::PathSep, _)));
        match first {
            "crate" => here = 0,
            "self" => {}
            "super" => {
                here = here.saturating_sub(1);
                while separated(next)
                    && matches!(tokens.get(next + 1), Some((Token::Word(w), _)) if w == "super")
                {
                    here = here.saturating_sub(1);
                    next += 2;
                }
            }
            // In the root a module needs no prefix.
            name if here == 0 && separated(next) && self.homes.contains_key(name) => {
                self.found.push((name.into(), tokens[at].1));
                return;
            }
            _ => return,
        }
        if here == 0 && separated(next) {
            self.names(next + 1);
        }
    }

    /// The names at `at`: one, or those of a group.
    fn names(&mut self, at: usize) {
        let tokens = &self.file.tokens;
        match &tokens[at] {
            (Token::Word(name), line) => self.found.push((name.clone(), *line)),
            (Token::Mark('*'), line) => self.found.push(("*".into(), *line)),
            (Token::Mark('{'), _) => {
                let mut depth = 0;
                for (offset, (token, line)) in tokens[at..].iter().enumerate() {
                    match token {
                        Token::Mark('{') => depth += 1,
                        Token::Mark('}') => depth -= 1,
                        Token::Word(name)
                            if depth == 1 && begins_item(&tokens[at + offset - 1].0) && name != "self" =>
                        {
                            self.found.push((name.clone(), *line));
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        return;
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether an item of a group begins behind `token`.
fn begins_item(token: &Token) -> bool {
    matches!(token, Token::Mark('{' | ','))
}
