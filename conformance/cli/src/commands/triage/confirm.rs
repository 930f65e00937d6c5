//! `assay triage confirm`: fail, fix, pass, revert, fail.

#![expect(clippy::doc_markdown, reason = "doc comments of arguments are the text of --help")]

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use forensics::triage::confirm::{Proof, STEPS, Step, judge};
use serde_json::json;

use crate::commands::{End, Trouble, print};

/// Proves a root cause: the check fails, passes after the fix, and fails again after the fix is reverted. Anything else leaves a candidate.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay triage confirm --fix 'git apply fix.patch && make' --revert 'git apply -R fix.patch && make' -- assay sanitize -- ./engine
  assay triage confirm --broken old-objects --fixed new-objects -- assay check rope --backend soft

Exit code: 0 for ROOT_CAUSE, 1 for CANDIDATE.")]
pub struct Confirm {
    /// The command of a shell that mends it.
    #[arg(long, value_name = "CMD", requires = "revert", conflicts_with_all = ["broken", "fixed"])]
    fix: Option<String>,
    /// The command of a shell that takes that back.
    #[arg(long, value_name = "CMD", requires = "fix")]
    revert: Option<String>,
    /// A folder of code objects with the fault; the check finds it in ASSAY_HIP_OBJECTS.
    #[arg(long, value_name = "FOLDER", requires = "fixed")]
    broken: Option<PathBuf>,
    /// A folder of code objects without it.
    #[arg(long, value_name = "FOLDER", requires = "broken")]
    fixed: Option<PathBuf>,
    /// Writes the steps as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The check: it ends with 0 where the fault is gone.
    #[arg(last = true, required = true, value_name = "CHECK")]
    check: Vec<OsString>,
}

impl Confirm {
    pub fn run(self) -> Result<End, Trouble> {
        if self.fix.is_none() && self.broken.is_none() {
            return Err(Trouble::Input("want --fix and --revert, or --broken and --fixed".into()));
        }
        if let (Some(broken), Some(fixed)) = (&self.broken, &self.fixed) {
            let real = |path: &PathBuf| {
                path.canonicalize().map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
            };
            if real(broken)? == real(fixed)? {
                return Err(Trouble::Input(format!(
                    "{}: --broken and --fixed are the same folder",
                    broken.display()
                )));
            }
        }
        let mut steps = Vec::new();
        for (number, (after, expect)) in STEPS.into_iter().enumerate() {
            let change = [None, self.fix.as_ref(), self.revert.as_ref()][number];
            if let Some(change) = change {
                let status = shell(change)?;
                if !status.success() {
                    return Err(Trouble::Input(format!("{after}: '{change}' ended with {status}")));
                }
            }
            let objects = if number == 1 { &self.fixed } else { &self.broken };
            let code = self.checked(objects.as_ref());
            if code.is_err() && number == 1 {
                // The sources are left as they were found.
                self.revert.as_deref().map(shell).transpose()?;
            }
            let code = code?;
            print(&format!("{after}: the check ends with {code}\n"));
            steps.push(Step { after, expect, code });
            // A check that does not fail as it is proves nothing, and the sources are left alone.
            if number == 0 && code == 0 {
                break;
            }
        }
        let proof = judge(&steps);
        if let Some(path) = &self.json {
            super::write(path, &format!("{:#}\n", json!({ "verdict": proof, "steps": steps })))?;
        }
        Ok(match proof {
            Proof::RootCause => {
                print("ROOT_CAUSE: it fails, passes with the fix, and fails without it again\n");
                End::Well
            }
            Proof::Candidate(why) => {
                print(&format!("CANDIDATE: {why}\n"));
                End::DoesNotConform
            }
        })
    }

    /// The exit code of the check. A check that cannot be started, or says that its input is bad, is no failure that a fix could mend.
    fn checked(&self, objects: Option<&PathBuf>) -> Result<i32, Trouble> {
        let [name, arguments @ ..] = &self.check[..] else { return Err(Trouble::Input("no check".into())) };
        let mut command = Command::new(name);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(objects) = objects {
            command.env("ASSAY_HIP_OBJECTS", objects);
        }
        let status =
            command.status().map_err(|e| Trouble::Input(format!("{}: {e}", name.to_string_lossy())))?;
        match status.code() {
            Some(code @ (126 | 127)) => Err(Trouble::Input(format!(
                "{}: exit code {code}: the check did not run",
                name.to_string_lossy()
            ))),
            Some(code) => Ok(code),
            None => Ok(128),
        }
    }
}

/// Runs a command of a shell.
fn shell(command: &str) -> Result<ExitStatus, Trouble> {
    let status = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).status();
    status.map_err(|e| Trouble::Input(format!("sh: {e}")))
}
