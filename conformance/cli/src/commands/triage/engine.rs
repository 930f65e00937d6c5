//! Triage of a model's run: processes of this program, each in another way.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assay_cli::backends::{Settings, checks_itself, device_code, on_backend_with_device};
use assay_cli::locked::Locked;
use engine::generate::GenerateError;
use forensics::audit::engine::{Given, Watching};
use forensics::audit::variant::{Schedule, Variant};
use forensics::diff::Diff;
use forensics::locate::{Culprit, Located};
use forensics::provenance;
use forensics::triage::clue::is_ambiguous;
use forensics::triage::engine::{Ran, Runs};
use forensics::triage::hypothesis::Triage;
use kernels::{DeviceError, Stem};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use softhip::sched::Policy;

use super::TriageCommand;
use crate::commands::model::ModelArgs;
use crate::commands::{End, Trouble, print};

/// Tokens of a prompt that run together.
const CHUNK: usize = 512;

/// In which way a process runs the model.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum How {
    /// As it is.
    Plain,
    /// With a wait behind every op.
    Serial,
    /// Work runs only when a synchronisation demands it.
    Deferred,
    /// Work runs at moments drawn from a seed.
    Random,
    /// With the program's own objects.
    Own,
    /// Reads of what nothing has written are let pass, so that what comes after them is seen.
    Unwritten,
}

impl How {
    const fn name(self) -> &'static str {
        match self {
            How::Plain => "plain",
            How::Serial => "serial",
            How::Deferred => "deferred",
            How::Random => "random",
            How::Own => "own",
            How::Unwritten => "unwritten",
        }
    }
}

/// The process of one run: its answer is a line of JSON.
pub fn inside(model: &ModelArgs, prompt: &str, tokens: u32, how: How) -> Result<End, Trouble> {
    let file = model.file.open()?;
    let ids = file.prompt(prompt)?;
    let mut settings = model.settings();
    match how {
        How::Plain => {}
        How::Serial => settings.sync_per_op = true,
        How::Deferred => settings.policy = Some(Policy::Deferred),
        How::Random => settings.policy = Some(Policy::Random(1)),
        How::Own => settings.objects = None,
        How::Unwritten => settings.unwritten_may_be_read = true,
    }
    let variant = Variant {
        prompt: ids.len(),
        tokens: tokens as usize,
        chunk: model.chunk_or(CHUNK),
        taps: Vec::new(),
        schedule: Schedule::Own,
        churn: None,
    };
    let watching =
        Watching { gguf: &file.gguf, config: &file.config, prompt: &ids, kv: model.kv, variant: &variant };
    let (answer, device) = on_backend_with_device(model.backend(), &settings, watching)?;
    let reports = device.map(|device| device.reports()).unwrap_or_default();
    let ran = match answer {
        Ok(Given { brought, .. }) => {
            let mut hash = Sha256::new();
            brought.iter().for_each(|(_, bytes)| hash.update(bytes));
            let logits = provenance::hex(&hash.finalize());
            Ran { logits: Some(logits), reports, ..Ran::default() }
        }
        Err(error) => Ran {
            out_of_memory: is_out_of_memory(&error),
            error: Some(error.to_string()),
            reports,
            logits: None,
        },
    };
    print(&format!("{}\n", serde_json::to_string(&ran).map_err(Trouble::input)?));
    Ok(End::Well)
}

fn is_out_of_memory(error: &GenerateError) -> bool {
    let GenerateError::Model(error) = error else { return false };
    error.device().is_some_and(|error| matches!(error.cause(), DeviceError::OutOfMemory { .. }))
}

/// Runs the model in every way that decides something.
pub fn triage(command: &TriageCommand, model: &ModelArgs) -> Result<(Triage, bool), Trouble> {
    let triage = Engine { command, model };
    let mismatches = super::program::model_mismatches(&model.file.model).map_err(Trouble::Input)?;
    let subject = format!("{} on {}", model.file.model.display(), model.backend());
    if !mismatches.is_empty() {
        // What does not fit together is not run.
        let runs = Runs { mismatches, ..triage.nothing()? };
        let decisions = runs.decide();
        return Ok((super::whole(subject, "the file contradicts itself".into(), decisions, true, ""), true));
    }
    let runs = triage.runs()?;
    let (fails, symptom) = (runs.fail(), runs.symptom());
    let otherwise = "a longer run (-n 64), the prompt that failed, or values: assay diff";
    Ok((super::whole(subject, symptom, runs.decide(), fails, otherwise), fails))
}

struct Engine<'a> {
    command: &'a TriageCommand,
    model: &'a ModelArgs,
}

