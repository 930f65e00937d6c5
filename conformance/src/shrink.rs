//! From a failing case to a smaller one that fails in the same way.
//!
//! A random case shrinks along its `proptest` strategy ([`random`]). An enumerated one has none, but its name says everything
//! about it: [`named`] makes the numbers in the name smaller, one at a time. Either way each attempt is a case of its
//! own, run by name in a worker, so that shrinking survives the death of the process.

use std::io;

use proptest::strategy::ValueTree;

use crate::name::CaseName;
use crate::outcome::{CaseResult, Outcome};
use crate::trial::Finder;

/// Attempts after which shrinking stops.
const ATTEMPTS: usize = 200;

/// Which checks found something.
pub fn finders(result: &CaseResult) -> Vec<Finder> {
    match &result.outcome {
        Outcome::Failed(failures) => failures.iter().map(|f| f.found_by).collect(),
        _ => Vec::new(),
    }
}

/// Whether `result` is wrong in one of the ways in which `first` is.
pub fn alike(first: &[Finder], result: &CaseResult) -> bool {
    finders(result).iter().any(|f| first.contains(f))
}

/// The smallest failing case that the strategy's tree leads to. The tree stands at a case that failed with `first`.
pub fn random(
    mut tree: Box<dyn ValueTree<Value = CaseName>>,
    first: CaseResult,
    backend: &str,
    mut run: impl FnMut(&str) -> io::Result<CaseResult>,
) -> io::Result<CaseResult> {
    let wanted = finders(&first);
    let mut smallest = first;
    let mut failed = true;
    for _ in 0..ATTEMPTS {
        let moved = if failed { tree.simplify() } else { tree.complicate() };
        if !moved {
            break;
        }
        let result = run(&tree.current().on(backend))?;
        failed = alike(&wanted, &result);
        if failed {
            smallest = result;
        }
    }
    Ok(smallest)
}

/// A case like `first` with smaller numbers in its name that fails in the same way.
pub fn named(
    first: CaseResult,
    mut run: impl FnMut(&str) -> io::Result<CaseResult>,
) -> io::Result<CaseResult> {
    let wanted = finders(&first);
    let mut smallest = first;
    let mut attempts = 0;
    loop {
        let before = smallest.name.clone();
        for field in 1..fields(&before).len() {
            for candidate in candidates(&smallest.name, field) {
                if attempts == ATTEMPTS {
                    return Ok(smallest);
                }
                attempts += 1;
                let result = run(&candidate)?;
                if alike(&wanted, &result) {
                    smallest = result;
                    break;
                }
            }
        }
        if smallest.name == before {
            return Ok(smallest);
        }
    }
}

/// The comma-separated fields of a full name; the first holds everything up to the kind.
fn fields(name: &str) -> Vec<&str> {
    name.split(',').collect()
}

/// Names with a smaller number in field `at`: the smallest first.
fn candidates(name: &str, at: usize) -> Vec<String> {
    let fields = fields(name);
    let Some((key, text)) = fields.get(at).and_then(|field| field.split_once('=')) else { return Vec::new() };
    let Ok(number) = text.parse::<u64>() else { return Vec::new() };
    if key == "seed" {
        return Vec::new();
    }
    let mut smaller =
        vec![1, number / 4, number / 2, number.saturating_sub(number % 32), number.saturating_sub(1)];
    smaller.retain(|n| *n > 0 && *n < number);
    smaller.dedup();
    let with = |n: u64| {
        let mut changed: Vec<String> = fields.iter().map(|f| (*f).to_owned()).collect();
        changed[at] = format!("{key}={n}");
        changed.join(",")
    };
    smaller.into_iter().map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::Failure;

    fn result(name: &str, finder: Option<Finder>) -> CaseResult {
        let outcome = match finder {
            Some(found_by) => Outcome::Failed(vec![Failure { found_by, what: "wrong".into() }]),
            None => Outcome::Passed,
        };
        CaseResult { name: name.into(), outcome, worst: None, compared: 1, micros: 1, fidelity: None }
    }

    fn number(name: &str, key: &str) -> u64 {
        let field = name.split(',').find_map(|f| f.strip_prefix(&format!("{key}="))).unwrap();
        field.parse().unwrap()
    }

    #[test]
    fn a_named_case_shrinks_to_the_smallest_numbers_that_fail() {
        let fails = |name: &str| (number(name, "n") > 32).then_some(Finder::Oracle);
        let start = "rms_norm/cpu/f32/bounded,rows=5,n=576,seed=9";
        let shrunk = named(result(start, fails(start)), |name| Ok(result(name, fails(name)))).unwrap();
        assert_eq!(shrunk.name, "rms_norm/cpu/f32/bounded,rows=1,n=33,seed=9");
    }

    #[test]
    fn another_kind_of_failure_does_not_count() {
        let fails = |name: &str| Some(if number(name, "n") > 100 { Finder::Oracle } else { Finder::Refusal });
        let start = "rms_norm/cpu/f32/bounded,n=576";
        let shrunk = named(result(start, fails(start)), |name| Ok(result(name, fails(name)))).unwrap();
        assert!(number(&shrunk.name, "n") > 100);
    }
}
