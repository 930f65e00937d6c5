//! A sweep as a page: one file that opens from disk, no outside resource, readable on a phone. Failures come first.

use std::collections::BTreeMap;
use std::fmt::Write;

use kernels::{DeviceKind, Stem};

use super::{Group, Sweep, rerun};
use conformance::name::CaseName;
use conformance::outcome::{CaseResult, Outcome, Totals};

/// Failures that the page shows at once; the next ones open on demand.
const SHOWN: usize = 10;

/// Failures that the page holds at all.
const HELD: usize = 300;

/// Columns of a histogram: shares of the budget from below 10^-6 to above 1, two to a decade.
const BINS: usize = 13;

/// The page.
pub fn html(sweep: &Sweep) -> String {
    let mut page = begin("Assay report", "");
    page.push_str(&head(sweep));
    page.push_str(&failures(sweep));
    page.push_str(&table(sweep));
    page.push_str(&histograms(sweep));
    page.push_str(&not_run(sweep));
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

fn head(sweep: &Sweep) -> String {
    let totals = sweep.totals();
    let verdict =
        if totals.failed == 0 { "everything that ran conforms" } else { "something does not conform" };
    let mut text = format!("<h1>Assay: {verdict}</h1>\n");
    for backend in &sweep.backends {
        let place = match backend.kind {
            // What a software device is called says what it is.
            DeviceKind::Host | DeviceKind::Software => "",
            DeviceKind::Gpu => " GPU",
        };
        let _ = writeln!(text, "<p><b>{}</b> {}{place}</p>", backend.name, escape(&backend.device));
    }
    let Totals { passed, failed, unsupported, ignored, expected_failures } = totals;
    let _ = writeln!(
        text,
        "<p>{} cases in {:.1} s, assay {}, seed {}</p>",
        totals.all(),
        sweep.seconds,
        env!("CARGO_PKG_VERSION"),
        sweep.seed
    );
    text.push_str("<ul class=\"totals\">\n");
    let tiles = [
        ("good", passed, "passed"),
        ("bad", failed, "failed"),
        ("", unsupported, "unsupported"),
        ("", ignored, "ignored"),
        ("", expected_failures, "failed as expected"),
    ];
    for (class, count, what) in tiles {
        let class = if count == 0 { "" } else { class };
        let _ = writeln!(text, "<li class=\"{class}\"><b>{count}</b>{what}</li>");
    }
    text.push_str("</ul>\n");
    text
}

fn failures(sweep: &Sweep) -> String {
    if sweep.failures().next().is_none() {
        return String::new();
    }
    // A failing case that was made smaller says most; it comes first.
    let (small, rest): (Vec<_>, Vec<_>) =
        sweep.failures().partition(|result| sweep.smaller(&result.name).is_some());
    let all: Vec<_> = small.into_iter().chain(rest).collect();
    let section = |results: &[&CaseResult]| results.iter().map(|r| failure(sweep, r)).collect::<String>();
    let (first, more) = all.split_at(SHOWN.min(all.len()));
    let held = &more[..more.len().min(HELD)];
    let mut text = format!("<h2>Failures</h2>\n{}", section(first));
    if !held.is_empty() {
        let _ =
            writeln!(text, "<details><summary>{} more</summary>\n{}</details>", held.len(), section(held));
    }
    if more.len() > held.len() {
        let beyond = more.len() - held.len();
        let _ = writeln!(text, "<p class=\"note\">and {beyond} that only --json has</p>");
    }
    text
}

fn failure(sweep: &Sweep, result: &CaseResult) -> String {
    let mut text = format!("<section class=\"failure\">\n<h3>{}</h3>\n", escape(&result.name));
    text.push_str(&findings(result));
    if let Some(small) = sweep.smaller(&result.name).filter(|small| small.name != result.name) {
        let _ = writeln!(text, "<p>shrunk to <code>{}</code></p>", escape(&small.name));
        text.push_str(&findings(small));
        let _ = writeln!(text, "<pre>{}</pre>", escape(&rerun(&small.name)));
    } else {
        let _ = writeln!(text, "<pre>{}</pre>", escape(&rerun(&result.name)));
    }
    text.push_str("</section>\n");
    text
}

fn findings(result: &CaseResult) -> String {
    let Outcome::Failed(found) = &result.outcome else { return String::new() };
    let one = |f: &conformance::trial::Failure| {
        format!("<p><b class=\"bad-text\">{}</b> {}</p>\n", f.found_by, escape(&f.what))
    };
    found.iter().map(one).collect()
}

fn table(sweep: &Sweep) -> String {
    let mut text = String::from(
        "<h2>Ops, backends, formats</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>op</th><th>backend</th><th>format</th>\
         <th>cases</th><th>passed</th><th>failed</th><th>unsupported</th><th>ignored</th><th>most of budget</th><th>time</th></tr></thead>\n<tbody>\n",
    );
    for ((stem, backend, format), Group { totals, share, micros }) in sweep.groups() {
        let class = |count: usize, class: &'static str| if count > 0 { class } else { "" };
        let budget = if share > 0.0 { format!("{:.1} %", share * 100.0) } else { "exact".into() };
        let _ = writeln!(
            text,
            "<tr><td>{stem}</td><td>{backend}</td><td>{format}</td><td>{}</td><td class=\"{}\">{}</td><td class=\"{}\">{}</td>\
             <td class=\"{}\">{}</td><td class=\"{}\">{}</td><td>{budget}</td><td>{:.2} s</td></tr>",
            totals.all(),
            class(totals.passed, "good"),
            totals.passed,
            class(totals.failed, "bad"),
            totals.failed,
            class(totals.unsupported, "soft"),
            totals.unsupported,
            class(totals.ignored + totals.expected_failures, "soft"),
            totals.ignored + totals.expected_failures,
            micros as f64 / 1e6
        );
    }
    text.push_str("</tbody>\n</table></div>\n");
    text
}

fn histograms(sweep: &Sweep) -> String {
    let mut shares: BTreeMap<(Stem, String), Vec<f64>> = BTreeMap::new();
    for result in &sweep.results {
        let (Ok((name, backend)), Some(worst)) = (CaseName::parse(&result.name), &result.worst) else {
            continue;
        };
        if worst.share > 0.0 {
            shares.entry((name.stem, backend)).or_default().push(worst.share);
        }
    }
    if shares.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<h2>Error budget</h2>\n<p>How much of its bound the worst element of each case used, on a logarithmic scale. \
         Ops that are missing are exact.</p>\n<div class=\"charts\">\n",
    );
    for ((stem, backend), shares) in shares {
        text.push_str(&histogram(&format!("{stem} on {backend}: {} cases", shares.len()), &shares));
    }
    text.push_str("</div>\n");
    text
}

