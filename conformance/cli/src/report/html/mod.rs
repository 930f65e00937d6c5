//! A sweep as a page: one file that opens from disk, with no script and no outside resource, readable on a phone.
//!
//! The matrix of ops and formats comes first, then failures by kind, then the numbers.

mod failures;
mod matrix;
mod numbers;

use std::fmt::Write;

use super::{Sweep, cases, failure_groups, thousands};
use conformance::outcome::Totals;

/// The page.
pub fn html(sweep: &Sweep) -> String {
    let groups = failure_groups(sweep);
    let mut page = begin("Assay report", include_str!("report.css"));
    page.push_str(&head(sweep, groups.len()));
    page.push_str(&matrix::matrix(sweep, &groups));
    page.push_str(&failures::failures(sweep, &groups));
    page.push_str(&numbers::not_passed(sweep));
    page.push_str(&numbers::histograms(sweep));
    page.push_str(&numbers::table(sweep));
    page.push_str("</body>\n</html>\n");
    page
}

/// The head of a page, up to the start of its body; `css` comes behind the style that all pages have.
pub(super) fn begin(title: &str, css: &str) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    let style = include_str!("page.css");
    let _ = write!(page, "<title>{title}</title>\n<style>\n{style}{css}</style>\n</head>\n<body>\n");
    page
}

/// Text as it stands in a page.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn head(sweep: &Sweep, kinds: usize) -> String {
    let totals = sweep.totals();
    let Totals { passed, failed, unsupported, ignored, expected_failures } = totals;
    let verdict = match (failed, kinds) {
        (0, _) if passed == 0 => "nothing has passed".to_owned(),
        (0, _) => "everything that ran conforms".to_owned(),
        (1, _) => "a case does not conform".to_owned(),
        (n, 1) => format!("{} cases do not conform, one kind of failure", thousands(n)),
        (n, kinds) => format!("{} cases do not conform, {kinds} kinds of failure", thousands(n)),
    };
    let mut text = format!("<h1>Assay: {verdict}</h1>\n");
    for reason in &sweep.not_run {
        let _ = writeln!(text, "<p class=\"partial\"><b>Partial run:</b> {}</p>", escape(reason));
    }
    for contradiction in &sweep.contradictions {
        let _ = writeln!(
            text,
            "<p class=\"partial\"><b>Contradiction:</b> {}</p>",
            escape(&contradiction.to_string())
        );
    }
    let _ = write!(text, "<p>{} in {:.1} s", cases(totals.all()), sweep.seconds);
    if !sweep.filter.is_empty() {
        let _ = write!(text, ", only those whose names contain <code>{}</code>", escape(&sweep.filter));
    }
    let (date, machine) = (&sweep.provenance.date, escape(&sweep.provenance.machine));
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(
        text,
        "</p>\n<p class=\"facts\">{date}, {machine}, assay {version}, seed {}</p>",
        sweep.seed
    );
    text.push_str("<ul class=\"totals\">\n");
    let tiles = [
        ("good", passed, "passed", ""),
        ("bad", failed, "failed", "#failures"),
        ("", unsupported, "unsupported", "#not-passed"),
        ("", ignored, "ignored", "#not-passed"),
        ("", expected_failures, "failed as expected", "#not-passed"),
    ];
    for (class, count, what, link) in
        tiles.into_iter().filter(|(class, count, ..)| !class.is_empty() || *count > 0)
    {
        let class = if count == 0 { "" } else { class };
        let body = format!("<b>{}</b>{what}", thousands(count));
        let body = match link {
            "" => body,
            _ if count == 0 => body,
            link => format!("<a href=\"{link}\">{body}</a>"),
        };
        let _ = writeln!(text, "<li class=\"{class}\">{body}</li>");
    }
    text.push_str("</ul>\n");
    text
}
