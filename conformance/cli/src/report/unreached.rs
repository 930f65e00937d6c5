//! What no case reaches of the program's own kernels, each with a reason: `kernels/hip/unreached.toml`.
//!
//! The list is held to what a sweep of all cases finds, in both directions: something that is missing and not listed is a complaint, and
//! so is something that is listed and not missing.

use kernels::device_code;
use serde::Deserialize;

/// What is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// No wave came to a block.
    Block,
    /// No wave took a branch.
    Taken,
    /// Every wave took a branch.
    NotTaken,
}

/// Something that no case reaches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The kernel.
    pub kernel: String,
    /// What is missing.
    pub missing: Missing,
    /// Source lines of the block or the branch; none where the compiler gave none.
    pub lines: Vec<String>,
    /// The same in a sentence.
    pub text: String,
}

/// An entry of the list: so many blocks or directions of some kernels.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Names of the kernels; `*` stands for any letters.
    pub kernels: String,
    /// A source line, `file:number`; empty for instructions that have none.
    pub line: String,
    /// What is missing there.
    pub missing: Missing,
    /// How many of them there are.
    pub count: usize,
    /// Why no case reaches them.
    pub reason: String,
}

impl Entry {
    fn covers(&self, item: &Item) -> bool {
        let line = if self.line.is_empty() { item.lines.is_empty() } else { item.lines.contains(&self.line) };
        line && self.missing == item.missing && matches(&self.kernels, &item.kernel)
    }
}

/// Whether a name is as a pattern says, in which `*` stands for any letters.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| matches(rest, name)))
        }),
    }
}

/// The list of the program's own kernels.
pub fn list() -> Result<Vec<Entry>, toml::de::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct List {
        #[serde(default)]
        unreached: Vec<Entry>,
    }
    toml::from_str::<List>(device_code::UNREACHED).map(|list| list.unreached)
}

/// Where what is missing and what is listed differ, in sentences.
pub fn complaints(missing: &[Item], list: &[Entry]) -> Vec<String> {
    let mut found = vec![0; list.len()];
    let mut complaints = Vec::new();
    for item in missing {
        match list.iter().position(|entry| entry.covers(item)) {
            Some(at) => found[at] += 1,
            None => complaints.push(format!("{}{}", item.kernel, item.text)),
        }
    }
    for (entry, found) in list.iter().zip(found) {
        if found != entry.count {
            let Entry { kernels, line, missing, count, .. } = entry;
            complaints
                .push(format!("unreached.toml: {kernels} {line} {missing:?}: {count} listed, {found} there"));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use kernels::Stem;

    use super::*;
    use crate::backends::{self, Settings};

    fn item(kernel: &str, line: &str, missing: Missing) -> Item {
        Item { kernel: kernel.into(), missing, lines: vec![line.into()], text: "+0x10: a block".into() }
    }

    fn entry(kernels: &str, line: &str, count: usize) -> Entry {
        Entry {
            kernels: kernels.into(),
            line: line.into(),
            missing: Missing::Block,
            count,
            reason: "a test".into(),
        }
    }

    #[test]
    fn what_is_missing_and_what_is_listed_must_be_the_same() {
        let missing = [
            item("rope_neox", "rope.hip:7", Missing::Block),
            item("rope_neox", "rope.hip:7", Missing::Taken),
        ];
        let of = |list: &[Entry]| complaints(&missing, list);
        assert_eq!(of(&[]).len(), 2);
        assert_eq!(of(&[entry("rope_*", "rope.hip:7", 1)]), ["rope_neox+0x10: a block"]);
        assert_eq!(of(&[entry("rope_*", "rope.hip:7", 2)]).len(), 2, "one of two that are listed is reached");
        assert_eq!(of(&[entry("rope_*", "rope.hip:8", 1)]).len(), 3);
        assert_eq!(of(&[entry("softmax*", "rope.hip:7", 1)]).len(), 3);
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        for (pattern, name, is) in [
            ("matmul_*_m1", "matmul_q8_0_m1", true),
            ("matmul_*_m1", "matmul_q8_0_m2", false),
            ("add", "add", true),
            ("add", "adds", false),
            ("*", "", true),
            ("a*b*c", "abbc", true),
        ] {
            assert_eq!(matches(pattern, name), is, "{pattern} {name}");
        }
    }

    /// That what is listed is missing is a matter of a whole sweep: `assay check --full --backend soft --coverage FILE`.
    #[test]
    fn entries_name_lines_and_kernels_that_there_are_and_say_why() {
        let objects = backends::device_code("soft", &Settings::default(), Stem::ALL).unwrap();
        let kernels: Vec<String> = objects.into_iter().flat_map(|object| object.kernels).collect();
        let sources: Vec<(String, &str)> = device_code::HEADERS
            .iter()
            .map(|(name, text)| ((*name).to_owned(), *text))
            .chain(
                device_code::STEMS
                    .iter()
                    .filter_map(|stem| Some((format!("{stem}.hip"), device_code::source(stem)?))),
            )
            .collect();
        for entry in list().unwrap() {
            assert!(kernels.iter().any(|kernel| matches(&entry.kernels, kernel)), "{entry:?}");
            assert!(entry.count > 0 && entry.reason.len() > 20, "{entry:?}");
            let Some((file, line)) = entry.line.split_once(':') else {
                assert!(entry.line.is_empty(), "{entry:?}");
                continue;
            };
            let text = sources.iter().find(|(name, _)| name == file).map(|(_, text)| *text);
            let line = text.and_then(|text| text.lines().nth(line.parse::<usize>().unwrap() - 1));
            assert!(line.is_some_and(|line| !line.trim().is_empty()), "{entry:?}");
        }
    }
}
