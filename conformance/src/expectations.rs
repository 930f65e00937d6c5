//! Known failures, each with a reason. A case that is expected to fail and passes is itself a failure: the list
//! would otherwise outlive its reasons.
//!
//! ```toml
//! [[expect]]
//! case = "rope/hip/f32/ neox"    # words that the case's name contains
//! reason = "driver 6.1 miscompiles the tail; fixed in 6.2"
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::outcome::{CaseResult, Outcome};
use crate::suite::Filter;
use crate::trial::{Failure, Finder};

/// Known failures.
#[derive(Debug, Default)]
pub struct Expectations {
    entries: Vec<(Filter, Entry)>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    case: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    expect: Vec<Entry>,
}

/// A list of expectations that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct ExpectationsError {
    path: PathBuf,
    why: String,
}

impl Expectations {
    /// Reads a list.
    pub fn read(path: &Path) -> Result<Self, ExpectationsError> {
        let error = |why: String| ExpectationsError { path: path.into(), why };
        let text = input_file::read_text(path, input_file::TEXT).map_err(|e| error(e.to_string()))?;
        Self::parse(&text).map_err(error)
    }

    /// A list of one: cases whose names contain the words of `case` fail, for `reason`.
    pub fn of(case: &str, reason: &str) -> Self {
        let entry = Entry { case: case.into(), reason: reason.into() };
        Expectations { entries: vec![(Filter::new(case), entry)] }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut entries = Vec::new();
        for entry in file.expect {
            if entry.case.trim().is_empty() || entry.reason.trim().is_empty() {
                return Err("an expectation needs both a case and a reason".into());
            }
            entries.push((Filter::new(&entry.case), entry));
        }
        Ok(Expectations { entries })
    }

    /// Turns an expected failure into that outcome, and an unexpected pass into a failure.
    pub fn apply(&self, mut result: CaseResult) -> CaseResult {
        let Some((_, entry)) = self.entries.iter().find(|(filter, _)| filter.matches(&result.name)) else {
            return result;
        };
        result.outcome = match result.outcome {
            Outcome::Failed(_) => Outcome::ExpectedFailure(entry.reason.clone()),
            Outcome::Passed => Outcome::Failed(vec![Failure {
                found_by: Finder::Expectation,
                what: format!("passed, but '{}' is expected to fail: {}", entry.case, entry.reason),
            }]),
            other => other,
        };
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(outcome: Outcome) -> CaseResult {
        CaseResult {
            name: "rope/cpu/f32/bounded,n=3".into(),
            outcome,
            worst: None,
            compared: 1,
            micros: 1,
            fidelity: None,
        }
    }

    const LIST: &str = "[[expect]]\ncase = 'rope n=3'\nreason = 'known'";

    #[test]
    fn an_expected_failure_is_no_failure_and_an_unexpected_pass_is_one() {
        let list = Expectations::parse(LIST).unwrap();
        let failed = Outcome::Failed(vec![Failure { found_by: Finder::Oracle, what: "off".into() }]);
        assert_eq!(list.apply(result(failed)).outcome, Outcome::ExpectedFailure("known".into()));
        assert!(matches!(list.apply(result(Outcome::Passed)).outcome, Outcome::Failed(_)));
        let unsupported = Outcome::Unsupported("no".into());
        assert_eq!(list.apply(result(unsupported.clone())).outcome, unsupported);
    }

    #[test]
    fn a_list_with_an_unknown_key_or_without_a_reason_is_refused() {
        assert!(Expectations::parse("[[expect]]\ncase = 'x'\nreason = ' '").is_err());
        assert!(Expectations::parse("[[expect]]\ncase = 'x'").is_err());
        assert!(Expectations::parse("[[expected]]\ncase = 'x'\nreason = 'y'").is_err());
    }
}
