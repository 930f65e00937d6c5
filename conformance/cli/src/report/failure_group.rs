//! Failures of one kind, together.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use conformance::floats;
use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome};
use conformance::trial::{Failure, Finder};

use super::Sweep;

/// Failing cases of one op on one backend whose first finding says the same, its numbers aside.
#[derive(Clone, Debug)]
pub struct FailureGroup<'s> {
    /// Op, or the file's name where a capsule ran.
    pub op: String,
    /// Backend.
    pub backend: String,
    /// The check that found it first.
    pub found_by: Finder,
    /// The cases, in the order in which they ran.
    pub cases: Vec<&'s CaseResult>,
    /// The smallest one: one that was made smaller on purpose, or else the one that compares least.
    pub example: &'s CaseResult,
}

impl FailureGroup<'_> {
    /// Cases by format, in the order of tables.
    pub fn formats(&self) -> BTreeMap<kernels::DType, usize> {
        let mut formats = BTreeMap::new();
        for (name, _) in self.cases.iter().filter_map(|case| CaseName::parse(&case.name).ok()) {
            *formats.entry(name.format).or_default() += 1;
        }
        formats
    }

    /// Types of the activations, gains and biases of the cases.
    pub fn floats(&self) -> BTreeSet<kernels::DType> {
        let names = self.cases.iter().filter_map(|case| CaseName::parse(&case.name).ok());
        names.flat_map(|(name, _)| floats::types(&name)).collect()
    }

    /// The other checks that found something in these cases, with the number of cases.
    pub fn also_found_by(&self) -> BTreeMap<Finder, usize> {
        let mut finders = BTreeMap::new();
        for case in &self.cases {
            let mut others: Vec<_> = findings(case).iter().map(|failure| failure.found_by).collect();
            others.sort_unstable();
            others.dedup();
            for finder in others.into_iter().filter(|finder| *finder != self.found_by) {
                *finders.entry(finder).or_default() += 1;
            }
        }
        finders
    }
}

/// What is wrong with a case; nothing unless it failed.
pub fn findings(result: &CaseResult) -> &[Failure] {
    match &result.outcome {
        Outcome::Failed(found) => found,
        Outcome::Passed | Outcome::Unsupported(_) | Outcome::Ignored(_) | Outcome::ExpectedFailure(_) => &[],
    }
}

/// The failures of a sweep by kind; kinds in the order of their first cases.
pub fn failure_groups(sweep: &Sweep) -> Vec<FailureGroup<'_>> {
    let smaller: HashMap<&str, &CaseResult> =
        sweep.shrunk.iter().map(|(original, small)| (original.as_str(), small)).collect();
    let mut places = HashMap::new();
    let mut groups: Vec<FailureGroup<'_>> = Vec::new();
    for case in sweep.failures() {
        let Some(first) = findings(case).first() else { continue };
        let (op, backend) = match CaseName::parse(&case.name) {
            Ok((name, backend)) => (name.stem.name().to_owned(), backend),
            Err(_) => (case.name.clone(), String::new()),
        };
        let key = (op.clone(), backend.clone(), first.found_by, shape(&first.what));
        let example = smaller.get(case.name.as_str()).copied().unwrap_or(case);
        let at = *places.entry(key).or_insert_with(|| {
            let found_by = first.found_by;
            groups.push(FailureGroup { op, backend, found_by, cases: Vec::new(), example });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.cases.push(case);
        let size = |case: &CaseResult| (case.compared, case.name.len());
        if size(example) < size(group.example) {
            group.example = example;
        }
    }
    groups
}

/// The first line of a message, with one `#` for its numbers and for lists of them.
fn shape(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let inside = is_part(first);
        let end = rest.find(|c| is_part(c) != inside).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        words.push(if inside && is_number(token) { "#".into() } else { token.into() });
        rest = after;
    }
    let mut text = words.concat();
    while text.contains("#, #") {
        text = text.replace("#, #", "#");
    }
    text
}

/// Whether a word is a number: decimal, hexadecimal, infinite or none.
fn is_number(word: &str) -> bool {
    let word = word.trim_end_matches('.');
    word.parse::<f64>().is_ok()
        || word.strip_prefix("0x").is_some_and(|hex| u64::from_str_radix(hex, 16).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_in_numbers_have_one_shape() {
        let a =
            "'out'[3, 5]: got -1.25e-3, want 7, bound 1e-7, 5.1 ulp, inf times the budget; 3 of 15 outside";
        let b = "'out'[0]: got NaN, want 12.5, bound 0, 1.0 ulp, 12.0 times the budget; 1 of 1 outside";
        assert_eq!(shape(a), shape(b));
        assert_eq!(shape(a), "'out'[#]: got #, want #, bound # ulp, # times the budget; # of # outside");
        assert_eq!(shape("byte 3 is 0x1f, not 0x20"), "byte # is #, not #");
    }

    #[test]
    fn names_keep_their_digits() {
        assert_eq!(shape("q4_0 to f16 of 'k1' at 12."), "q4_0 to f16 of 'k1' at #");
        assert_eq!(shape("first\nsecond 2"), "first");
    }

    fn failed(name: &str, what: &str, compared: usize) -> CaseResult {
        let found = vec![Failure { found_by: Finder::Oracle, what: what.into() }];
        CaseResult {
            name: name.into(),
            outcome: Outcome::Failed(found),
            worst: None,
            compared,
            micros: 1,
            fidelity: None,
        }
    }

    #[test]
    fn a_thousand_failures_of_one_kind_are_one_group_with_its_smallest_case() {
        let case =
            |n: usize| failed(&format!("add/cpu/f32/bounded,n={n}"), &format!("'out'[{n}]: got {n}"), n);
        let mut sweep = Sweep { results: (1..=1000).rev().map(case).collect(), ..Sweep::default() };
        sweep.results.push(failed("add/cpu/f16/bounded,n=4", "'out': nothing could be compared", 0));
        sweep.results.push(failed("add/ref/f16/bounded,n=4", "'out'[1]: got 4", 4));
        let groups = failure_groups(&sweep);
        assert_eq!(groups.iter().map(|group| group.cases.len()).collect::<Vec<_>>(), [1000, 1, 1]);
        assert_eq!(groups[0].example.name, "add/cpu/f32/bounded,n=1");
    }

    #[test]
    fn a_case_that_was_made_smaller_stands_for_its_group() {
        let large = failed("add/cpu/f32/bounded,n=100", "'out'[1]: got 4", 100);
        let small = failed("add/cpu/f32/bounded,n=1", "'out'[0]: got 4", 1);
        let sweep = Sweep {
            shrunk: vec![(large.name.clone(), small.clone())],
            results: vec![large],
            ..Sweep::default()
        };
        assert_eq!(failure_groups(&sweep)[0].example, &small);
    }
}
