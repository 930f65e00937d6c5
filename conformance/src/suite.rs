//! All cases: which there are, and running one by name.

use std::collections::{HashMap, HashSet};

use kernels::{Expected, SplitMix64};

use crate::family::Cases;
use crate::name::{CaseName, NameError};
use crate::ops::FAMILIES;
use crate::outcome::CaseResult;
use crate::target::Target;
use crate::trial::Judge;

/// The comparison of every sweep.
pub const JUDGE: Judge = Expected::judge;

/// The case called `full`, and the family that it belongs to.
fn find(full: &str) -> Result<(CaseName, &'static dyn Cases), NameError> {
    let (name, _) = CaseName::parse(full)?;
    match FAMILIES.iter().copied().find(|family| family.stem() == name.stem) {
        Some(family) => Ok((name, family)),
        None => Err(NameError { name: full.into(), why: "this op has no cases".into() }),
    }
}

/// Whether `full` is the name of a case, enumerated or not.
pub fn understands(full: &str) -> Result<(), NameError> {
    let (name, family) = find(full)?;
    family.understands(&name)
}

/// Full names of the cases that every sweep runs on `backend`, those that contain each word of `filter`.
pub fn names(backend: &str, filter: &Filter) -> Vec<String> {
    let all = FAMILIES.iter().flat_map(|family| family.names());
    all.map(|name| name.on(backend)).filter(|name| filter.matches(name)).collect()
}

/// Runs the case called `full` on `target`.
pub fn run(full: &str, target: &dyn Target, judge: Judge) -> Result<CaseResult, NameError> {
    let (name, family) = find(full)?;
    family.run(&name, full, target, judge)
}

/// Words that a case's name must contain, all of them. A word without a slash is not looked for in the backend's name: `cpu` would
/// otherwise be in every name of that backend, and `soft` in more than those of `softmax`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter(Vec<String>);

impl Filter {
    /// The filter of the words in `text`, separated by blanks.
    pub fn new(text: &str) -> Self {
        Filter(text.split_whitespace().map(str::to_owned).collect())
    }

    /// Whether `name` contains every word.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = name.splitn(3, '/');
        let (op, _, rest) =
            (parts.next().unwrap_or_default(), parts.next(), parts.next().unwrap_or_default());
        self.0.iter().all(|word| {
            let word = word.as_str();
            if word.contains('/') { name.contains(word) } else { op.contains(word) || rest.contains(word) }
        })
    }
}

/// How many of the cases run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slice {
    /// A part of each op, format and kind, chosen by hash, with every value of every field of a name in it: a verdict in a minute.
    Quick,
    /// Every case.
    Full,
}

/// Of every op, format and kind, the quick slice has one case of so many.
const QUICK_SHARE: usize = 32;

/// And at least so many, where there are as many.
const QUICK_LEAST: usize = 3;

impl Slice {
    /// Keeps the slice's part of `names`, in their order. A name is kept or left out for all backends alike.
    pub fn of(self, names: Vec<String>) -> Vec<String> {
        if self == Slice::Full {
            return names;
        }
        let mut groups: HashMap<String, Vec<(u64, usize)>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            let (group, hash) = stratum(name);
            groups.entry(group).or_default().push((hash, at));
        }
        let mut kept = vec![false; names.len()];
        for group in groups.values_mut() {
            group.sort_unstable();
            let count = group.len().div_ceil(QUICK_SHARE).max(QUICK_LEAST);
            let mut seen = HashSet::new();
            for (nth, (_, at)) in group.iter().enumerate() {
                let new = values(&names[*at]).fold(false, |new, value| seen.insert(value) | new);
                kept[*at] = nth < count || new;
            }
        }
        names.into_iter().zip(kept).filter_map(|(name, kept)| kept.then_some(name)).collect()
    }
}

