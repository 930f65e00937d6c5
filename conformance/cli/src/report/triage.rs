//! A triage as text and as a page: what is confirmed, refuted, open, and what to do next.

use std::fmt::Write;

use forensics::triage::hypothesis::{Decision, Triage, Verdict};

use super::html::{begin, escape};

/// Whether a verdict belongs to a part.
type Belongs = fn(&Verdict) -> bool;

/// The parts of the page, in their order.
const PARTS: [(&str, Belongs); 3] = [
    ("confirmed", |v| matches!(v, Verdict::Confirmed)),
    ("refuted", |v| matches!(v, Verdict::Refuted)),
    ("open", |v| matches!(v, Verdict::NotReproduced(_) | Verdict::Inconclusive(_))),
];

/// The report for a terminal.
pub fn text(triage: &Triage) -> String {
    let mut text = format!("{}\nsymptom: {}\n", triage.subject, triage.symptom);
    for (part, belongs) in PARTS {
        let decisions = triage.with(belongs);
        if decisions.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{part}");
        for Decision { hypothesis, verdict, experiment, why, evidence } in decisions {
            let _ = writeln!(text, "  {:<8} {:<21} {verdict}: {why}", hypothesis.code(), hypothesis.name());
            if *verdict != Verdict::Confirmed {
                continue;
            }
            let _ = writeln!(text, "    experiment: {experiment}");
            for part in evidence {
                let _ = writeln!(text, "    {}:", part.what);
                part.text.lines().for_each(|line| {
                    let _ = writeln!(text, "      {line}");
                });
            }
        }
    }
    let _ = writeln!(text, "\n{}\nnext: {}", verdict(triage), triage.next);
    text
}

/// What may be said of a cause.
fn verdict(triage: &Triage) -> &'static str {
    if triage.confirmed().is_empty() {
        "no cause is confirmed"
    } else {
        "CANDIDATE: ROOT_CAUSE needs fail, fix, pass, revert, fail"
    }
}

/// The page.
pub fn page(triage: &Triage) -> String {
    let mut page = begin("Assay triage", "");
    let confirmed: Vec<_> = triage.confirmed().iter().map(|h| format!("{} {}", h.code(), h.name())).collect();
    let title = if confirmed.is_empty() { verdict(triage).into() } else { confirmed.join(", ") };
    let _ = writeln!(page, "<h1>Assay triage: {}</h1>", escape(&title));
    let _ = writeln!(
        page,
        "<p><code>{}</code></p>\n<p>symptom: {}</p>",
        escape(&triage.subject),
        escape(&triage.symptom)
    );
    for (part, belongs) in PARTS {
        let decisions = triage.with(belongs);
        if decisions.is_empty() {
            continue;
        }
        let _ = writeln!(page, "<h2>{part}</h2>");
        for Decision { hypothesis, verdict, experiment, why, evidence } in decisions {
            let open = if *verdict == Verdict::Confirmed { " open" } else { "" };
            let _ = writeln!(
                page,
                "<details{open}><summary>{} {}: {}</summary>\n<p>{}</p>\n<p class=\"note\">experiment: {}</p>",
                hypothesis.code(),
                hypothesis.name(),
                escape(&verdict.to_string()),
                escape(why),
                escape(experiment)
            );
            for part in evidence {
                let _ = writeln!(page, "<p>{}</p>\n<pre>{}</pre>", escape(&part.what), escape(&part.text));
            }
            page.push_str("</details>\n");
        }
    }
    if !confirmed.is_empty() {
        let _ = writeln!(page, "<p>{}</p>", escape(verdict(triage)));
    }
    let _ = writeln!(page, "<h2>next</h2>\n<pre>{}</pre>\n</body>\n</html>", escape(&triage.next));
    page
}
