//! Iterations of a HIP program on the software device, each a process.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use d2h_audit::lint;
use forensics::audit::iteration::Iteration;
use forensics::audit::variant::{Mode, Schedule, schedule};
use forensics::provenance;
use serde_json::{Value, json};

use crate::commands::Trouble;
use crate::commands::sanitize::checked::{Checked, How, run};

/// A program and its arguments.
pub struct Program<'a> {
    words: &'a [OsString],
    logs: bool,
    locked: bool,
    limit: Duration,
    /// What the program does when its work runs at once.
    right: Right,
}

/// What a program does when its work runs at once.
struct Right {
    code: u8,
    /// What it prints; `None` where that differs from run to run and proves nothing.
    output: Option<Vec<u8>>,
}

impl<'a> Program<'a> {
    /// Runs the program twice, to know what it prints.
    pub fn new(words: &'a [OsString], logs: bool, locked: bool, timeout: u64) -> Result<Self, Trouble> {
        let limit = Duration::from_secs(timeout);
        let how = How { locked, limit, ..How::default() };
        let (first, second) = (run(words, &how)?, run(words, &How { seed: 1, ..how })?);
        let output = (first.output == second.output).then_some(first.output);
        let right = Right { code: first.code, output };
        Ok(Program { words, logs, locked, limit, right })
    }

    /// What the runs depend on.
    pub fn environment(&self) -> Result<Value, Trouble> {
        let hash = |path: &Path| {
            provenance::sha256(path).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
        };
        let program = which(&self.words[0]);
        let model =
            self.words[1..].iter().map(Path::new).find(|p| p.extension().is_some_and(|e| e == "gguf"));
        Ok(json!({
            "device": "softhip gfx942 (software device: checked emulation, not a run on silicon)",
            "runtime": "libamdhip64 on the software device",
            "build": format!("{}, sha256 {}", self.words[0].to_string_lossy(), program.map_or(Ok("unknown".into()), |p| hash(&p))?),
            "model_sha256": model.map_or(Ok(Value::Null), |p| hash(p).map(Value::from))?,
        }))
    }

    /// Runs the open iterations of a mode.
    pub fn go(
        &self,
        mode: Mode,
        open: &[usize],
        take: &mut dyn FnMut(Iteration) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let log = std::env::temp_dir().join(format!("assay-audit-{}.log", std::process::id()));
        for &number in open {
            take(self.iteration(mode, number, &log)?)?;
        }
        let _ = std::fs::remove_file(&log);
        Ok(())
    }

    fn iteration(&self, mode: Mode, number: usize, log: &Path) -> Result<Iteration, Trouble> {
        let begun = Instant::now();
        let schedule = if mode == Mode::Stress { schedule(number) } else { Schedule::Own };
        let (policy, seed) = match schedule {
            Schedule::Own => (sanitize_protocol::Schedule::Eager, number as u64),
            Schedule::Deferred => (sanitize_protocol::Schedule::Deferred, number as u64),
            Schedule::Random(seed) => (sanitize_protocol::Schedule::Random, seed),
        };
        let _ = std::fs::remove_file(log);
        let logs = mode.logs() && self.logs;
        let log = logs.then(|| log.to_owned());
        let how =
            How { schedule: policy, seed, log, locked: self.locked, limit: self.limit, ..How::default() };
        let Checked { code, run, output, .. } = run(self.words, &how)?;
        let text = how.log.as_ref().and_then(|log| std::fs::read(log).ok()).unwrap_or_default();
        how.log.as_deref().map_or(Ok(()), super::written_to_its_end)?;
        let linted = lint(&String::from_utf8_lossy(&text), None);
        let expected = usize::try_from(run.copies_to_host).unwrap_or(usize::MAX);
        let mut errors: Vec<String> = run.findings.iter().map(|finding| finding.text.clone()).collect();
        if code != self.right.code {
            errors.push(format!("exit code {code}, {} where its work runs at once", self.right.code));
        }
        if self.right.output.as_ref().is_some_and(|right| *right != output) {
            errors.push("it prints something else than where its work runs at once".into());
        }
        if linted.lines > 0 {
            errors.extend(linted.findings.iter().map(|finding| format!("log: {finding}")));
            if run.ended_in_order() && linted.started.len() != expected {
                errors.push(format!("log: {} copies, {expected} were counted", linted.started.len()));
            }
        }
        let logged = linted.started.len();
        Ok(Iteration {
            mode,
            number,
            schedule,
            errors,
            logged,
            expected,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }
}

/// The file that a word starts.
fn which(word: &OsString) -> Option<std::path::PathBuf> {
    let path = Path::new(word);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(path))
        .find(|path| path.is_file())
}