fn histogram(caption: &str, shares: &[f64]) -> String {
    let mut bins = [0usize; BINS];
    for share in shares {
        bins[bin(*share)] += 1;
    }
    let tallest = bins.iter().copied().max().unwrap_or(1).max(1) as f64;
    let mut text = String::from("<figure><svg viewBox=\"0 0 260 96\" role=\"img\">\n");
    for (at, count) in bins.iter().enumerate() {
        let height = *count as f64 / tallest * 70.0;
        let class = if at == BINS - 1 { " class=\"over\"" } else { "" };
        let (x, y) = (at * 20, 74.0 - height);
        let _ = writeln!(
            text,
            "<rect{class} x=\"{x}\" y=\"{y:.1}\" width=\"18\" height=\"{height:.1}\"><title>{count} cases</title></rect>"
        );
    }
    for (x, label) in [(0, "10⁻⁶"), (80, "10⁻⁴"), (160, "1 %"), (222, "bound")] {
        let _ = writeln!(text, "<text x=\"{x}\" y=\"90\">{label}</text>");
    }
    let _ = writeln!(text, "</svg><figcaption>{}</figcaption></figure>", escape(caption));
    text
}

/// The column of a share: the last one for those above the bound.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the columns")]
fn bin(share: f64) -> usize {
    if share > 1.0 { BINS - 1 } else { ((share.log10() + 6.0) * 2.0).clamp(0.0, (BINS - 2) as f64) as usize }
}

/// Everything that did not run, by reason: unsupported and ignored are never a pass.
fn not_run(sweep: &Sweep) -> String {
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for result in &sweep.results {
        let (what, reason) = match &result.outcome {
            Outcome::Unsupported(reason) => ("unsupported", reason),
            Outcome::Ignored(reason) => ("ignored", reason),
            Outcome::ExpectedFailure(reason) => ("failed as expected", reason),
            Outcome::Passed | Outcome::Failed(_) => continue,
        };
        *reasons.entry((what, reason)).or_default() += 1;
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h2>Not counted as passed</h2>\n<ul>\n");
    for ((what, reason), count) in reasons {
        let _ = writeln!(text, "<li>{count} {what}: {}</li>", escape(reason));
    }
    text.push_str("</ul>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_into_their_columns() {
        assert_eq!(bin(1e-9), 0);
        assert_eq!(bin(1.1e-6), 0);
        assert_eq!(bin(0.011), 8);
        assert_eq!(bin(1.0), BINS - 2);
        assert_eq!(bin(1.0 + f64::EPSILON), BINS - 1);
        assert_eq!(bin(f64::INFINITY), BINS - 1);
    }
}
