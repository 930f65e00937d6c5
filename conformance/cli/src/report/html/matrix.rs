//! Ops by formats, and by the types of their activations, a backend at a time. A cell's colour and text are its verdict; a click shows what is behind it.
//!
//! The tabs are radio buttons and the details popovers, so that the page needs no script.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use kernels::{DType, DeviceKind, Stem};

use super::super::fidelity::{of_backend, sentence};
use super::super::{Budget, FailureGroup, Group, Sweep, Tested, cases, thousands};
use super::escape;
use conformance::outcome::Totals;

/// What a cell says, from the worst to the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Mark {
    Failed,
    ExpectedFailure,
    NotRun,
    Oracle,
    Most,
    Half,
    Tenth,
    Hundredth,
    Rounded,
    Exact,
}

impl Mark {
    const ALL: [Mark; 10] = [
        Mark::Failed,
        Mark::ExpectedFailure,
        Mark::NotRun,
        Mark::Most,
        Mark::Half,
        Mark::Tenth,
        Mark::Hundredth,
        Mark::Rounded,
        Mark::Exact,
        Mark::Oracle,
    ];

    fn of(group: &Group<'_>, oracle: bool) -> Self {
        let Totals { passed, failed, unsupported: _, ignored: _, expected_failures } = group.totals;
        match group.budget {
            _ if failed > 0 => Mark::Failed,
            _ if expected_failures > 0 => Mark::ExpectedFailure,
            _ if passed == 0 => Mark::NotRun,
            _ if oracle => Mark::Oracle,
            Budget::Exact => Mark::Exact,
            Budget::Rounded => Mark::Rounded,
            Budget::Share(share) if share > 0.5 => Mark::Most,
            Budget::Share(share) if share > 0.1 => Mark::Half,
            Budget::Share(share) if share > 0.01 => Mark::Tenth,
            Budget::Share(_) => Mark::Hundredth,
        }
    }

    /// Its class in the style sheet.
    const fn class(self) -> &'static str {
        match self {
            Mark::Failed => "m-failed",
            Mark::ExpectedFailure => "m-expected",
            Mark::NotRun => "m-not-run",
            Mark::Oracle => "m-oracle",
            Mark::Most => "m-most",
            Mark::Half => "m-half",
            Mark::Tenth => "m-tenth",
            Mark::Hundredth => "m-hundredth",
            Mark::Rounded => "m-rounded",
            Mark::Exact => "m-exact",
        }
    }

    /// The text of a cell.
    fn text(self, group: &Group<'_>) -> String {
        match (self, group.budget) {
            (Mark::Failed, _) => format!("✗ {}", thousands(group.totals.failed)),
            (Mark::ExpectedFailure, _) => format!("! {}", group.totals.expected_failures),
            (Mark::NotRun, _) => "–".into(),
            (Mark::Oracle, _) => "✓".into(),
            (Mark::Rounded, _) => "½ ulp".into(),
            (Mark::Hundredth, _) => "&lt; 1 %".into(),
            (_, Budget::Share(share)) => format!("{:.0} %", share * 100.0),
            (_, Budget::Exact | Budget::Rounded) => "=".into(),
        }
    }

    /// What it means, with a sample of its text.
    const fn legend(self) -> (&'static str, &'static str) {
        match self {
            Mark::Failed => ("✗ 3", "3 cases failed"),
            Mark::ExpectedFailure => ("! 3", "3 cases failed, as expectations.toml says they do"),
            Mark::NotRun => ("–", "nothing ran: unsupported or ignored, which is not a pass"),
            Mark::Oracle => {
                ("✓", "the oracle, by its own checks; no share, because it would be compared with itself")
            }
            Mark::Most => ("80 %", "passed; the worst element used over half of its error budget"),
            Mark::Half => ("30 %", "passed, 10 to 50 % used"),
            Mark::Tenth => ("3 %", "passed, 1 to 10 % used"),
            Mark::Hundredth => ("&lt; 1 %", "passed, less than 1 % used"),
            Mark::Rounded => ("½ ulp", "passed, correctly rounded: the output's type has no nearer value"),
            Mark::Exact => ("=", "passed, every element equal to the oracle's"),
        }
    }
}

type Cells<'s> = BTreeMap<(Stem, String, DType), Group<'s>>;

/// What the columns of a grid are.
#[derive(Clone, Copy)]
enum Columns {
    /// Formats of weights, caches and outputs.
    Formats,
    /// Types of activations, gains and biases.
    Activations,
}

