//! `assay capsule`: what a capsule holds.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use conformance::capsule::{self, Capsule, Stored};
use conformance::reduce;

use super::{End, Trouble, print};

/// Looks into a capsule.
#[derive(clap::Args)]
pub struct CapsuleCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Prints the op, its parameters and operands, where it comes from, and what it should give.
    Show {
        /// The capsules.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

impl CapsuleCommand {
    pub fn run(self) -> Result<End, Trouble> {
        let What::Show { files } = self.what;
        for path in &files {
            let capsules = capsule::read(path).map_err(Trouble::input)?;
            print(&format!("{}: {} bytes\n", path.display(), size(path)));
            for case in &capsules {
                print(&show(case));
            }
        }
        Ok(End::Well)
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

fn show(case: &Capsule) -> String {
    let mut text =
        format!("{}: {}, {} bytes of operands\n", case.name, case.record.stem, reduce::size(&case.record));
    for (name, value) in &case.record.params {
        let _ = writeln!(text, "  {name} = {value}");
    }
    for o in case.record.operands() {
        let note = if o.blank { ", content of no matter" } else { "" };
        let role = format!("{:?}", o.role).to_lowercase();
        let _ = writeln!(text, "  {role:<7} {:<10} {:?} in {} bytes{note}", o.name, o.layout, o.bytes.len());
    }
    for (name, right) in &case.expected {
        let _ = match right {
            Stored::Values(values) => writeln!(
                text,
                "  expected {name}: {} values within the op's bound: {}",
                values.len(),
                first(values)
            ),
            Stored::Bits(bytes) => writeln!(text, "  expected {name}: {} bytes exactly", bytes.len()),
        };
    }
    for (name, bytes) in &case.observed {
        let _ = writeln!(text, "  observed {name}: {} bytes", bytes.len());
    }
    if let Some(origin) = &case.origin {
        let _ = writeln!(text, "  from {}, {}\n  build {}", origin.backend, origin.device, origin.build);
        if let Some(model) = &origin.model {
            let _ = writeln!(text, "  model {}, sha256 {}", model.file, model.sha256);
        }
        if let Some(site) = &origin.site {
            let _ = writeln!(text, "  at {site}");
        }
        if let Some(cut) = &origin.cut {
            let _ = writeln!(text, "  {cut}");
        }
    }
    text
}

fn first(values: &[f64]) -> String {
    let shown: Vec<String> = values.iter().take(4).map(|v| format!("{v:.6}")).collect();
    let more = if values.len() > 4 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
