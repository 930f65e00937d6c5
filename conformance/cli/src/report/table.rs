//! A sweep as a table for the terminal.

use std::fmt::Write;

use super::failure_group::findings;
use super::{FailureGroup, Group, Sweep, failure_groups};
use conformance::outcome::{CaseResult, Totals};
use conformance::trial::Failure;

/// Kinds of failures that the terminal shows; the reports have all.
const SHOWN: usize = 10;

/// The table of ops and backends, what failed, and the totals.
pub fn table(sweep: &Sweep) -> String {
    let mut text = String::new();
    for backend in &sweep.backends {
        let _ = writeln!(text, "{}: {}", backend.name, backend.device());
    }
    text.push_str(&ops(sweep));
    text.push_str(&failures(sweep));
    for contradiction in &sweep.contradictions {
        let _ = writeln!(text, "\ncontradiction: {contradiction}");
    }
    for reason in &sweep.not_run {
        let _ = writeln!(text, "\npartial: {reason}");
    }
    let totals = sweep.totals();
    let Totals { passed, failed, unsupported, ignored, expected_failures } = totals;
    let _ = writeln!(
        text,
        "\n{} cases in {:.1} s: {passed} passed, {failed} failed, {unsupported} unsupported, {ignored} ignored, \
         {expected_failures} failed as expected",
        totals.all(),
        sweep.seconds
    );
    text
}

fn ops(sweep: &Sweep) -> String {
    let groups = sweep.grouped(|name, backend| (name.stem, backend));
    let width = groups.keys().map(|(_, backend)| backend.len()).max().unwrap_or(0).max("backend".len());
    let (a, b, c, d, e, f, g, h, i) =
        ("op", "backend", "cases", "passed", "failed", "unsup.", "ignored", "budget", "time");
    let mut text = format!("\n{a:<12} {b:<width$} {c:>7} {d:>7} {e:>7} {f:>7} {g:>7} {h:>8} {i:>8}\n");
    for ((stem, backend), Group { totals, budget, micros, .. }) in groups {
        let Totals { passed, failed, unsupported, ignored, expected_failures } = totals;
        let oracle = sweep.backends.iter().any(|tested| tested.name == backend && tested.is_oracle());
        let budget = if oracle { "oracle".into() } else { budget.to_string() };
        let _ = writeln!(
            text,
            "{stem:<12} {backend:<width$} {:>7} {passed:>7} {failed:>7} {unsupported:>7} {:>7} {budget:>8} {:>6.1} s",
            totals.all(),
            ignored + expected_failures,
            micros as f64 / 1e6
        );
    }
    text
}

fn failures(sweep: &Sweep) -> String {
    let groups = failure_groups(sweep);
    let mut text: String = groups.iter().take(SHOWN).map(|group| failure(sweep, group)).collect();
    let more = &groups[groups.len().min(SHOWN)..];
    if !more.is_empty() {
        let cases: usize = more.iter().map(|group| group.cases.len()).sum();
        let _ = writeln!(
            text,
            "\nand {cases} cases of {} more kinds; the reports (--json, --html) have all of them",
            more.len()
        );
    }
    text
}

/// One kind of failure: how many cases there are, the smallest, and the command that runs it.
fn failure(sweep: &Sweep, group: &FailureGroup<'_>) -> String {
    let FailureGroup { op, backend, found_by, cases, example } = group;
    let mut text = match cases.len() {
        1 => format!("\nFAILED {}\n", cases[0].name),
        n => format!("\nFAILED {n} cases: {op} on {backend}, found by {found_by}{}\n", formats(group)),
    };
    let original = sweep.shrunk.iter().find(|(_, small)| small.name == example.name);
    let label = match (cases.len(), original) {
        (1, Some((original, _))) if *original != example.name => {
            text.push_str(&lines(cases[0]));
            "shrunk: "
        }
        (1, _) => "",
        (_, Some((original, _))) if *original != example.name => "smallest, shrunk: ",
        _ => "smallest: ",
    };
    if !label.is_empty() {
        let _ = writeln!(text, "  {label}{}", example.name);
    }
    text.push_str(&lines(example));
    let _ = writeln!(text, "  rerun: {}", sweep.rerun(&example.name));
    text
}

/// The findings of a case, indented.
fn lines(case: &CaseResult) -> String {
    let line = |failure: &Failure| format!("  {}: {}\n", failure.found_by, failure.what);
    findings(case).iter().map(line).collect()
}

/// In which formats the cases of a group are, where there are several.
fn formats(group: &FailureGroup<'_>) -> String {
    let formats = group.formats();
    let list: Vec<_> = formats.iter().map(|(format, count)| format!("{format} {count}")).collect();
    if list.len() > 1 { format!(" ({})", list.join(", ")) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance::outcome::Outcome;
    use conformance::trial::Finder;

    fn result(name: &str, outcome: Outcome) -> CaseResult {
        CaseResult { name: name.into(), outcome, worst: None, compared: 1, micros: 1, fidelity: None }
    }

    #[test]
    fn long_names_of_backends_keep_the_columns() {
        let results =
            ["add/cpu/f32/exact,n=1", "add/cpu-exact/f32/exact,n=1", "add/mutant:a-long-name/f32/exact,n=1"];
        let sweep =
            Sweep { results: results.map(|name| result(name, Outcome::Passed)).into(), ..Sweep::default() };
        let text = ops(&sweep);
        let widths: Vec<usize> = text.lines().skip(1).map(str::len).collect();
        assert!(widths.len() == 4 && widths.iter().all(|width| *width == widths[0]), "{text}");
    }

    #[test]
    fn a_thousand_failures_of_one_kind_are_a_few_lines() {
        let failed = |n: usize| {
            let found = Failure { found_by: Finder::Oracle, what: format!("'out'[{n}]: got {n}, want 0") };
            result(&format!("add/cpu/f32/bounded,n={n}"), Outcome::Failed(vec![found]))
        };
        let sweep = Sweep { results: (0..1156).map(failed).collect(), ..Sweep::default() };
        let text = failures(&sweep);
        assert!(text.contains("FAILED 1156 cases: add on cpu, found by oracle"), "{text}");
        assert!(text.contains("rerun: cargo run --release -- check 'add/cpu/f32/bounded,n=0'"), "{text}");
        assert_eq!(text.matches("FAILED").count(), 1);
        assert!(text.lines().count() < 8, "{text}");
    }

    #[test]
    fn a_partial_run_says_so() {
        let sweep = Sweep { not_run: vec!["interrupted".into()], ..Sweep::default() };
        assert!(table(&sweep).contains("partial: interrupted"));
    }
}