impl Columns {
    /// What stands over the grid, also as its name.
    const fn title(self) -> &'static str {
        match self {
            Columns::Formats => "formats",
            Columns::Activations => "activations",
        }
    }

    fn id(self, panel: usize, stem: Stem, dtype: DType) -> String {
        format!("{}{panel}-{stem}-{dtype}", &self.title()[..1])
    }

    /// The cases of a cell, as a filter.
    fn filter(self, stem: Stem, backend: &str, dtype: DType) -> String {
        match (self, dtype) {
            (Columns::Formats, _) => format!("{stem}/{backend}/{dtype}/"),
            (Columns::Activations, DType::F32) => format!("{stem}/{backend}/"),
            (Columns::Activations, _) => format!("{stem}/{backend}/ _type={dtype}"),
        }
    }
}

/// The section with a matrix per backend; nothing where no case has an op and a format.
pub fn matrix(sweep: &Sweep, failures: &[FailureGroup<'_>]) -> String {
    let cells = sweep.groups();
    let floats = sweep.groups_by_float();
    let backends = backends(sweep, &cells);
    if backends.is_empty() {
        return String::new();
    }
    let failing = |name: &str| failures.iter().any(|group| group.backend == name);
    let chosen = backends
        .iter()
        .position(|(name, _)| failing(name))
        .or_else(|| backends.iter().position(|(_, tested)| !tested.is_some_and(Tested::is_oracle)))
        .unwrap_or(0);
    let mut text = String::from(
        "<h2>Ops and formats</h2>\n<p>The number in a cell is the share of its error budget that the op's worst element used: up to 100 % \
         is right. Select a cell for its cases.</p>\n<div class=\"tabs\">\n",
    );
    for (at, (name, _)) in backends.iter().enumerate() {
        let checked = if at == chosen { " checked" } else { "" };
        let mark = if failing(name) { " ✗" } else { "" };
        let _ = writeln!(
            text,
            "<input type=\"radio\" name=\"backend\" id=\"tab{at}\"{checked}><label for=\"tab{at}\">{}{mark}</label>",
            escape(name)
        );
    }
    let mut popovers = String::new();
    let mut used = BTreeSet::new();
    for (at, (name, tested)) in backends.iter().enumerate() {
        let _ = writeln!(
            text,
            "<div class=\"panel\" id=\"panel{at}\">\n<p><b>{}</b> {}</p>",
            escape(name),
            about(*tested)
        );
        if let Some(fidelity) = of_backend(sweep, name) {
            let _ = writeln!(text, "<p>{}.</p>", escape(&sentence(&fidelity)));
        }
        text.push_str(&objects(sweep, name));
        let oracle = tested.is_some_and(Tested::is_oracle);
        for (columns, cells) in [(Columns::Formats, &cells), (Columns::Activations, &floats)] {
            let own: BTreeMap<(Stem, DType), &Group<'_>> = cells
                .iter()
                .filter(|((_, backend, _), _)| backend == name)
                .map(|((stem, _, dtype), group)| ((*stem, *dtype), group))
                .collect();
            used.extend(own.values().map(|group| Mark::of(group, oracle)));
            text.push_str(&grid(columns, at, name, oracle, &own));
            for (&(stem, dtype), group) in &own {
                let cell = (columns, at, stem, name.as_str(), dtype);
                popovers.push_str(&popover(cell, oracle, group, failures));
            }
        }
        text.push_str("</div>\n");
    }
    let rules: Vec<_> = (0..backends.len()).map(|at| format!("#tab{at}:checked ~ #panel{at}")).collect();
    let _ = writeln!(text, "</div>\n<style>{} {{ display: block; }}</style>", rules.join(", "));
    text.push_str(&legend(&used, cells.values().any(is_partial)));
    text.push_str(&popovers);
    text
}

/// The backends that have cells, in the order in which they ran, with what is known of them.
fn backends<'s>(sweep: &'s Sweep, cells: &Cells<'s>) -> Vec<(String, Option<&'s Tested>)> {
    let with_cells: BTreeSet<&String> = cells.keys().map(|(_, backend, _)| backend).collect();
    let known = sweep.backends.iter().filter(|tested| with_cells.contains(&tested.name));
    let mut list: Vec<_> = known.map(|tested| (tested.name.clone(), Some(tested))).collect();
    for name in with_cells {
        if !list.iter().any(|(known, _)| known == name) {
            list.push((name.clone(), None));
        }
    }
    list
}

fn about(tested: Option<&Tested>) -> String {
    let Some(tested) = tested else { return String::new() };
    let note = match tested.identity.kind {
        _ if tested.is_oracle() => {
            " It is what the others are compared with. Its own checks are golden files of other programs, laws, and untouched memory."
        }
        DeviceKind::Software => {
            " The code objects are those of the GPU; the device that runs them is a program that checks every access."
        }
        DeviceKind::Host | DeviceKind::Gpu => "",
    };
    format!("{}.{note}", escape(&tested.device()))
}

