//! Failures, a card for each kind.

use std::fmt::Write;

use super::super::failure_group::findings;
use super::super::{FailureGroup, Sweep, thousands};
use super::escape;
use conformance::outcome::CaseResult;

/// Cards that the page shows at once; the next ones open on demand.
const SHOWN: usize = 10;

/// Names of cases that a card lists.
const NAMED: usize = 200;

/// The cards; nothing where nothing failed.
pub fn failures(sweep: &Sweep, groups: &[FailureGroup<'_>]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let cards: Vec<String> = groups.iter().enumerate().map(|(at, group)| card(sweep, at, group)).collect();
    let (first, more) = cards.split_at(SHOWN.min(cards.len()));
    let mut text = format!("<h2 id=\"failures\">Failures</h2>\n{}", first.concat());
    if !more.is_empty() {
        let _ = writeln!(
            text,
            "<details><summary>{} more kinds</summary>\n{}</details>",
            more.len(),
            more.concat()
        );
    }
    text
}

fn card(sweep: &Sweep, at: usize, group: &FailureGroup<'_>) -> String {
    let FailureGroup { op, backend, found_by, cases, example } = group;
    let mut text = format!(
        "<section class=\"failure\" id=\"failure{at}\">\n<h3>{} on {}: {}, found by {found_by}</h3>\n",
        escape(op),
        escape(backend),
        super::super::cases(cases.len())
    );
    let list = |items: Vec<String>| items.join(", ");
    let formats = list(group.formats().iter().map(|(f, n)| format!("{f} ({})", thousands(*n))).collect());
    if group.formats().len() > 1 {
        let _ = writeln!(text, "<p>formats: {formats}</p>");
    }
    let also = list(group.also_found_by().iter().map(|(f, n)| format!("{f} ({})", thousands(*n))).collect());
    if !also.is_empty() {
        let _ = writeln!(text, "<p>also found by: {also}</p>");
    }
    let original = sweep.shrunk.iter().find(|(_, small)| small.name == example.name).map(|(name, _)| name);
    let label = match original {
        Some(original) if *original != example.name => "made smaller",
        _ if cases.len() == 1 => "the case",
        _ => "the smallest",
    };
    let _ = writeln!(text, "<p class=\"example\">{label}: <code>{}</code></p>", escape(&example.name));
    text.push_str(&lines(example));
    let _ = writeln!(text, "<pre>{}</pre>", escape(&sweep.rerun(&example.name)));
    text.push_str(&rest(group));
    text.push_str("</section>\n");
    text
}

fn lines(case: &CaseResult) -> String {
    let one = |failure: &conformance::trial::Failure| {
        let (first, rest) = failure.what.split_once('\n').unwrap_or((&failure.what, ""));
        let rest = if rest.is_empty() { String::new() } else { format!("<pre>{}</pre>", escape(rest)) };
        format!("<p><b class=\"bad-text\">{}</b> {}</p>\n{rest}", failure.found_by, escape(first))
    };
    findings(case).iter().map(one).collect()
}

/// The names of the cases of a group that are not its example.
fn rest(group: &FailureGroup<'_>) -> String {
    let others: Vec<_> = group.cases.iter().filter(|case| case.name != group.example.name).collect();
    if others.is_empty() {
        return String::new();
    }
    let names: Vec<_> = others.iter().take(NAMED).map(|case| escape(&case.name)).collect();
    // An example that was made smaller is not among the cases.
    let summary = match (others.len(), others.len() == group.cases.len()) {
        (1, true) => "the case as it ran first".to_owned(),
        (1, false) => "the other case".to_owned(),
        (n, true) => format!("the {} cases as they ran first", thousands(n)),
        (n, false) => format!("the other {} cases", thousands(n)),
    };
    let mut text =
        format!("<details><summary>{summary}</summary>\n<pre class=\"names\">{}</pre>\n", names.join("\n"));
    if others.len() > NAMED {
        let _ = writeln!(
            text,
            "<p class=\"note\">and {} more, which --json has</p>",
            thousands(others.len() - NAMED)
        );
    }
    text.push_str("</details>\n");
    text
}
