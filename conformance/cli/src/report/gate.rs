//! Gates, as text and as a page.

use std::fmt::Write;

use forensics::gates::gate::{Gate, Overall, Thresholds, Verdict, number, numbers};

use super::html::{begin, escape};

/// A gate in a few lines, and all of them in a word.
pub fn text(gates: &[Gate]) -> String {
    let mut text = String::new();
    for Gate { gate, verdict, why, distance, control } in gates {
        let _ = writeln!(text, "{} {gate}: {why}", verdict.name());
        if let Some(distance) = distance {
            let _ = writeln!(text, "  {}", numbers(distance));
        }
        let _ = writeln!(text, "  control: {}", control.as_deref().unwrap_or("none ran"));
    }
    let _ = writeln!(text, "{}", Overall::of(gates).name());
    text
}

/// The page.
pub fn page(gates: &[Gate], limits: &Thresholds) -> String {
    let mut page = begin("Assay gate", "");
    let Thresholds { max_abs_diff, p99_abs_diff, top1_agreement } = limits;
    let _ = writeln!(
        page,
        "<h1>Assay gate: {}</h1>\n<p>limits: max_abs_diff {max_abs_diff}, p99_abs_diff {p99_abs_diff}, top1_agreement {top1_agreement}</p>",
        Overall::of(gates).name()
    );
    page.push_str(
        "<div class=\"wide\"><table class=\"stack\"><thead><tr><th>gate</th><th>verdict</th><th>entries</th><th>max_abs_diff</th>\
         <th>p99_abs_diff</th><th>top1_agreement</th></tr></thead>\n<tbody>\n",
    );
    for Gate { gate, verdict, distance, .. } in gates {
        let class = match verdict {
            Verdict::PassDeterministic | Verdict::PassEquiv => "good",
            Verdict::Inconclusive => "soft",
            _ => "bad",
        };
        let cells = distance.as_ref().map_or([const { String::new() }; 4], |d| {
            let top1 = format!("{:.4}", d.top1_agreement);
            [d.entries.to_string(), number(d.max_abs_diff), number(d.p99_abs_diff), top1]
        });
        let [entries, max, p99, top1] = cells.map(|cell| if cell.is_empty() { "none".into() } else { cell });
        let _ = writeln!(
            page,
            "<tr><td data-label=\"gate\">{}</td><td data-label=\"verdict\" class=\"{class}\">{}</td><td data-label=\"entries\">{entries}</td>\
             <td data-label=\"max_abs_diff\">{max}</td><td data-label=\"p99_abs_diff\">{p99}</td><td data-label=\"top1_agreement\">{top1}</td></tr>",
            escape(gate),
            verdict.name(),
        );
    }
    page.push_str("</tbody></table></div>\n");
    for Gate { gate, why, control, .. } in gates {
        let _ = writeln!(page, "<h2>{}</h2>\n<p>{}</p>", escape(gate), escape(why));
        let control = control.as_deref().unwrap_or("none ran");
        let _ = writeln!(page, "<p class=\"facts\">control: {}</p>", escape(control));
    }
    page.push_str("</body>\n</html>\n");
    page
}
