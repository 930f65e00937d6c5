//! The numbers behind the matrix: shares of the budget as histograms, what did not pass by reason, and a row per op, backend and format.

use std::collections::BTreeMap;
use std::fmt::Write;

use kernels::Stem;

use super::super::{Budget, Group, Sweep};
use super::escape;
use conformance::name::CaseName;
use conformance::outcome::Outcome;

/// Columns of a histogram: shares of the budget from below 10^-6 to above 1, two to a decade.
const BINS: usize = 13;

/// A histogram for each op and backend whose results are neither exact nor correctly rounded.
pub fn histograms(sweep: &Sweep) -> String {
    let mut shares: BTreeMap<(Stem, String), Vec<f64>> = BTreeMap::new();
    for result in &sweep.results {
        let (Ok((name, backend)), Some(worst)) = (CaseName::parse(&result.name), &result.worst) else {
            continue;
        };
        let oracle = sweep.backends.iter().any(|tested| tested.name == backend && tested.is_oracle());
        if let (Budget::Share(share), false) = (Budget::of(worst), oracle) {
            shares.entry((name.stem, backend)).or_default().push(share);
        }
    }
    if shares.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<details><summary>Error budgets, by op and backend</summary>\n<p>How much of its bound the worst element of each case used, \
         on a logarithmic scale. Green is inside the bound, red beyond it. Cases whose results are exact or correctly rounded are not counted.</p>\n\
         <div class=\"charts\">\n",
    );
    for ((stem, backend), shares) in shares {
        text.push_str(&histogram(&format!("{stem} on {backend}: {} cases", shares.len()), &shares));
    }
    text.push_str("</div></details>\n");
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

/// Every number, folded.
pub fn table(sweep: &Sweep) -> String {
    const HEADS: [&str; 10] = [
        "op",
        "backend",
        "format",
        "cases",
        "passed",
        "failed",
        "unsupported",
        "ignored",
        "most of budget",
        "time",
    ];
    let groups = sweep.groups();
    if groups.is_empty() {
        return String::new();
    }
    let heads = HEADS.map(|head| format!("<th>{head}</th>")).concat();
    let mut text = format!(
        "<details><summary>All numbers</summary>\n<div class=\"wide\"><table class=\"stack\">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n"
    );
    for ((stem, backend, format), Group { totals, budget, micros, .. }) in groups {
        let oracle = sweep.backends.iter().any(|tested| tested.name == backend && tested.is_oracle());
        let budget = if oracle { "oracle".into() } else { escape(&budget.to_string()) };
        let ignored = totals.ignored + totals.expected_failures;
        let class = |count: usize, class: &'static str| if count > 0 { class } else { "" };
        let values = [
            (stem.to_string(), ""),
            (escape(&backend), ""),
            (format.to_string(), ""),
            (totals.all().to_string(), ""),
            (totals.passed.to_string(), class(totals.passed, "good")),
            (totals.failed.to_string(), class(totals.failed, "bad")),
            (totals.unsupported.to_string(), class(totals.unsupported, "soft")),
            (ignored.to_string(), class(ignored, "soft")),
            (budget, ""),
            (format!("{:.2} s", micros as f64 / 1e6), ""),
        ];
        text.push_str("<tr>");
        for (head, (value, class)) in HEADS.iter().zip(values) {
            let _ = write!(text, "<td data-label=\"{head}\" class=\"{class}\">{value}</td>");
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table></div></details>\n");
    text
}

/// Everything that did not run, by reason: unsupported and ignored are never a pass.
pub fn not_passed(sweep: &Sweep) -> String {
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
    let mut text = String::from("<h2 id=\"not-passed\">Not counted as passed</h2>\n<ul>\n");
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