/// The code objects that a backend ran, folded; nothing where it has none.
fn objects(sweep: &Sweep, backend: &str) -> String {
    let own: Vec<_> = sweep.device_code.iter().filter(|code| code.backend == backend).collect();
    if own.is_empty() {
        return String::new();
    }
    let origins: BTreeSet<&str> = own.iter().map(|code| code.object.origin.as_str()).collect();
    let origins: Vec<_> = origins.into_iter().collect();
    let rows: Vec<_> = own
        .iter()
        .map(|code| {
            let (stem, origin) = (escape(&code.object.stem), escape(&code.object.origin));
            format!("{stem}: {origin}, sha256 {}", escape(&code.object.sha256))
        })
        .collect();
    format!(
        "<details class=\"objects\"><summary>{} code objects: {}</summary><pre>{}</pre></details>\n",
        own.len(),
        escape(&origins.join(", ")),
        rows.join("\n")
    )
}

fn grid(
    columns: Columns,
    panel: usize,
    backend: &str,
    oracle: bool,
    cells: &BTreeMap<(Stem, DType), &Group<'_>>,
) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let formats: BTreeSet<DType> = cells.keys().map(|(_, format)| *format).collect();
    let stems: BTreeSet<Stem> = cells.keys().map(|(stem, _)| *stem).collect();
    let heads: Vec<_> = formats.iter().map(|format| format!("<th scope=\"col\">{format}</th>")).collect();
    let heads = heads.concat();
    let mut text = format!(
        "<table class=\"matrix\" aria-label=\"ops and {title} on {}\">\n<thead><tr><th>{title}</th>{heads}</tr></thead>\n<tbody>\n",
        escape(backend),
        title = columns.title()
    );
    for stem in stems {
        let _ = write!(text, "<tr><th scope=\"row\">{stem}</th>");
        for &format in &formats {
            let Some(group) = cells.get(&(stem, format)) else {
                text.push_str("<td class=\"none\"></td>");
                continue;
            };
            let mark = Mark::of(group, oracle);
            let part = if is_partial(group) { " part" } else { "" };
            let _ = write!(
                text,
                "<td><button class=\"{}{part}\" popovertarget=\"{}\" data-format=\"{format}\">{}</button></td>",
                mark.class(),
                columns.id(panel, stem, format),
                mark.text(group)
            );
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody></table>\n");
    text
}

/// Whether some of the cases passed and others did not run.
const fn is_partial(group: &Group<'_>) -> bool {
    group.totals.passed > 0 && group.totals.unsupported + group.totals.ignored > 0
}

fn legend(used: &BTreeSet<Mark>, some_did_not_run: bool) -> String {
    let mut text = String::from("<ul class=\"legend\" aria-label=\"legend\">\n");
    for mark in Mark::ALL.into_iter().filter(|mark| used.contains(mark)) {
        let (sample, meaning) = mark.legend();
        let _ = writeln!(text, "<li><span class=\"{}\">{sample}</span> {meaning}</li>", mark.class());
    }
    if some_did_not_run {
        let dot =
            "<li><span class=\"m-exact part\">=</span> a dot: some cases of the cell did not run</li>\n";
        text.push_str(dot);
    }
    text.push_str(
        "<li><span class=\"none\"></span> empty: no such case</li>\n</ul>\n<p class=\"facts\"><b>Error budget:</b> the largest error \
         that a correct kernel can make in an element. It is derived, not chosen: it follows from the precision, the depth of sums and the \
         activations that the backend declares (<code>kernels/src/ops</code> has the derivation of each op). So 80 % is as right as 20 %, and \
         more than 100 % is a fault.</p>\n",
    );
    text
}

/// What is behind a cell.
fn popover(
    (columns, panel, stem, backend, format): (Columns, usize, Stem, &str, DType),
    oracle: bool,
    group: &Group<'_>,
    failures: &[FailureGroup<'_>],
) -> String {
    let Totals { passed, failed, unsupported, ignored, expected_failures } = group.totals;
    let backend_text = escape(backend);
    let id = columns.id(panel, stem, format);
    let what = match columns {
        Columns::Formats => "",
        Columns::Activations => "activations in ",
    };
    let mut text = format!("<div popover id=\"{id}\"><h3>{stem}, {what}{format}, {backend_text}</h3>\n");
    let kinds: Vec<_> =
        group.kinds.iter().map(|(kind, count)| format!("{} {kind}", thousands(*count))).collect();
    let _ = writeln!(
        text,
        "<p>{}: {}; {:.2} s</p>",
        cases(group.totals.all()),
        kinds.join(", "),
        group.micros as f64 / 1e6
    );
    let counts = [
        (passed, "passed"),
        (failed, "failed"),
        (unsupported, "unsupported"),
        (ignored, "ignored"),
        (expected_failures, "failed as expected"),
    ];
    let counts: Vec<_> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", thousands(*n))).collect();
    let _ = writeln!(text, "<p>{}</p>", counts.join(", "));
    let worst = group.worst.and_then(|case| Some((case, case.worst.as_ref()?)));
    match (group.budget, worst) {
        _ if oracle => {}
        (Budget::Exact, Some(_)) => text.push_str("<p>every element equals the oracle's</p>\n"),
        (Budget::Rounded | Budget::Share(_), Some((case, w))) => {
            let how = match group.budget {
                Budget::Rounded => "nearest to its bound, correctly rounded".to_owned(),
                Budget::Share(share) if share > 1.0 && w.bound == 0.0 => {
                    "not equal, where it must be".to_owned()
                }
                Budget::Share(share) if share > 1.0 => "furthest beyond its bound".to_owned(),
                budget => format!("nearest to its bound, {budget} of the budget"),
            };
            let _ = writeln!(
                text,
                "<p>{}: element {:?}, got {}, want {}, bound {:.3e}, {:.2} ulp, in</p>\n<p><code>{}</code></p>",
                escape(&how),
                w.index,
                w.got,
                w.want,
                w.bound,
                w.ulps,
                escape(&case.name)
            );
        }
        (_, None) => {}
    }
    for (at, failure) in failures.iter().enumerate() {
        let here = match columns {
            Columns::Formats => failure.formats().contains_key(&format),
            Columns::Activations => failure.floats().contains(&format),
        };
        if failure.backend == backend && failure.op == stem.name() && here {
            let _ = writeln!(
                text,
                "<p><a href=\"#failure{at}\">found by {}: what is wrong</a></p>",
                failure.found_by
            );
        }
    }
    let filter = columns.filter(stem, backend, format);
    let again = format!("cargo run --release -- check '{filter}' --backend '{backend}'");
    let _ = writeln!(text, "<pre>{}</pre></div>", escape(&again));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use conformance::outcome::{CaseResult, Outcome};

    fn group(outcomes: &[Outcome], budget: Budget) -> Group<'static> {
        let mut group = Group { budget, ..Group::default() };
        outcomes.iter().for_each(|outcome| group.totals.count(outcome));
        group
    }

    #[test]
    fn a_cell_says_the_worst_of_its_cases() {
        let unsupported = Outcome::Unsupported("no".into());
        let failed = Outcome::Failed(Vec::new());
        let mark = |outcomes: &[Outcome], budget| Mark::of(&group(outcomes, budget), false);
        assert_eq!(mark(&[Outcome::Passed, failed], Budget::Exact), Mark::Failed);
        assert_eq!(mark(std::slice::from_ref(&unsupported), Budget::Exact), Mark::NotRun);
        assert_eq!(mark(&[unsupported, Outcome::Passed], Budget::Exact), Mark::Exact);
        assert_eq!(mark(&[Outcome::Passed], Budget::Rounded), Mark::Rounded);
        assert_eq!(mark(&[Outcome::Passed], Budget::Share(0.99)), Mark::Most);
        assert_eq!(Mark::of(&group(&[Outcome::Passed], Budget::Share(0.99)), true), Mark::Oracle);
    }

    #[test]
    fn every_colour_of_a_matrix_is_in_its_legend_and_style() {
        let style = include_str!("report.css");
        for mark in Mark::ALL {
            assert!(style.contains(&format!(".{} ", mark.class())), "{mark:?}");
            assert!(legend(&BTreeSet::from([mark]), false).contains(mark.class()), "{mark:?}");
        }
    }

    #[test]
    fn each_backend_has_a_panel() {
        let names = ["add/cpu/f32/exact,n=1", "add/cpu-exact/f32/exact,n=1", "mul/cpu/f16/law,n=1"];
        let result = |name: &str| CaseResult {
            name: name.into(),
            outcome: Outcome::Passed,
            worst: None,
            compared: 1,
            micros: 1,
            fidelity: None,
        };
        let sweep = Sweep { results: names.map(result).into(), ..Sweep::default() };
        let text = matrix(&sweep, &[]);
        assert_eq!((text.matches("class=\"panel\"").count(), text.matches(" checked>").count()), (2, 1));
        assert_eq!(text.matches("aria-label=\"ops and activations on ").count(), 2);
        assert_eq!(text.matches("popovertarget").count(), text.matches("<div popover").count());
    }
}
