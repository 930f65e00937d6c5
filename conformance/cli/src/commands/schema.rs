//! `assay schema`: what a report in JSON holds.

use super::{End, Trouble, print};

/// The JSON schema of the report that `assay check --json` writes.
pub const CHECK_REPORT: &str = include_str!("../../schema/check-report.schema.json");

/// Prints the JSON schema of the report that `check --json` writes.
#[derive(clap::Args)]
#[command(after_help = "Example: assay schema > check-report.schema.json")]
pub struct Schema {}

impl Schema {
    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "the signature of every command")]
    pub fn run(self) -> Result<End, Trouble> {
        print(CHECK_REPORT);
        Ok(End::Well)
    }
}