/// The fields of a case's name, `field=value` each, and rows with the length of a row: kernels choose their way by both. A seed is no
/// property of a case.
fn values(full: &str) -> impl Iterator<Item = &str> {
    let fields = full.splitn(4, '/').nth(3).unwrap_or_default();
    let start = fields
        .find("rows=")
        .filter(|start| fields[*start..].split(',').nth(1).is_some_and(|f| f.starts_with("n=")));
    let shape = start.map(|start| {
        let rest = &fields[start..];
        let end = rest.match_indices(',').nth(1).map_or(rest.len(), |(at, _)| at);
        &rest[..end]
    });
    fields.split(',').filter(|field| !field.starts_with("seed=")).chain(shape)
}

/// The group of a case, `op/format/kind`, and a hash of its name without the backend: the same on every machine.
fn stratum(full: &str) -> (String, u64) {
    let mut parts = full.splitn(4, '/');
    let (op, _, format, rest) = (parts.next(), parts.next(), parts.next(), parts.next().unwrap_or_default());
    let kind = rest.split(',').next().unwrap_or_default();
    let (op, format) = (op.unwrap_or_default(), format.unwrap_or_default());
    // FNV-1a, with a last mix so that names that differ in their last letter are far apart.
    let bytes = op.bytes().chain(format.bytes()).chain(rest.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    (format!("{op}/{format}/{kind}"), SplitMix64::new(hash).next_u64())
}

/// One part of a sweep that several machines share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Shard = Shard { index: 1, count: 1 };

    /// Keeps every `count`-th name.
    pub fn of<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.index - 1).step_by(self.count).collect()
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Shard { index, count }),
            _ => Err(format!("'{text}' is not a shard: want I/N with I from 1 to N")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_cover_everything_once() {
        let all: Vec<u32> = (0..10).collect();
        let mut together: Vec<u32> =
            ["1/3", "2/3", "3/3"].iter().flat_map(|s| s.parse::<Shard>().unwrap().of(all.clone())).collect();
        together.sort_unstable();
        assert_eq!(together, all);
        for bad in ["0/3", "4/3", "1", "x/y", "1/0"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_quick_slice_has_every_op_format_and_kind_and_is_the_same_for_all_backends() {
        let all = names("cpu", &Filter::default());
        let quick = Slice::Quick.of(all.clone());
        let groups =
            |names: &[String]| names.iter().map(|n| stratum(n).0).collect::<std::collections::BTreeSet<_>>();
        assert_eq!(groups(&all), groups(&quick));
        let covered = |names: &[String]| -> HashSet<(String, String)> {
            names
                .iter()
                .flat_map(|n| values(n).map(|v| (stratum(n).0, v.to_owned())).collect::<Vec<_>>())
                .collect()
        };
        assert_eq!(covered(&all), covered(&quick), "every value of every field");
        assert!(quick.len() * 5 < all.len(), "{} of {}", quick.len(), all.len());
        let other: Vec<String> = Slice::Quick.of(names("soft", &Filter::default()));
        let without = |name: &String| stratum(name);
        assert!(quick.iter().map(without).eq(other.iter().map(without)));
        assert_eq!(Slice::Full.of(all.clone()), all);
    }

    #[test]
    fn names_are_unique_and_lead_back_to_their_cases() {
        let names = names("cpu", &Filter::default());
        let unique: HashSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        for name in &names {
            understands(name).unwrap();
        }
        assert!(names.len() >= 20_000, "{}", names.len());
    }

    #[test]
    fn every_op_has_cases_of_its_own() {
        let stems: Vec<_> = FAMILIES.iter().map(|family| family.stem()).collect();
        assert_eq!(stems, kernels::Stem::ALL);
    }

    #[test]
    fn a_filter_wants_every_word() {
        let filter = Filter::new("rope neox");
        assert!(filter.matches("rope/cpu/f32/bounded,pairing=neox"));
        assert!(!filter.matches("rope/cpu/f32/bounded,pairing=interleaved"));
    }

    #[test]
    fn a_word_without_a_slash_does_not_match_the_backend() {
        assert!(!Filter::new("soft").matches("rope/soft/f32/bounded,n=3"));
        assert!(Filter::new("soft").matches("softmax/cpu/f32/bounded,n=3"));
        assert!(Filter::new("/soft/").matches("rope/soft/f32/bounded,n=3"));
        assert!(Filter::new("rope/soft/f32/bounded,n=3").matches("rope/soft/f32/bounded,n=3"));
    }
}
