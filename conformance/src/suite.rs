//! All cases: which there are, and running one by name.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use kernels::{Expected, OpForm, Record, SplitMix64, Stem};
use serde::{Deserialize, Serialize};

use crate::covering;
use crate::data;
use crate::family::Cases;
use crate::name::{self, CaseName, NameError};
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

/// The op that the case called `full` is about, on the case's own data.
pub fn record(full: &str) -> Result<Record, NameError> {
    let (name, family) = find(full)?;
    family.record(&name)
}

/// Full names of the cases that every sweep runs on `backend`, those that contain each word of `filter`.
pub fn names(backend: &str, filter: &Filter) -> Vec<String> {
    static ALL: LazyLock<Vec<CaseName>> =
        LazyLock::new(|| FAMILIES.iter().flat_map(|family| family.names()).collect());
    ALL.iter().map(|name| name.on(backend)).filter(|name| filter.matches(name)).collect()
}

/// Full names of the cases just below, at and above the break points of `target`, the backend called `backend`; those that contain each
/// word of `filter`.
pub fn names_around_breakpoints(backend: &str, target: &dyn Target, filter: &Filter) -> Vec<String> {
    let breakpoints = |form: &OpForm| target.breakpoints(form);
    let names = FAMILIES.iter().flat_map(|family| family.around(&breakpoints)).map(|name| name.on(backend));
    let mut seen = HashSet::new();
    names.filter(|name| filter.matches(name) && seen.insert(name.clone())).collect()
}

/// Forms of small ops of `stem`, one of each way in which a backend may compute.
pub fn forms(stem: Stem) -> Vec<OpForm> {
    FAMILIES.iter().filter(|family| family.stem() == stem).flat_map(|family| family.forms()).collect()
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

/// The largest number among the fields of the case called `full`: a measure of how long it takes.
pub fn extent(full: &str) -> u64 {
    let number = |field: &str| field.split_once('=').and_then(|(_, value)| value.parse().ok());
    Parts::of(full).fields().filter_map(number).max().unwrap_or(0)
}

/// How many of the cases run. Each slice is a covering array: chosen by what is in the cases, not by where they stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slice {
    /// Of every op, each two values of different fields that occur together, format and kind among the fields.
    Least,
    /// The same for every op and kind: a verdict in a minute.
    Quick,
    /// Every case.
    Full,
}

impl Slice {
    /// Keeps the slice's part of `names`, in their order. A name is kept or left out for all backends alike.
    pub fn of(self, names: Vec<String>) -> Vec<String> {
        if self == Slice::Full {
            return names;
        }
        let mut groups: HashMap<(String, &str, &str), Vec<usize>> = HashMap::new();
        for (at, name) in names.iter().enumerate() {
            let Parts { op, backend, kind, .. } = Parts::of(name);
            let kind = if self == Slice::Quick { kind } else { "" };
            groups.entry((backend.into(), op, kind)).or_default().push(at);
        }
        let mut kept = vec![false; names.len()];
        for group in groups.values() {
            let mut numbers: HashMap<&str, u32> = HashMap::new();
            let mut row = |at: &usize| -> Vec<u32> {
                let parts = Parts::of(&names[*at]);
                let mut number = |value| {
                    let next = data::index(numbers.len());
                    *numbers.entry(value).or_insert(next)
                };
                [parts.format, parts.kind].into_iter().chain(parts.fields()).map(&mut number).collect()
            };
            let rows: Vec<_> = group.iter().map(&mut row).collect();
            let ties: Vec<_> = group.iter().map(|at| Parts::of(&names[*at]).hash()).collect();
            for chosen in covering::choose(&rows, &ties) {
                kept[group[chosen]] = true;
            }
        }
        names.into_iter().zip(kept).filter_map(|(name, kept)| kept.then_some(name)).collect()
    }
}

/// A case's full name, taken apart.
struct Parts<'n> {
    op: &'n str,
    backend: &'n str,
    format: &'n str,
    kind: &'n str,
    /// The fields after the kind.
    rest: &'n str,
}

impl<'n> Parts<'n> {
    fn of(full: &'n str) -> Self {
        let mut parts = full.splitn(4, '/');
        let mut next = || parts.next().unwrap_or_default();
        let (op, backend, format) = (next(), next(), next());
        let (kind, rest) = next().split_once(',').unwrap_or_default();
        Parts { op, backend, format, kind, rest }
    }

    /// The fields of the name, `field=value` each. A seed is no property of a case.
    fn fields(&self) -> impl Iterator<Item = &'n str> + use<'n> {
        self.rest.split(',').filter(|field| !field.starts_with("seed="))
    }

    /// A hash of the name without the backend: the same on every machine.
    fn hash(&self) -> u64 {
        name::hash(&[self.op, self.format, self.kind, self.rest])
    }
}

