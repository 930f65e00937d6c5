//! An audit of copies to the host, as text and as a page.

use std::fmt::Write;

use forensics::audit::iteration::Iteration;
use forensics::audit::summary::{Summary, Verdict};
use forensics::audit::variant::Mode;

use serde_json::Value;

use super::html::{begin, escape};

/// Errors that are shown.
const SHOWN: usize = 5;

/// The verdict in a sentence.
fn verdict(summary: &Summary<'_>) -> String {
    let words = summary.words();
    match summary.verdict() {
        Verdict::NotReproduced { bound } => {
            let runs = Mode::ALL.iter().map(|mode| summary.of_mode(*mode).count()).sum::<usize>();
            format!("{words} (p < {bound:.4}, about 3/{runs}, at 95 %)")
        }
        Verdict::ProbeNotReached(mode) => format!("{words}: no copy was seen in {mode}"),
        Verdict::Reproduced | Verdict::Incomplete => words,
    }
}

/// The report for a terminal.
pub fn text(name: &str, summary: &Summary<'_>) -> String {
    let mut text = format!(
        "{name}\n\n{:<10} {:>6} {:>7} {:>14} {:>16}\n",
        "mode", "runs", "errors", "copies logged", "copies expected"
    );
    for mode in Mode::ALL {
        let [runs, errors, logged, expected] = counts(summary, mode);
        let logged = if mode.logs() { logged.to_string() } else { "log off".into() };
        let _ = writeln!(text, "{mode:<10} {runs:>6} {errors:>7} {logged:>14} {expected:>16}");
    }
    text.push('\n');
    for (at, Iteration { mode, number, errors, .. }) in summary.failed().take(SHOWN).enumerate() {
        for (nth, error) in errors.iter().take(SHOWN).enumerate() {
            // One error is shown whole.
            let lines = if (at, nth) == (0, 0) { usize::MAX } else { 1 };
            error.trim_end().lines().take(lines).enumerate().for_each(|(row, line)| {
                let place = if row == 0 { format!("{mode} {number}: ") } else { "    ".into() };
                let _ = writeln!(text, "{place}{line}");
            });
        }
    }
    let more = summary.failed().count().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "… and {more} more runs with errors");
    }
    let _ = writeln!(text, "{}", verdict(summary));
    text
}

/// Runs, those with errors, copies logged, copies expected.
fn counts(summary: &Summary<'_>, mode: Mode) -> [usize; 4] {
    summary.of_mode(mode).fold([0; 4], |[runs, errors, logged, expected], i| {
        [runs + 1, errors + usize::from(!i.errors.is_empty()), logged + i.logged, expected + i.expected]
    })
}

/// The page.
pub fn page(name: &str, summary: &Summary<'_>, environment: &Value, seconds: f64) -> String {
    let mut page = begin("Assay audit d2h", "");
    let _ = writeln!(page, "<h1>Assay audit: {}</h1>", escape(&verdict(summary)));
    let _ = writeln!(page, "<p><code>{}</code>, {seconds:.1} s</p>", escape(name));
    for (what, value) in environment.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = writeln!(page, "<p class=\"facts\">{}: <code>{}</code></p>", escape(what), escape(&value));
    }
    page.push_str(
        "<div class=\"wide\"><table class=\"stack\"><thead><tr><th>mode</th><th>runs</th><th>errors</th><th>copies logged</th>\
         <th>copies expected</th></tr></thead>\n<tbody>\n",
    );
    for mode in Mode::ALL {
        let [runs, errors, logged, expected] = counts(summary, mode);
        let logged = if mode.logs() { logged.to_string() } else { "log off".into() };
        let _ = writeln!(
            page,
            "<tr><td data-label=\"mode\">{mode}</td><td data-label=\"runs\">{runs}</td><td data-label=\"errors\">{errors}</td>\
             <td data-label=\"copies logged\">{logged}</td><td data-label=\"copies expected\">{expected}</td></tr>"
        );
    }
    page.push_str("</tbody></table></div>\n");
    for Iteration { mode, number, errors, .. } in summary.failed().take(SHOWN) {
        let _ = writeln!(page, "<section class=\"failure\"><h3>{mode} {number}</h3>");
        for error in errors {
            let _ = writeln!(page, "<pre>{}</pre>", escape(error.trim_end()));
        }
        page.push_str("</section>\n");
    }
    let rest: Vec<_> = summary.failed().skip(SHOWN).collect();
    if !rest.is_empty() {
        let _ = writeln!(page, "<details><summary>{} more runs with errors</summary>\n<pre>", rest.len());
        for Iteration { mode, number, errors, .. } in rest {
            let first = errors.first().and_then(|error| error.lines().next()).unwrap_or_default();
            let _ = writeln!(page, "{mode} {number}: {}", escape(first));
        }
        page.push_str("</pre></details>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}
