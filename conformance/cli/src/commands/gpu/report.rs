//! `assay gpu report`: what kernels cost, from their objects and from counts.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use assay_cli::backends::Settings;
use assay_cli::quality::baseline::Worse;
use assay_cli::quality::{self, Baseline, Measured, Quality, Resources};
use serde_json::json;
use softhip::object::TargetId;

use super::file::{self, Target};
use crate::commands::progress::Progress;
use crate::commands::{End, Trouble, print, say};

/// Says what kernels cost on CDNA3: registers, LDS, scratch and occupancy from the code objects; bytes moved against the fewest
/// that the op allows, cache lines per access and bank conflicts from runs on the software device at the sizes of SmolLM2 and of a
/// model 4096 wide.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay gpu report                           the program's own kernels (ASSAY_HIP_OBJECTS=DIR for others)
  assay gpu report --kernel rms_norm         those whose names contain rms_norm
  assay gpu report their.hsaco               what an object says about its kernels; nothing is run
  assay gpu report --baseline kernels/hip/quality.toml   exit code 1 if a figure is worse than there
  assay gpu report --save kernels/hip/quality.toml       puts these figures on record")]
pub struct Report {
    /// A file with code objects, instead of the program's own kernels.
    #[arg(value_name = "FILE")]
    object: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
    /// Only kernels whose names contain this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    kernel: String,
    /// Writes the figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Compares with the figures of this file.
    #[arg(long, value_name = "FILE", conflicts_with = "object")]
    baseline: Option<PathBuf>,
    /// Writes the figures to this file, for --baseline.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["object", "kernel"])]
    save: Option<PathBuf>,
}

impl Report {
    pub fn run(self) -> Result<End, Trouble> {
        let on_record = self.baseline.as_deref().map(baseline).transpose()?;
        let found = match &self.object {
            Some(path) => of_object(path, &self.target.target, &self.kernel)?,
            None => of_program(&self.kernel)?,
        };
        if found.kernels.is_empty() {
            return Err(Trouble::Input(format!("no kernel's name contains '{}'", self.kernel)));
        }
        print(&kernels(&found.kernels));
        if !found.measured.is_empty() {
            print(&format!("\n{}", ops(&found.measured)));
        }
        if let Some(path) = &self.json {
            let all = json!({
                "device": "softhip gfx942 (checked emulation)",
                "kernels": found.kernels,
                "ops": found.measured,
            });
            write(path, &format!("{all:#}\n"))?;
        }
        let now = Baseline::of(&found);
        if let Some(path) = &self.save {
            write(path, &now.text())?;
        }
        let mut worse = on_record.map(|was| was.worse(&now)).unwrap_or_default();
        if !self.kernel.is_empty() {
            worse.retain(|worse| !matches!(worse, Worse::Gone(_)));
        }
        for worse in &worse {
            say(&format!("worse: {worse}"));
        }
        Ok(if worse.is_empty() { End::Well } else { End::DoesNotConform })
    }
}

fn of_object(path: &Path, target: &TargetId, name: &str) -> Result<Quality, Trouble> {
    let objects = file::load(path, target)?;
    let kernels = objects.iter().flat_map(|loaded| loaded.object.kernels());
    let kernels = kernels.filter(|kernel| kernel.name.contains(name));
    Ok(Quality { kernels: kernels.map(Resources::of).collect(), measured: Vec::new() })
}

fn of_program(name: &str) -> Result<Quality, Trouble> {
    let mut progress = None;
    let options = Settings::from_env().hip()?;
    let found = quality::survey(options, name, |_, all| {
        progress.get_or_insert_with(|| Progress::new("ops on the software device", all)).step();
    });
    if let Some(progress) = progress {
        progress.finish();
    }
    found.map_err(Trouble::input)
}

fn baseline(path: &Path) -> Result<Baseline, Trouble> {
    let text = String::from_utf8_lossy(&file::read(path)?).into_owned();
    Baseline::read(&text).map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))
}

fn write(path: &Path, text: &str) -> Result<(), Trouble> {
    output_file::write(path, text.as_bytes())
        .map_err(|error| Trouble::Input(format!("{}: {error}", path.display())))
}

/// The widest of `texts`, or of `head`.
fn width<'t>(head: &str, texts: impl Iterator<Item = &'t str>) -> usize {
    texts.map(str::len).max().unwrap_or(0).max(head.len())
}

fn kernels(all: &[Resources]) -> String {
    let wide = width("kernel", all.iter().map(|k| k.kernel.as_str()));
    let mut text = format!(
        "{:<wide$} {:>6} {:>6} {:>6} {:>7} {:>8} {:>6} {:>11}\n",
        "kernel", "VGPRs", "SGPRs", "AGPRs", "LDS", "scratch", "block", "waves/SIMD"
    );
    for k in all {
        let _ = writeln!(
            text,
            "{:<wide$} {:>6} {:>6} {:>6} {:>7} {:>8} {:>6} {:>11}",
            k.kernel, k.vgprs, k.sgprs, k.agprs, k.lds, k.scratch, k.block, k.waves
        );
    }
    text
}

fn ops(all: &[Measured]) -> String {
    let kernels: Vec<String> = all.iter().map(|op| op.kernels.join(" + ")).collect();
    let wide = width("kernels", kernels.iter().map(String::as_str));
    let case = width("size", all.iter().map(|op| op.case.as_str()));
    let mut text = format!(
        "{:<wide$} {:<case$} {:>11} {:>10} {:>10} {:>6} {:>13} {:>10}\n",
        "kernels", "size", "waves/SIMD", "bytes", "fewest", "ratio", "lines/access", "conflicts"
    );
    for (op, kernels) in all.iter().zip(kernels) {
        let _ = writeln!(
            text,
            "{kernels:<wide$} {:<case$} {:>11} {:>10} {:>10} {:>6.3} {:>13.2} {:>10}",
            op.case,
            op.waves,
            op.bytes,
            op.least,
            op.ratio(),
            op.lines_per_access(),
            op.conflicts
        );
    }
    text += "counted on the software HIP device (checked emulation): what the code touches, not how long it takes\n";
    text
}
