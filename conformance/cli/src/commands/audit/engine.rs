//! Iterations of the engine: in a process that may die, which the audit starts again behind the iteration that it died in.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use assay_cli::backends::{Settings, on_backend};
use assay_cli::locked::Locked;
use conformance::registry::Job;
use d2h_audit::{AuditOptions, lint};
use forensics::audit::engine::{Given, Watching};
use forensics::audit::iteration::{CopyMade, Iteration, compare};
use forensics::audit::sizes;
use forensics::audit::variant::{Mode, Schedule, Variant};
use forensics::provenance;
use kernels::{Backend, Identity};
use serde_json::{Value, json};
use softhip::sched::Policy;

use crate::commands::model::{ModelArgs, ModelFile, probe_reached};
use crate::commands::{End, Trouble};

/// Tokens of a prompt that run together unless --chunk says otherwise.
const CHUNK: usize = 512;

/// A model on a backend.
pub struct Engine<'a> {
    model: &'a ModelArgs,
    file: ModelFile,
    text: &'a str,
    prompt: Vec<u32>,
    tokens: usize,
    /// Whether copies are logged where they should be.
    logs: bool,
    locked: bool,
}

impl<'a> Engine<'a> {
    pub fn new(
        model: &'a ModelArgs,
        text: &'a str,
        tokens: usize,
        logs: bool,
        locked: bool,
    ) -> Result<Self, Trouble> {
        let file = model.file.open()?;
        let prompt = file.prompt(text)?;
        if prompt.is_empty() {
            return Err(Trouble::Input("the prompt has no tokens".into()));
        }
        Ok(Engine { model, file, text, prompt, tokens, logs, locked })
    }

    /// What the runs depend on.
    pub fn environment(&self) -> Result<Value, Trouble> {
        let identity = on_backend(self.model.backend(), &self.model.settings(), Who)?;
        Ok(json!({
            "device": identity.device,
            "runtime": format!("backend {}", identity.name),
            "build": provenance::build(),
            "model_sha256": self.model.id()?.sha256,
        }))
    }

    /// Runs the open iterations of a mode, of which there are `count`.
    pub fn go(
        &self,
        mode: Mode,
        count: usize,
        open: &[usize],
        take: &mut dyn FnMut(Iteration) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut open = open.iter().copied().peekable();
        while let Some(&from) = open.peek() {
            let mut child = self.child(mode, from, count)?;
            let missing = || Trouble::Device("a process without pipes".into());
            let output = child.stdout.take().ok_or_else(missing)?;
            let mut errors = child.stderr.take().ok_or_else(missing)?;
            let words = std::thread::spawn(move || {
                let mut words = Vec::new();
                let _ = errors.read_to_end(&mut words);
                String::from_utf8_lossy(&words).trim().to_owned()
            });
            for line in BufReader::new(output).lines() {
                // Half a line is what a process leaves that dies while it writes.
                let Ok(iteration) = serde_json::from_str::<Iteration>(&line.map_err(Trouble::input)?) else {
                    continue;
                };
                if open.next_if_eq(&iteration.number).is_some() {
                    take(iteration)?;
                }
            }
            let status = child.wait().map_err(Trouble::input)?;
            let words = words.join().unwrap_or_default();
            if status.code() == Some(2) {
                return Err(Trouble::Input(words.trim_start_matches("error: ").to_owned()));
            }
            // Whichever iteration it was in has failed.
            if let Some(number) = open.peek().copied().filter(|_| !status.success()) {
                let what = format!("the process died: {status}; its last words: {words}");
                let schedule = self.variant(mode, number).schedule;
                take(Iteration {
                    mode,
                    number,
                    schedule,
                    errors: vec![what],
                    logged: 0,
                    expected: 0,
                    seconds: 0.0,
                })?;
                open.next();
            } else if open.peek() == Some(&from) {
                return Err(Trouble::Device(format!("the process inside did no iteration: {words}")));
            }
        }
        Ok(())
    }

    fn child(&self, mode: Mode, from: usize, count: usize) -> Result<std::process::Child, Trouble> {
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let mut command = Command::new(program);
        command.args(["audit", "d2h"]).arg(format!("--prompt={}", self.text));
        command.arg("-n").arg(self.tokens.to_string());
        command.args(["--inside", mode.name()]).arg("--from").arg(from.to_string());
        command.arg(format!("--{mode}")).arg(count.to_string());
        self.model.pass_on(&mut command);
        if !self.logs {
            command.arg("--no-probe");
        }
        if self.locked {
            Locked::prepare(&mut command);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|e| Trouble::Device(format!("the process inside: {e}")))
    }

    fn variant(&self, mode: Mode, number: usize) -> Variant {
        Variant::of(mode, number, self.prompt.len(), self.tokens, self.model.chunk_or(CHUNK))
    }

