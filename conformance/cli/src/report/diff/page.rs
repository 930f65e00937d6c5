//! The comparison as a page: one file that opens from disk, no outside resource, usable by keyboard and on a phone.
//!
//! The heat map has a row per layer and a column per trace point; the colour of a cell is the share of the error budget on a
//! logarithmic scale. A slider goes through the steps. The numbers stand in the file as JSON, and a short script draws them; without
//! scripts the page still has the findings and the table of the worst cells.

use std::collections::BTreeMap;
use std::fmt::Write;

use engine::taps::Point;
use serde_json::{Value, json};

use super::{budget, in_words};
use crate::report::Budget;
use crate::report::html::{begin, escape};
use forensics::diff::{Cell, Diff, Finding, Histogram, Kind};

/// Cells of the table of worst ones.
const WORST: usize = 12;

/// The page.
pub fn page(diff: &Diff) -> String {
    let mut page = begin("Assay diff", include_str!("heat.css"));
    page.push_str(&head(diff));
    if let Some(first) = diff.first() {
        let _ = write!(page, "<h2>First divergence</h2>\n{}", finding(0, first));
    }
    page.push_str(&heat_map(diff));
    page.push_str(&later(diff));
    page.push_str(&worst(diff));
    page.push_str("</body>\n</html>\n");
    page
}

fn head(diff: &Diff) -> String {
    let mut text = String::new();
    let verdict = match diff.first() {
        None if diff.agrees() => "no divergence".to_owned(),
        None => "nothing was compared".to_owned(),
        Some(first) => format!("{} goes wrong first", first.op),
    };
    let _ = writeln!(text, "<h1>Assay diff: {}</h1>", escape(&verdict));
    for (what, side) in [("left", &diff.left), ("right", &diff.right)] {
        let _ = writeln!(text, "<p>{what} <b>{}</b> {}</p>", escape(&side.name), escape(&side.device));
    }
    if let Some(model) = &diff.model {
        let _ =
            writeln!(text, "<p>{} <code>sha256 {}</code></p>", escape(&model.file), escape(&model.sha256));
    }
    let _ = writeln!(
        text,
        "<p>{} ops in {} steps after {} tokens of prompt, {} elements compared in {:.1} s, assay {}</p>",
        diff.cells.len(),
        diff.steps,
        diff.prompt_tokens,
        diff.compared,
        diff.seconds,
        env!("CARGO_PKG_VERSION")
    );
    text
}

/// The findings after the first one, to be opened.
fn later(diff: &Diff) -> String {
    let Some((_, more)) = diff.findings.split_first().filter(|(_, more)| !more.is_empty()) else {
        return String::new();
    };
    let beyond = match diff.found - diff.findings.len() {
        0 => String::new(),
        n => format!("<p class=\"note\">and {n} that are not kept</p>\n"),
    };
    let sections: String = more.iter().enumerate().map(|(at, f)| finding(at + 1, f)).collect();
    format!("<details><summary>{} more findings</summary>\n{sections}{beyond}</details>\n", more.len())
}

