//! The comparison for a terminal.

use std::fmt::Write;

use super::{budget, in_words, share_of_budget};
use forensics::diff::{Cell, Diff, Finding, Kind};

/// Findings shown in full.
const SHOWN: usize = 10;

/// The comparison as text: what was compared, what is wrong first, how far the runs have drifted.
pub fn text(diff: &Diff) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "left:  {}, {}", diff.left.name, diff.left.device);
    let _ = writeln!(text, "right: {}, {}", diff.right.name, diff.right.device);
    let _ = writeln!(
        text,
        "{} ops in {} steps, {} elements compared in {:.1} s",
        diff.cells.len(),
        diff.steps,
        diff.compared,
        diff.seconds
    );
    if let Some((cell, most)) = largest(&diff.cells, budget) {
        let _ = writeln!(text, "local: at most {}, in {} at {}", in_words(most), cell.op, cell.site);
    }
    if let Some((cell, drift)) = largest(&diff.cells, |cell| cell.drift.map(|d| d.relative)) {
        let _ = writeln!(text, "inherited: at most {drift:.2e} apart, relative, at {}", cell.site);
    }
    for (at, finding) in diff.findings.iter().take(SHOWN).enumerate() {
        let heading = if at == 0 { "FIRST DIVERGENCE" } else { "then" };
        let _ = writeln!(text, "\n{heading}: {} at {}", finding.op, finding.site);
        text.push_str(&lines(finding));
    }
    if diff.found > SHOWN {
        let _ = writeln!(text, "\nand {} more; --json has {}", diff.found - SHOWN, diff.findings.len());
    }
    text.push_str(if diff.agrees() { "\nNO DIVERGENCE\n" } else { "\nDIVERGES\n" });
    text
}

/// The cell whose reading is largest, with the reading; cells without one do not count.
fn largest<T: PartialOrd>(cells: &[Cell], of: impl Fn(&Cell) -> Option<T>) -> Option<(&Cell, T)> {
    let measured = cells.iter().filter_map(|cell| Some((cell, of(cell)?)));
    measured.reduce(|most, next| if next.1 > most.1 { next } else { most })
}

fn lines(finding: &Finding) -> String {
    let mut text = String::new();
    let kind = match finding.kind {
        Kind::Local => "this op is wrong, on the inputs that it had",
        Kind::Operand => "its operand is not what it should be",
        Kind::InputChanged => "it wrote where it must only read",
        Kind::Fault => "the device failed",
        Kind::Inherited => "the two runs part here",
    };
    let _ = writeln!(text, "  {kind}");
    if !finding.operand.is_empty() {
        let _ = writeln!(text, "  tensor: {} {}", finding.operand, finding.layout);
    }
    if let Some(worst) = finding.worst() {
        let _ = writeln!(text, "  element {:?}: got {}, want {}", worst.index, worst.got, worst.want);
        if let Some(left) = finding.left {
            let _ = writeln!(text, "  left run there: {left}");
        }
        let share = share_of_budget(worst.share);
        let _ = writeln!(text, "  {:.1} ulp, {share}, which is {:.3e}", worst.ulps, worst.bound);
    }
    if let Some(verdict) = &finding.verdict {
        let _ = writeln!(text, "  {} of {} elements outside", verdict.outside, verdict.compared);
    }
    if finding.worst().is_none() || finding.kind != Kind::Local {
        let _ = writeln!(text, "  {}", finding.what);
    }
    if finding.kind == Kind::Fault {
        text.push_str("  assay locate prints the op with all its arguments\n");
    }
    for guess in &finding.guesses {
        let _ = writeln!(text, "  looks like: {} (explains {:.0} %)", guess.what, guess.explained * 100.0);
    }
    if let Some(capsule) = &finding.capsule {
        let _ = writeln!(text, "  capsule: {} (assay replay {})", capsule.display(), capsule.display());
    }
    text
}
