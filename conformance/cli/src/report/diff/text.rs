//! The comparison for a terminal.

use std::fmt::Write;

use super::share_of_budget;
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
    if let Some(cell) = largest(&diff.cells, |cell| cell.share) {
        let share = share_of_budget(cell.share.unwrap_or(0.0));
        let _ = writeln!(text, "local: at most {share}, in {} at {}", cell.op, cell.site);
    }
    if let Some(cell) = largest(&diff.cells, |cell| cell.drift.map(|d| d.relative)) {
        let drift = cell.drift.map_or(0.0, |d| d.relative);
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

fn largest(cells: &[Cell], of: impl Fn(&Cell) -> Option<f64>) -> Option<&Cell> {
    let measured = cells.iter().filter(|cell| of(cell).is_some());
    measured.max_by(|a, b| of(a).unwrap_or(0.0).total_cmp(&of(b).unwrap_or(0.0)))
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