fn finding(number: usize, finding: &Finding) -> String {
    let mut text = format!("<section class=\"failure\" id=\"finding{number}\" tabindex=\"-1\">\n");
    let _ = writeln!(text, "<h3>{}: {}</h3>", escape(&finding.op), escape(&finding.site.to_string()));
    let kind = match finding.kind {
        Kind::Local => "local",
        Kind::Operand => "operand",
        Kind::InputChanged => "input changed",
        Kind::Fault => "fault",
        Kind::Inherited => "inherited",
    };
    let (first, rest) = finding.what.split_once('\n').unwrap_or((&finding.what, ""));
    let _ = writeln!(text, "<p><b class=\"bad-text\">{kind}</b> {}</p>", escape(first));
    if !rest.is_empty() {
        let _ = writeln!(text, "<pre>{}</pre>", escape(rest));
    }
    if !finding.operand.is_empty() {
        let _ = writeln!(
            text,
            "<p>tensor <code>{} {}</code></p>",
            escape(&finding.operand),
            escape(&finding.layout)
        );
    }
    if let Some(left) = finding.left {
        let _ = writeln!(text, "<p>left run at that element: {left}</p>");
    }
    for guess in &finding.guesses {
        let share = guess.explained * 100.0;
        let _ =
            writeln!(text, "<p>looks like <b>{}</b>, which explains {share:.0} %</p>", escape(&guess.what));
    }
    if let Some(histogram) = &finding.histogram {
        text.push_str(&chart(histogram));
    }
    if finding.kind == Kind::Fault {
        text.push_str("<p><code>assay locate</code> prints the op with all its arguments</p>\n");
    }
    if let Some(capsule) = &finding.capsule {
        let _ = writeln!(text, "<pre>assay replay {}</pre>", escape(&capsule.display().to_string()));
    }
    text.push_str("</section>\n");
    text
}

/// Right values as bars, those that came out as a line over them.
fn chart(histogram: &Histogram) -> String {
    let Histogram { low, high, want, got, not_finite } = histogram;
    let tallest = want.iter().chain(got).copied().max().unwrap_or(1).max(1) as f64;
    // Square roots, so that rare values stay visible beside frequent ones.
    let height = |count: usize| (count as f64 / tallest).sqrt() * 80.0;
    let step = 320.0 / want.len().max(1) as f64;
    let mut text = String::from(
        "<figure class=\"values\"><svg viewBox=\"0 0 320 100\" role=\"img\" aria-label=\"values\">\n",
    );
    for (at, count) in want.iter().enumerate() {
        let (x, h) = (at as f64 * step, height(*count));
        let _ = writeln!(
            text,
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{h:.1}\"/>",
            84.0 - h,
            step - 1.0
        );
    }
    let points: Vec<String> = got
        .iter()
        .enumerate()
        .map(|(at, count)| format!("{:.1},{:.1}", (at as f64 + 0.5) * step, 84.0 - height(*count)))
        .collect();
    let _ = writeln!(text, "<polyline points=\"{}\"/>", points.join(" "));
    let _ = writeln!(
        text,
        "<text x=\"0\" y=\"97\">{low:.3e}</text><text x=\"320\" y=\"97\" text-anchor=\"end\">{high:.3e}</text>"
    );
    let lost = if *not_finite > 0 { format!("; {not_finite} values are not finite") } else { String::new() };
    let _ = writeln!(
        text,
        "</svg><figcaption>bars: right values, line: what came out{lost}</figcaption></figure>"
    );
    text
}

/// The columns: trace points that occur, in the order in which a model runs.
fn columns(cells: &[Cell]) -> Vec<&str> {
    let known = Point::ALL.iter().map(|point| point.name());
    known.filter(|name| cells.iter().any(|cell| cell.site.point == *name)).collect()
}