    /// Runs iterations and tells of each, a line of JSON each.
    pub fn inside(&self, mode: Mode, numbers: Range<usize>) -> Result<End, Trouble> {
        let mut right = HashMap::new();
        let log = std::env::temp_dir().join(format!("assay-audit-{}.log", std::process::id()));
        for number in numbers {
            let iteration = self.iteration(mode, number, &log, &mut right)?;
            let mut line = serde_json::to_vec(&iteration).map_err(Trouble::input)?;
            line.push(b'\n');
            let mut out = std::io::stdout().lock();
            // A parent that has gone away needs no more.
            if out.write_all(&line).and_then(|()| out.flush()).is_err() {
                break;
            }
        }
        let _ = std::fs::remove_file(&log);
        Ok(End::Well)
    }

    fn iteration(
        &self,
        mode: Mode,
        number: usize,
        log: &Path,
        right: &mut HashMap<Variant, Given>,
    ) -> Result<Iteration, Trouble> {
        let begun = Instant::now();
        let variant = self.variant(mode, number);
        if !right.contains_key(&variant) {
            // Every op is waited for, and nothing is logged.
            let serial = Settings { sync_per_op: true, audit: AuditOptions::default(), ..self.settings() };
            match self.run(&variant, &serial)? {
                Ok(given) => drop(right.insert(variant.clone(), given)),
                Err(error) => {
                    return Ok(self.failed(mode, number, format!("waiting for every op: {error}"), begun));
                }
            }
        }
        let serial = &right[&variant];
        let logs = mode.logs() && self.logs;
        let audit = AuditOptions { audit: logs, log: Some(log.to_owned()), ..AuditOptions::default() };
        let _ = std::fs::remove_file(log);
        let policy = match variant.schedule {
            Schedule::Own => None,
            Schedule::Deferred => Some(Policy::Deferred),
            Schedule::Random(seed) => Some(Policy::Random(seed)),
        };
        let given = match self.run(&variant, &Settings { audit, policy, ..self.settings() })? {
            Ok(given) => given,
            Err(error) => return Ok(self.failed(mode, number, error, begun)),
        };
        let mut errors = given.wrong.clone();
        for ((name, bytes), (other, wanted)) in given.brought.iter().zip(&serial.brought) {
            if name != other || bytes != wanted {
                errors.push(format!("{name}: other bytes than in a run that waits for every op"));
            }
        }
        if given.brought.len() != serial.brought.len() || given.copies != serial.copies {
            errors.push(format!(
                "{} copies, {} in a run that waits for every op",
                given.copies.len(),
                serial.copies.len()
            ));
        }
        if let Err(why) = must(&given.copies, variant.tokens, self.file.config.vocab_size) {
            errors.push(why);
        }
        let text =
            std::fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        super::written_to_its_end(log)?;
        let linted = lint(&text, Some(&|copy| sizes::fault(&self.file.config, copy)));
        // A log that was never begun is a probe that was not reached, not a wrong copy.
        if linted.lines > 0 {
            errors.extend(compare(&linted, &given.copies));
        }
        Ok(Iteration {
            mode,
            number,
            schedule: variant.schedule,
            errors,
            logged: linted.started.len(),
            expected: given.copies.len(),
            seconds: begun.elapsed().as_secs_f64(),
        })
    }

    fn settings(&self) -> Settings {
        self.model.settings()
    }

    /// The error of the device, in words, where it fails.
    fn run(&self, variant: &Variant, settings: &Settings) -> Result<Result<Given, String>, Trouble> {
        let ModelFile { gguf, config, .. } = &self.file;
        let watching = Watching { gguf, config, prompt: &self.prompt, kv: self.model.kv, variant };
        let answer = on_backend(self.model.backend(), settings, watching)?.map_err(|error| error.to_string());
        if answer.is_ok() {
            probe_reached(&[self.model.backend()], settings)?;
        }
        Ok(answer)
    }

    fn failed(&self, mode: Mode, number: usize, error: String, begun: Instant) -> Iteration {
        let schedule = self.variant(mode, number).schedule;
        let seconds = begun.elapsed().as_secs_f64();
        Iteration { mode, number, schedule, errors: vec![error], logged: 0, expected: 0, seconds }
    }
}

/// Each generated token needs one copy of a row of logits.
fn must(copies: &[CopyMade], tokens: usize, vocab: usize) -> Result<(), String> {
    let logits =
        copies.iter().filter(|copy| copy.tensor == "logits" && copy.bytes == 4 * vocab as u64).count();
    if logits == tokens {
        Ok(())
    } else {
        Err(format!("{logits} copies of a row of logits for {tokens} tokens"))
    }
}

/// What the backend is.
struct Who;

impl Job for Who {
    type Answer = Identity;

    fn run<B: Backend + 'static>(self, backend: B) -> Identity {
        backend.identity()
    }
}
