//! A sweep as `JUnit` XML, for continuous integration.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::Sweep;
use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome};

/// The sweep as `JUnit` XML: a suite per op.
pub fn junit(sweep: &Sweep) -> Result<String, quick_junit::SerializeError> {
    let mut report = Report::new("assay check");
    for &stem in kernels::Stem::ALL {
        let mut suite = TestSuite::new(stem.name());
        let of_stem = |r: &&CaseResult| CaseName::parse(&r.name).is_ok_and(|(name, _)| name.stem == stem);
        suite.add_test_cases(sweep.results.iter().filter(of_stem).map(|result| test_case(sweep, result)));
        if suite.tests > 0 {
            report.add_test_suite(suite);
        }
    }
    report.to_string()
}

fn test_case(sweep: &Sweep, result: &CaseResult) -> TestCase {
    let skipped = |reason: &String| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(reason.clone());
        status
    };
    let status = match &result.outcome {
        Outcome::Passed => TestCaseStatus::success(),
        Outcome::Failed(failures) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let found: Vec<_> = failures.iter().map(|f| format!("{}: {}", f.found_by, f.what)).collect();
            status.set_message(found.first().cloned().unwrap_or_default());
            status.set_description(format!("{}\nrerun: {}", found.join("\n"), sweep.rerun(&result.name)));
            status
        }
        Outcome::Unsupported(reason) | Outcome::Ignored(reason) | Outcome::ExpectedFailure(reason) => {
            skipped(reason)
        }
    };
    let mut case = TestCase::new(result.name.clone(), status);
    case.set_time(Duration::from_micros(result.micros));
    case
}