fn heat_map(diff: &Diff) -> String {
    if diff.cells.is_empty() {
        return String::new();
    }
    let columns = columns(&diff.cells);
    let layers = diff.cells.iter().filter_map(|cell| cell.site.layer).max().map_or(0, |l| l + 1);
    let local = diff.cells.iter().any(|cell| cell.share.is_some());
    let data = json!({
        "columns": columns,
        "layers": layers,
        "steps": diff.cells.iter().map(|cell| cell.site.step + 1).max().unwrap_or(0),
        "local": local,
        "first": diff.first().map(|f| json!([f.site.step, f.site.layer, f.site.point])),
        "findings": diff.findings.iter().map(|f| json!([f.site.step, f.site.layer, f.site.point])).collect::<Vec<_>>(),
        "cells": merged(diff, &columns),
    });
    let what = if local {
        "the share of its error budget that the op's worst element used. The budget is the largest error that a correct kernel can make \
         there: up to 1 is right, and 0.8 is as right as 0.2"
    } else {
        "the distance of the two runs, relative to the left one"
    };
    let mut text = String::from("<h2>Layers and ops</h2>\n");
    let _ = writeln!(
        text,
        "<p>Each cell is {what}. Arrow keys, Home and End move between cells, Page Up and Page Down between steps; Enter shows what is \
         wrong there.</p>\n<ul id=\"scale\" class=\"scale\" aria-label=\"legend\"></ul>"
    );
    text.push_str(
        "<p class=\"steps\"><label for=\"step\">step</label> <input id=\"step\" type=\"range\" min=\"-1\" value=\"-1\"> <output id=\"shown\"></output></p>\n\
         <div class=\"wide\" tabindex=\"-1\"><table id=\"heat\" aria-label=\"layers and ops\"></table></div>\n<p id=\"cell\" class=\"detail\" aria-live=\"polite\"></p>\n\
         <noscript><p class=\"note\">The map needs scripts; the table below does not.</p></noscript>\n",
    );
    // `</` cannot end the script early inside JSON strings once it is written `<\/`.
    let data = data.to_string().replace("</", "<\\/");
    let _ = writeln!(text, "<script>\nconst D = {data};\n{}</script>", include_str!("heat.js"));
    text
}

/// `[step, layer or −1, column, share, drift, op]` of each place; ops that share one are merged to the worse. The share of a result
/// that is correctly rounded is −1.
fn merged(diff: &Diff, columns: &[&str]) -> Vec<Value> {
    let mut places: BTreeMap<_, (&str, Budget, f64)> = BTreeMap::new();
    for cell in &diff.cells {
        let Some(column) = columns.iter().position(|name| *name == cell.site.point) else { continue };
        let place =
            places.entry((cell.site.step, cell.site.layer, column)).or_insert((&cell.op, Budget::Exact, 0.0));
        let drift = cell.drift.map_or(0.0, |d| if d.incomparable > 0 { 1e300 } else { d.relative });
        *place = (&cell.op, place.1.max(budget(cell).unwrap_or_default()), place.2.max(drift));
    }
    places
        .into_iter()
        .map(|((step, layer, column), (op, budget, drift))| {
            let layer = layer.map_or(json!(-1), |l| json!(l));
            let share = match budget {
                Budget::Exact => json!(0),
                Budget::Rounded => json!(-1),
                Budget::Share(share) => rounded(share.min(1e300)),
            };
            json!([step, layer, column, share, rounded(drift), op])
        })
        .collect()
}

/// Three digits: enough for a colour and a line of text.
fn rounded(x: f64) -> Value {
    format!("{x:.2e}").parse::<f64>().map_or(Value::Null, Value::from)
}

fn worst(diff: &Diff) -> String {
    let mut cells: Vec<&Cell> = diff.cells.iter().collect();
    let key = |cell: &Cell| (budget(cell), cell.drift.map_or(0.0, |d| d.relative));
    cells.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(std::cmp::Ordering::Equal));
    let mut text = String::from(
        "<h2>Worst ops</h2>\n<div class=\"wide\"><table class=\"stack\"><thead><tr><th>op</th><th>place</th><th>local</th><th>drift</th></tr></thead>\n<tbody>\n",
    );
    for cell in cells.into_iter().take(WORST) {
        let local = budget(cell).map_or("—".into(), in_words);
        let class = if cell.share.is_some_and(|s| s > 1.0) { " class=\"bad\"" } else { "" };
        let drift = cell.drift.map_or("—".into(), |d| format!("{:.2e}", d.relative));
        let _ = writeln!(
            text,
            "<tr><td data-label=\"op\">{}</td><td data-label=\"place\">{}</td><td data-label=\"local\"{class}>{local}</td>\
             <td data-label=\"drift\">{drift}</td></tr>",
            escape(&cell.op),
            escape(&cell.site.to_string())
        );
    }
    text.push_str("</tbody></table></div>\n");
    text
}
