//! `--save`: launches that failed, as capsules.

use std::path::{Path, PathBuf};

use assay_cli::report::sanitize::{PREFIX, Sanitized};
use forensics::provenance;
use launch_capsule::replay::run as replay;
use launch_capsule::{Found, file, reduce};
use sanitize_protocol::present;
use softhip::control::LaunchRecord;

use crate::commands::{Trouble, say};

/// Writes the launches that failed: to a folder all of them, to a file the first.
pub fn save(to: &Path, run: &Sanitized) -> Result<(), Trouble> {
    let several = to.is_dir() || to.as_os_str().as_encoded_bytes().ends_with(b"/");
    let findings = run.findings.iter().filter_map(|finding| {
        Some((finding.report.at.as_ref().map(|at| at.kernel.as_str()), finding.capsule.as_deref()?))
    });
    let failures = run.failures.iter().filter_map(|f| Some((f.kernel.as_deref(), f.capsule.as_deref()?)));
    let launches = findings.chain(failures);
    let mut written = 0;
    for (number, (kernel, recorded)) in (1..).zip(launches.take(if several { usize::MAX } else { 1 })) {
        let path = if several { to.join(name(number, kernel)) } else { to.to_owned() };
        write(recorded, &path)?;
        written += 1;
    }
    if written == 0 {
        let why =
            if run.is_clean() { "nothing was found" } else { "nothing that was found is about one launch" };
        let earlier = if !several && to.exists() {
            format!("; {} is of an earlier run", to.display())
        } else {
            String::new()
        };
        say(&format!("{PREFIX} no capsule: {why}{earlier}"));
    }
    Ok(())
}

/// `1-rope.capsule`.
fn name(number: u32, kernel: Option<&str>) -> PathBuf {
    let kernel = kernel.unwrap_or("launch");
    let stem: String = kernel.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    format!("{number}-{stem}.capsule").into()
}

/// Cuts what the library recorded to what the launch touches.
fn write(recorded: &Path, to: &Path) -> Result<(), Trouble> {
    let Some(whole) = file::read(recorded).map_err(Trouble::input)? else {
        return Err(Trouble::Input("libamdhip64.so is of another version than this program".into()));
    };
    let cut = reduce::cut(&whole).map_err(Trouble::input)?;
    let alone = if cut.is_some() { "" } else { ", where the launch alone does not fail as it did" };
    let capsule = cut.unwrap_or(whole);
    file::write(to, provenance::build(), &capsule).map_err(Trouble::input)?;
    if let Found::Answer(_) = capsule.found {
        explain(&capsule.record)?;
    }
    say(&format!("{PREFIX} capsule: assay replay {}{alone}", to.display()));
    Ok(())
}

/// What the software device says about a launch that failed on a GPU.
fn explain(launch: &LaunchRecord) -> Result<(), Trouble> {
    for mut report in replay(launch).map_err(Trouble::input)?.reports {
        let needed = launch_capsule::need::bytes(launch, &report);
        present(&mut report, needed);
        say(&format!("{PREFIX} the same launch on the software device:"));
        report.to_string().lines().for_each(|line| say(&format!("{PREFIX}     {line}")));
    }
    Ok(())
}