impl Engine<'_> {
    fn nothing(&self) -> Result<Runs, Trouble> {
        let located =
            Located { backend: self.model.backend().to_owned(), reported: None, fault: None, ops: 0 };
        Ok(Runs {
            plain: Ran::default(),
            serial: Ran::default(),
            others: Vec::new(),
            checked: checks_itself(self.model.backend()),
            located,
            stand_ins: Vec::new(),
            own: None,
            wrong: None,
            wrong_own: None,
            alone: None,
            mismatches: Vec::new(),
            identities: self.identities()?,
        })
    }

    fn runs(&self) -> Result<Runs, Trouble> {
        let stand_ins = self.stand_ins()?;
        let (plain, serial) = (self.run(How::Plain)?, self.run(How::Serial)?);
        let mut others = Vec::new();
        if checks_itself(self.model.backend()) {
            for how in [How::Deferred, How::Random] {
                others.push((format!("schedule {}", how.name()), self.run(how)?));
            }
        }
        if plain.reports.first().is_some_and(|first| is_ambiguous(&first.problem)) {
            others.push(("without initcheck".into(), self.run(How::Unwritten)?));
        }
        let located = self.located()?;
        let fault = located.fault.as_ref().filter(|fault| matches!(fault.culprit, Culprit::Kernel(_)));
        let capsule = fault.and_then(|fault| fault.capsule.clone());
        let wrong = if plain.error.is_none() { self.wrong(false)? } else { None };
        let (mut own, mut wrong_own) = (None, None);
        if !stand_ins.is_empty() {
            own = Some(self.run(How::Own)?);
            wrong_own = self.wrong(true)?;
        }
        let alone = capsule.map(|capsule| self.alone(&capsule)).transpose()?;
        Ok(Runs {
            plain,
            serial,
            others,
            located,
            stand_ins,
            own,
            wrong,
            wrong_own,
            alone,
            ..self.nothing()?
        })
    }

    /// This program, with a command.
    fn assay(&self, command: &str) -> Result<Command, Trouble> {
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let mut child = Command::new(program);
        child.arg(command);
        if self.command.locked {
            Locked::prepare(&mut child);
        }
        Ok(child)
    }

    fn text(&self, command: &mut Command) {
        command.arg(format!("--prompt={}", self.command.prompt)).arg("-n").arg(self.command.n.to_string());
    }

    fn run(&self, how: How) -> Result<Ran, Trouble> {
        let mut command = self.assay("triage")?;
        self.text(&mut command);
        self.model.pass_on(&mut command);
        let output = output(command.args(["--inside", how.name()]))?;
        let answer = output.stdout.split(|&b| b == b'\n').find_map(|line| serde_json::from_slice(line).ok());
        match answer {
            Some(ran) => Ok(ran),
            None if output.status.code() == Some(2) => Err(Trouble::Input(words(&output))),
            None => Ok(Ran {
                error: Some(format!("the process died: {}: {}", output.status, words(&output))),
                ..Ran::default()
            }),
        }
    }

    fn located(&self) -> Result<Located, Trouble> {
        let json = self.command.out.join("located.json");
        let mut command = self.assay("locate")?;
        self.text(&mut command);
        self.model.pass_on(&mut command);
        command.arg("--capsule").arg(self.command.out.join("fault.capsule")).arg("--json").arg(&json);
        Self::answer(&mut command, &json)
    }

    /// The first op that the oracle calls wrong.
    fn wrong(&self, own: bool) -> Result<Option<String>, Trouble> {
        let json = self.command.out.join("diff.json");
        let mut command = self.assay("diff")?;
        self.text(&mut command);
        command.arg("-m").arg(&self.model.file.model).arg("--right").arg(self.model.backend());
        command.arg("--kv").arg(self.model.kv.to_string()).arg("--json").arg(&json);
        command.arg("--chunk").arg(self.model.chunk_or(CHUNK).to_string());
        command.arg("--threads").arg(self.model.threads.to_string());
        if own {
            command.env_remove("ASSAY_HIP_OBJECTS");
        }
        let diff: Diff = Self::answer(&mut command, &json)?;
        let first = diff.first().map(|first| {
            let what = first.what.lines().next().unwrap_or_default();
            format!("{}, {}: {what}", first.op, first.site)
        });
        Ok(first)
    }

    /// Runs a command that writes its findings to a file.
    fn answer<T: DeserializeOwned>(command: &mut Command, json: &Path) -> Result<T, Trouble> {
        // What an earlier run left must not pass as this one's.
        let _ = std::fs::remove_file(json);
        let output = output(command)?;
        match output.status.code() {
            Some(0 | 1) => {
                let text = input_file::read_text(json, input_file::BINARY);
                let text = text.map_err(|e| Trouble::Input(format!("{}: {e}", json.display())))?;
                serde_json::from_str(&text).map_err(|e| Trouble::Input(format!("{}: {e}", json.display())))
            }
            Some(2) => Err(Trouble::Input(words(&output))),
            _ => Err(Trouble::Device(words(&output))),
        }
    }

    /// Whether an op fails by itself, too.
    fn alone(&self, capsule: &Path) -> Result<bool, Trouble> {
        let output = output(self.assay("replay")?.arg(capsule))?;
        match output.status.code() {
            Some(code @ (0 | 1)) => Ok(code == 1),
            _ => Err(Trouble::Input(words(&output))),
        }
    }

    /// Objects that stand in for the program's own.
    fn stand_ins(&self) -> Result<Vec<String>, Trouble> {
        let settings = self.model.settings();
        let own = Settings { objects: None, ..self.model.settings() };
        let mut all = Vec::new();
        for stem in Stem::ALL {
            let given = device_code(self.model.backend(), &settings, &[*stem])?;
            let meant = device_code(self.model.backend(), &own, &[*stem])?;
            let others = given.iter().filter(|p| !meant.iter().any(|own| own.sha256 == p.sha256));
            all.extend(others.map(|p| format!("{} from {} (sha256 {})", p.stem, p.origin, &p.sha256[..16])));
        }
        Ok(all)
    }

    fn identities(&self) -> Result<Vec<String>, Trouble> {
        let id = self.model.id()?;
        let objects = std::env::var_os("ASSAY_HIP_OBJECTS").map(PathBuf::from);
        let objects = objects
            .map_or("the program's own objects".into(), |folder| format!("objects of {}", folder.display()));
        Ok(vec![provenance::build().to_owned(), format!("{} sha256 {}", id.file, id.sha256), objects])
    }
}

fn output(command: &mut Command) -> Result<Output, Trouble> {
    command.stdin(std::process::Stdio::null());
    command.output().map_err(|e| Trouble::Device(format!("a process of this program: {e}")))
}

/// The last words of a process.
fn words(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    said.trim().trim_start_matches("error: ").to_owned()
}
