//! Bugs of the suite itself. Each replaces one part of it; the controls must notice.

#![expect(clippy::too_many_lines, reason = "a list is as long as what it lists")]

use std::sync::atomic::{AtomicU64, Ordering};

use conformance::control::{Parts, REAL, violated};
use conformance::outcome::Totals;
use kernels::{Expected, Spread, Verdict};

/// A suite with a planted bug.
#[derive(Clone, Copy, Debug)]
pub struct HarnessMutant {
    /// Name.
    pub name: &'static str,
    /// The mistake.
    pub fault: &'static str,
    parts: Parts,
}

impl HarnessMutant {
    /// The controls that notice it.
    pub fn noticed_by(&self) -> Vec<&'static str> {
        violated(&self.parts)
    }
}

static CLOCK: AtomicU64 = AtomicU64::new(0);

/// The mutants.
pub fn mutants() -> Vec<HarnessMutant> {
    let mutant = |name, fault, parts| HarnessMutant { name, fault, parts };
    vec![
        mutant(
            "harness-nan-passes",
            "comparison passes on NaN: error > bound is false",
            Parts {
                judge: |expected, layout, got| {
                    let Expected::Within { value, .. } = expected else { return expected.judge(layout, got) };
                    let mut floats: Vec<f32> = bytemuck::pod_collect_to_vec(got);
                    #[expect(clippy::cast_possible_truncation, reason = "the bug is another")]
                    floats
                        .iter_mut()
                        .zip(value)
                        .filter(|(g, _)| g.is_nan())
                        .for_each(|(g, w)| *g = *w as f32);
                    expected.judge(layout, bytemuck::cast_slice(&floats))
                },
                ..REAL
            },
        ),
        mutant(
            "harness-loose-tolerance",
            "tolerance so loose that zeros pass",
            Parts {
                judge: |expected, layout, got| match expected {
                    Expected::Within { value, bound, typical, spread } => {
                        let wide = |all: &Vec<f64>| all.iter().map(|b| b * 1e9).collect();
                        Expected::Within {
                            value: value.clone(),
                            bound: wide(bound),
                            typical: wide(typical),
                            spread: vec![Spread::default(); spread.len()],
                        }
                        .judge(layout, got)
                    }
                    Expected::Bits(_) => expected.judge(layout, got),
                },
                ..REAL
            },
        ),
        mutant(
            "harness-compares-itself",
            "reference and candidate are the same",
            Parts {
                judge: |expected, layout, got| match expected {
                    Expected::Within { value, .. } => {
                        #[expect(clippy::cast_possible_truncation, reason = "the bug is another")]
                        let own: Vec<f32> = value.iter().map(|v| *v as f32).collect();
                        expected.judge(layout, bytemuck::cast_slice(&own))
                    }
                    Expected::Bits(_) => expected.judge(layout, got),
                },
                ..REAL
            },
        ),
        mutant(
            "harness-first-element-only",
            "only the first element is compared",
            Parts {
                judge: |expected, layout, got| {
                    let mut verdict = expected.judge(layout, got);
                    if verdict.worst.as_ref().is_some_and(|w| w.index.iter().any(|i| *i > 0)) {
                        (verdict.outside, verdict.rms_share) = (0, None);
                    }
                    verdict
                },
                ..REAL
            },
        ),
        mutant(
            "harness-no-mean",
            "signed errors are never looked at together",
            Parts {
                judge: |expected, layout, got| Verdict { bias: None, ..expected.judge(layout, got) },
                ..REAL
            },
        ),
        mutant(
            "harness-probe-never-reached",
            "a probe that is never reached is reported as a pass",
            Parts { passed: |verdict: &Verdict| verdict.outside == 0, ..REAL },
        ),
        mutant(
            "harness-skip-is-a-pass",
            "a skip counts as a pass",
            Parts { conforms: |totals: &Totals| totals.failed == 0 && totals.all() > 0, ..REAL },
        ),
        mutant(
            "harness-unknown-name-is-ok",
            "an unknown op name gives OK",
            Parts { conforms: |totals: &Totals| totals.failed == 0, ..REAL },
        ),
        mutant(
            "harness-ignores-failures",
            "failures are counted and never looked at",
            Parts { conforms: |totals: &Totals| totals.passed > 0, ..REAL },
        ),
        mutant(
            "harness-unexpected-pass-is-ok",
            "a known failure that passes goes unnoticed",
            Parts { expect: |_, result| result, ..REAL },
        ),
        mutant(
            "harness-filter-ignored",
            "unknown filter words are ignored",
            Parts { matches: |_, _| true, ..REAL },
        ),
        mutant(
            "harness-data-from-the-clock",
            "case data differ from run to run",
            Parts { data: |seed| (REAL.data)(seed ^ CLOCK.fetch_add(1, Ordering::Relaxed)), ..REAL },
        ),
        mutant(
            "harness-seed-ignored",
            "every seed gives the same data",
            Parts { data: |_| (REAL.data)(1), ..REAL },
        ),
    ]
}
