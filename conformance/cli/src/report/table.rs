//! A sweep as a table for the terminal.

use std::collections::BTreeMap;
use std::fmt::Write;

use kernels::{DeviceKind, Stem};

use super::{Group, Sweep, rerun};
use conformance::outcome::{Outcome, Totals};

/// Failures that the terminal shows in full; the reports have all.
const SHOWN: usize = 10;

/// The table of ops and backends, what failed, and the totals.
pub fn table(sweep: &Sweep) -> String {
    let mut text = String::new();
    for backend in &sweep.backends {
        let place = match backend.kind {
            // What a software device is called says what it is.
            DeviceKind::Host | DeviceKind::Software => "",
            DeviceKind::Gpu => " (GPU)",
        };
        let _ = writeln!(text, "{}: {}{place}", backend.name, backend.device);
    }
    let header = ("op", "backend", "cases", "passed", "failed", "unsup.", "ignored", "budget", "time");
    let (a, b, c, d, e, f, g, h, i) = header;
    let _ = writeln!(text, "\n{a:<12} {b:<8} {c:>7} {d:>7} {e:>7} {f:>7} {g:>7} {h:>8} {i:>8}");
    for ((stem, backend), group) in by_op(sweep) {
        let Group { totals, share, micros } = group;
        let Totals { passed, failed, unsupported, ignored, expected_failures } = totals;
        let budget = if share > 0.0 { format!("{:.1} %", share * 100.0) } else { "exact".into() };
        let _ = writeln!(
            text,
            "{stem:<12} {backend:<8} {:>7} {passed:>7} {failed:>7} {unsupported:>7} {:>7} {budget:>8} {:>6.1} s",
            totals.all(),
            ignored + expected_failures,
            micros as f64 / 1e6
        );
    }
    text.push_str(&failures(sweep));
    let Totals { passed, failed, unsupported, ignored, expected_failures } = sweep.totals();
    let _ = writeln!(
        text,
        "\n{} cases in {:.1} s: {passed} passed, {failed} failed, {unsupported} unsupported, {ignored} ignored, \
         {expected_failures} failed as expected",
        sweep.totals().all(),
        sweep.seconds
    );
    text
}

fn by_op(sweep: &Sweep) -> BTreeMap<(Stem, String), Group> {
    let mut ops: BTreeMap<_, Group> = BTreeMap::new();
    for ((stem, backend, _), group) in sweep.groups() {
        let op = ops.entry((stem, backend)).or_default();
        op.totals.passed += group.totals.passed;
        op.totals.failed += group.totals.failed;
        op.totals.unsupported += group.totals.unsupported;
        op.totals.ignored += group.totals.ignored;
        op.totals.expected_failures += group.totals.expected_failures;
        op.share = op.share.max(group.share);
        op.micros += group.micros;
    }
    ops
}

fn failures(sweep: &Sweep) -> String {
    let mut text = String::new();
    for result in sweep.failures().take(SHOWN) {
        let Outcome::Failed(found) = &result.outcome else { continue };
        let _ = writeln!(text, "\nFAILED {}", result.name);
        for failure in found {
            let _ = writeln!(text, "  {}: {}", failure.found_by, failure.what);
        }
        let _ = writeln!(text, "  rerun: {}", rerun(&result.name));
        if let Some(small) = sweep.smaller(&result.name).filter(|small| small.name != result.name) {
            let _ = writeln!(text, "  shrunk: {}", small.name);
            if let Outcome::Failed(found) = &small.outcome {
                for failure in found {
                    let _ = writeln!(text, "    {}: {}", failure.found_by, failure.what);
                }
            }
            let _ = writeln!(text, "    rerun: {}", rerun(&small.name));
        }
    }
    let more = sweep.failures().count().saturating_sub(SHOWN);
    if more > 0 {
        let _ = writeln!(text, "\nand {more} more; the reports (--json, --html) have all of them");
    }
    text
}
