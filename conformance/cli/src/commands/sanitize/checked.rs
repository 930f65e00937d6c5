//! A program on the software device, run to its end without a word: what it printed, what was found.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use assay_cli::report::sanitize::Sanitized;
use sanitize_protocol::{Schedule, Settings, Tool};

use super::library::Folder;
use super::program::{self, Launch};
use crate::commands::Trouble;

/// How a program is run.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct How {
    /// When queued work runs.
    pub schedule: Schedule,
    /// Seed of addresses, and of the random schedule.
    pub seed: u64,
    /// Allocations that are refused are granted with fewer bytes.
    pub grants: bool,
    /// Reads of bytes that nothing has written are let pass, to see what comes after them.
    pub unwritten_may_be_read: bool,
    /// Where the log of copies goes; `None` leaves it off.
    pub log: Option<PathBuf>,
    /// Where the launches that failed go.
    pub capsules: bool,
    /// HIP's debug environment is set.
    pub locked: bool,
    /// How long it may take.
    pub limit: Duration,
}

impl Default for How {
    fn default() -> Self {
        How {
            schedule: Schedule::Eager,
            seed: 0,
            grants: false,
            unwritten_may_be_read: false,
            log: None,
            capsules: false,
            locked: false,
            limit: Duration::from_secs(600),
        }
    }
}

/// What came of a program.
#[derive(Debug)]
pub struct Checked {
    /// Its exit code, as a shell shows it.
    pub code: u8,
    /// What was found.
    pub run: Sanitized,
    /// What it printed.
    pub output: Vec<u8>,
    /// The folder that the capsules of launches that failed are in. It goes with this.
    _folder: Folder,
}

impl Checked {
    /// Keeps the capsules of launches that failed in a folder; without one they go with the run.
    pub fn kept(mut self, folder: Option<&Path>) -> Result<Self, Trouble> {
        for (number, finding) in (1..).zip(&mut self.run.findings) {
            let Some(recorded) = finding.capsule.take() else { continue };
            let Some(folder) = folder else { continue };
            let path = folder.join(format!("{number}.capsule"));
            input_file::read(&recorded, input_file::BINARY)
                .and_then(|capsule| output_file::write(&path, &capsule))
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
            finding.capsule = Some(path);
        }
        Ok(self)
    }
}

/// Runs a program under all checks.
pub fn run(words: &[OsString], how: &How) -> Result<Checked, Trouble> {
    let folder = Folder::new()?;
    let tools = Tool::ALL.into_iter().filter(|tool| !(how.unwritten_may_be_read && *tool == Tool::Initcheck));
    let settings = Settings {
        messages: folder.messages(),
        only_children_of: None,
        tools: tools.collect(),
        capsules: how.capsules.then(|| folder.path().to_owned()),
        sync_per_op: false,
        guard_zones: false,
        schedule: how.schedule,
        seed: how.seed,
        kernel: None,
        launches: None,
        faults_stick: true,
        progress_seconds: None,
        counts_copies: true,
        grants: how.grants,
    };
    let printed = folder.path().join("output");
    let file =
        |path: &PathBuf| File::create(path).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())));
    let (out, err) = (file(&printed)?, file(&folder.path().join("errors"))?);
    let mut streams = Some((out, err));
    let mut prepare = |command: &mut std::process::Command| {
        if let Some((out, err)) = streams.take() {
            command.stdin(Stdio::null()).stdout(out).stderr(err);
        }
        for variable in ["GRETA_D2H_DEBUG", "GRETA_TRACE_MEMCPY", "GCORE_D2H_AUDIT", "GCORE_D2H_AUDIT_LOG"] {
            command.env_remove(variable);
        }
        if let Some(log) = &how.log {
            command.env("GCORE_D2H_AUDIT", "1").env("GCORE_D2H_AUDIT_LOG", log);
        }
        if how.locked {
            assay_cli::locked::Locked::prepare(command);
        }
    };
    let mut run = Sanitized::default();
    let launch =
        Launch { words, folder: &folder, preloaded: None, settings: &settings, limit: Some(how.limit) };
    let code = program::run(&launch, &mut prepare, |message| run.add(message, |_| false))?;
    let output = input_file::read(&printed, input_file::TEXT).map_err(Trouble::input)?;
    if !run.has_begun() {
        let name: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        return Err(Trouble::Input(format!(
            "nothing was checked: {}: it made no HIP call through this library (exit code {code}); a program that is linked statically, or \
             with a DT_RPATH, does not look for it",
            name.join(" ")
        )));
    }
    Ok(Checked { code, run, output, _folder: folder })
}