/// One part of a sweep that several machines share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Shard = Shard { index: 1, count: 1 };

    /// Which part, from 1.
    pub const fn index(self) -> usize {
        self.index
    }

    /// How many parts there are.
    pub const fn count(self) -> usize {
        self.count
    }

    /// All parts of the same sweep.
    pub fn siblings(self) -> impl Iterator<Item = Shard> {
        (1..=self.count).map(move |index| Shard { index, count: self.count })
    }

    /// This part's share of `n` random cases, which have no names to be chosen by.
    pub const fn share(self, n: usize) -> usize {
        n / self.count + if self.index <= n % self.count { 1 } else { 0 }
    }

    /// The seed of this part's random cases: its own, so that parts do not draw the same ones.
    pub fn seed(self, seed: u64) -> u64 {
        if self == Shard::WHOLE { seed } else { SplitMix64::new(seed ^ (self.index as u64) << 32).next_u64() }
    }

    /// Keeps one part of `count` equal ones, chosen by hash, so that a part is alike in kind to the whole.
    pub fn of(self, all: Vec<String>) -> Vec<String> {
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_cached_key(|at| Parts::of(&all[*at]).hash());
        let mut kept = vec![false; all.len()];
        for at in order.into_iter().skip(self.index - 1).step_by(self.count) {
            kept[at] = true;
        }
        all.into_iter().zip(kept).filter_map(|(name, kept)| kept.then_some(name)).collect()
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
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
    fn the_extent_is_the_largest_size_and_no_seed() {
        assert_eq!(extent("matmul/soft/q8_0/bounded,m=1,n=3,k=16384,seed=99999999"), 16384);
        assert!(names("soft", &Filter::new("rows=65540")).iter().all(|name| extent(name) >= 65540));
        assert!(!names("soft", &Filter::new("rows=65540")).is_empty());
    }

    #[test]
    fn shards_cover_everything_once() {
        let mut all = names("cpu", &Filter::new("rope"));
        let parts = ["1/3", "2/3", "3/3"].map(|shard| shard.parse::<Shard>().unwrap().of(all.clone()));
        assert!(parts.iter().all(|part| part.len().abs_diff(all.len() / 3) <= 1));
        let mut together = parts.concat();
        together.sort_unstable();
        all.sort_unstable();
        assert_eq!(together, all);
        let thirds: Vec<Shard> = "1/3".parse::<Shard>().unwrap().siblings().collect();
        assert_eq!(thirds.iter().map(|shard| shard.share(8)).collect::<Vec<_>>(), [3, 3, 2]);
        let seeds: HashSet<u64> = thirds.iter().map(|shard| shard.seed(1)).collect();
        assert_eq!((seeds.len(), Shard::WHOLE.seed(1)), (3, 1));
        for bad in ["0/3", "4/3", "1", "x/y", "1/0"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }

    #[test]
    fn slices_have_every_pair_of_values_and_are_the_same_for_all_backends() {
        let all = names("cpu", &Filter::default());
        for (slice, most) in [(Slice::Least, 8), (Slice::Quick, 5)] {
            let part = slice.of(all.clone());
            let pairs = |names: &[String]| -> HashSet<String> {
                let of = |name: &String| {
                    let parts = Parts::of(name);
                    let group = if slice == Slice::Quick { parts.kind } else { "" };
                    let values: Vec<_> =
                        [parts.format, parts.kind].into_iter().chain(parts.fields()).collect();
                    let pair = |a: &&str| {
                        values.iter().map(|b| format!("{}/{group} {a} {b}", parts.op)).collect::<Vec<_>>()
                    };
                    values.iter().flat_map(pair).collect::<Vec<_>>()
                };
                names.iter().flat_map(of).collect()
            };
            assert_eq!(pairs(&all), pairs(&part), "{slice:?}");
            assert!(part.len() * most < all.len(), "{slice:?}: {} of {}", part.len(), all.len());
            let other = slice.of(names("soft", &Filter::default()));
            assert!(part.iter().map(|n| Parts::of(n).hash()).eq(other.iter().map(|n| Parts::of(n).hash())));
        }
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

    /// `cargo test -p assay-conformance --lib count -- --ignored --nocapture`
    #[test]
    #[ignore = "prints the number of cases"]
    fn count() {
        for family in FAMILIES {
            let begin = std::time::Instant::now();
            let all: Vec<_> = family.names().iter().map(|name| name.on("cpu")).collect();
            let took = begin.elapsed();
            let [least, quick] = [Slice::Least, Slice::Quick].map(|slice| slice.of(all.clone()).len());
            println!("{:12} {:6} {quick:6} {least:6} {took:?}", family.stem().name(), all.len());
        }
    }

    /// A backend that changes its way where rows of activations, and rows of weights, have more than 100 elements.
    struct Switching;

    impl Target for Switching {
        fn identity(&self) -> kernels::Identity {
            unreachable!("nothing runs on it")
        }

        fn supports(&self, _: &OpForm) -> kernels::Support {
            kernels::Support::Yes
        }

        fn breakpoints(&self, _: &OpForm) -> Vec<kernels::Breakpoint> {
            vec![kernels::Breakpoint::dim("x", 1, 100), kernels::Breakpoint::position(70)]
        }

        fn numerics(&self, _: &OpForm) -> kernels::Numerics {
            kernels::Numerics::F32
        }

        fn run(&self, _: &Record) -> Result<Vec<Vec<u8>>, crate::target::RunError> {
            unreachable!("nothing runs on it")
        }
    }

    #[test]
    fn cases_stand_just_below_at_and_above_a_break_point() {
        let names = |filter: &str| names_around_breakpoints("soft", &Switching, &Filter::new(filter));
        let has = |filter: &str| assert!(!names(filter).is_empty(), "{filter}");
        for n in [99, 100, 101] {
            has(&format!("softmax/ n={n},"));
            has(&format!("matmul/soft/f32 k={n},"));
        }
        // Whole blocks: the last one before it, and its neighbours.
        for k in [64, 96, 128] {
            has(&format!("matmul/soft/q8_0 k={k},"));
        }
        for position in [69, 70, 71] {
            has(&format!("attention/ pos={position},"));
        }
        assert!(names("matmul/soft/q8_0 k=100,").is_empty());
        names("").iter().for_each(|name| understands(name).unwrap());
        assert!(names_around_breakpoints("cpu", &Switching, &Filter::new("")).len() < 1000);
    }

    #[test]
    fn every_op_has_cases_of_its_own() {
        let stems: Vec<_> = FAMILIES.iter().map(|family| family.stem()).collect();
        assert_eq!(stems, Stem::ALL);
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
