//! `assay merge`: one report from the parts of a sweep.

use std::path::PathBuf;

use assay_cli::report::merge::{Merged, merge};

use super::reports::Reports;
use super::{End, Trouble, github};

/// Joins the reports of the parts of a sweep into one.
///
/// Parts of different runs are refused: another program, filter, seed, list of cases or set of backends, another number of parts, a part
/// that is there twice. Where parts are missing the report is written and says so, and the exit code is 2.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay check --shard 1/2 --json 1.json      on one machine
  assay check --shard 2/2 --json 2.json      on another
  assay merge 1.json 2.json --junit all.xml  the exit code is that of the whole: 0 where all conforms, 1 where a kernel does not")]
pub struct Merge {
    /// What `assay check --shard I/N --json FILE` wrote, a file for each part.
    #[arg(required = true, value_name = "FILE")]
    parts: Vec<PathBuf>,
    #[command(flatten)]
    reports: Reports,
}

impl Merge {
    pub fn run(self) -> Result<End, Trouble> {
        self.reports.prepare()?;
        let Merged { sweep, missing } = merge(&self.parts).map_err(Trouble::input)?;
        self.reports.write(&sweep)?;
        if github::is_runner() {
            self.reports.tell(&github::annotations(&sweep));
        }
        if !missing.is_empty() {
            let names: Vec<_> = missing.iter().map(ToString::to_string).collect();
            let (noun, verb) = if names.len() == 1 { ("shard", "is") } else { ("shards", "are") };
            let what = format!("{noun} {} {verb} missing: the report is partial", names.join(", "));
            return Err(Trouble::Input(what));
        }
        Ok(if sweep.totals().conform() { End::Well } else { End::DoesNotConform })
    }
}
