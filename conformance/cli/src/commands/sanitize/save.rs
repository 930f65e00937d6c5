//! `--save`: launches that failed, as capsules.

use std::path::{Path, PathBuf};

use forensics::provenance;
use launch_capsule::{file, reduce};
use sanitize_protocol::Finding;

use crate::commands::{Trouble, say};

/// Writes the launches of findings: to a folder all of them, to a file the first.
pub fn save(to: &Path, findings: &[Finding]) -> Result<(), Trouble> {
    let several = to.is_dir() || to.as_os_str().as_encoded_bytes().ends_with(b"/");
    let launches = findings.iter().filter_map(|finding| Some((finding, finding.capsule.as_deref()?)));
    let mut written = 0;
    for (number, (finding, recorded)) in (1..).zip(launches.take(if several { usize::MAX } else { 1 })) {
        let path = if several { to.join(name(number, finding)) } else { to.to_owned() };
        write(recorded, &path)?;
        written += 1;
    }
    if written == 0 {
        say("========= no capsule: nothing that was found is about one launch");
    }
    Ok(())
}

/// `1-rope.capsule`.
fn name(number: u32, finding: &Finding) -> PathBuf {
    let kernel = finding.report.at.as_ref().map_or("launch", |at| at.kernel.as_str());
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
    file::write(to, provenance::build(), &cut.unwrap_or(whole)).map_err(Trouble::input)?;
    say(&format!("========= capsule: assay replay {}{alone}", to.display()));
    Ok(())
}
