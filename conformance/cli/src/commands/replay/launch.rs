//! `assay replay` of a launch capsule: one launch of a HIP program, on the software device.

use std::path::Path;
use std::time::Instant;

use forensics::provenance;
use launch_capsule::file;
use launch_capsule::replay::{Replayed, run, same_way};
use launch_capsule::{Found, LaunchCapsule, reduce};
use sanitize_protocol::present;

use crate::commands::{Trouble, print};

/// Runs the launch and prints what came of it; true where nothing is wrong.
pub fn verdict(path: &Path, capsule: &LaunchCapsule) -> Result<bool, Trouble> {
    let begun = Instant::now();
    let Replayed { mut reports, .. } = run(&capsule.record).map_err(|error| unusable(path, &error))?;
    let seconds = begun.elapsed().as_secs_f64();
    let word = if reports.is_empty() { "PASSED" } else { "FAILED" };
    let same = match &capsule.found {
        Found::Report(report) => reports.iter().any(|found| same_way(found, report)),
        Found::Answer(_) => !reports.is_empty(),
    };
    print(&format!("{word} {} on the software device, {seconds:.3} s\n", path.display()));
    let [x, y, z] = capsule.record.shape.grid;
    let [bx, by, bz] = capsule.record.shape.block;
    print(&format!(
        "  launch of {} with a grid of {x}x{y}x{z} and blocks of {bx}x{by}x{bz}\n",
        capsule.record.kernel
    ));
    for report in &mut reports {
        let needed = launch_capsule::need::bytes(&capsule.record, report);
        present(report, needed);
        indent(&report.to_string());
    }
    match &capsule.found {
        Found::Answer(answer) => print(&format!("  in its program, on a GPU: {answer}\n")),
        Found::Report(_) if same => print("  as in its program\n"),
        Found::Report(report) => {
            print("  not as in its program, where it was\n");
            indent(&report.to_string());
        }
    }
    Ok(reports.is_empty())
}

/// Writes the smallest capsule that fails as the one at `path` does.
pub fn shrink(path: &Path, capsule: &LaunchCapsule, out: &Path) -> Result<(), Trouble> {
    let small = reduce::shrink(capsule).map_err(|error| unusable(path, &error))?;
    let Some(mut small) = small else {
        print(&format!("{}: does not fail as it did, nothing to shrink\n", path.display()));
        return Ok(());
    };
    if let Found::Report(report) = &mut small.found {
        let needed = launch_capsule::need::bytes(&small.record, report);
        present(report, needed);
    }
    file::write(out, provenance::build(), &small).map_err(Trouble::input)?;
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |m| m.len());
    let blocks =
        |capsule: &LaunchCapsule| capsule.record.shape.grid.iter().map(|&n| u64::from(n)).product::<u64>();
    print(&format!(
        "shrunk: {} ({} bytes, from {}; {} blocks, from {})\n",
        out.display(),
        size(out),
        size(path),
        blocks(&small),
        blocks(capsule)
    ));
    Ok(())
}

fn indent(text: &str) {
    for line in text.lines() {
        print(&format!("    {line}\n"));
    }
}

fn unusable(path: &Path, error: &dyn std::error::Error) -> Trouble {
    Trouble::Input(format!("{}: {error}", path.display()))
}
