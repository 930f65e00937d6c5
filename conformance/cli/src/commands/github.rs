//! Failures as annotations of a run of GitHub Actions.

use std::fmt::Write;

use assay_cli::report::Sweep;
use conformance::outcome::Outcome;

/// Annotations of one kind that GitHub shows for a step.
const SHOWN: usize = 10;

/// Whether this runs as a step of GitHub Actions.
pub fn is_runner() -> bool {
    std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true")
}

/// A line for each failure; the last one stands for those that GitHub would not show.
pub fn annotations(sweep: &Sweep) -> String {
    let mut text = String::new();
    let failed = sweep.failures().count();
    let shown = if failed > SHOWN { SHOWN - 1 } else { SHOWN };
    for result in sweep.failures().take(shown) {
        let Outcome::Failed(found) = &result.outcome else { continue };
        let mut what: Vec<_> = found.iter().map(|f| format!("{}: {}", f.found_by, f.what)).collect();
        what.push(format!("rerun: {}", sweep.rerun(&result.name)));
        let _ = writeln!(text, "::error title={}::{}", property(&result.name), message(&what.join("\n")));
    }
    if failed > SHOWN {
        let _ = writeln!(text, "::error title=assay check::and {} more cases failed", failed - shown);
    }
    text
}

/// Text after the double colon, with the escapes of workflow commands.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use conformance::outcome::CaseResult;
    use conformance::trial::{Failure, Finder};

    use super::*;

    fn failed(n: usize) -> Sweep {
        let result = |i| CaseResult {
            name: format!("add/cpu/f32/exact,n={i}"),
            outcome: Outcome::Failed(vec![Failure { found_by: Finder::Oracle, what: "100 %\nwrong".into() }]),
            worst: None,
            compared: 1,
            micros: 1,
            fidelity: None,
        };
        Sweep { results: (0..n).map(result).collect(), ..Sweep::default() }
    }

    #[test]
    fn a_failure_is_one_escaped_line() {
        assert_eq!(
            annotations(&failed(1)),
            "::error title=add/cpu/f32/exact%2Cn=0::oracle: 100 %25%0Awrong%0Arerun: cargo run --release -- check \
             'add/cpu/f32/exact,n=0'\n"
        );
    }

    #[test]
    fn there_are_no_more_lines_than_github_shows() {
        assert_eq!(annotations(&failed(10)).lines().count(), 10);
        let many = annotations(&failed(1000));
        assert_eq!(many.lines().count(), 10);
        assert!(many.ends_with("and 991 more cases failed\n"), "{many}");
        assert_eq!(annotations(&failed(0)), "");
    }
}
