//! `assay audit d2h`: the matrix of runs, and the verdict on them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use assay_cli::locked::{self, Locked};
use assay_cli::report::{Provenance, audit as report};
use forensics::audit::iteration::Iteration;
use forensics::audit::state::State;
use forensics::audit::summary::{Summary, Verdict};
use forensics::audit::variant::Mode;
use serde_json::{Map, Value, json};

use super::engine::Engine;
use super::program::Program;
use crate::commands::model::{MODEL_FLAGS, ModelArgs, OptionalModelArgs};
use crate::commands::progress::Progress;
use crate::commands::{End, Trouble, make_folder, print, remove, say};

/// Looks for wrong copies to the host: many runs without the log of copies, with it, and under stress (other sizes, offsets, streams,
/// allocations and schedules of the software device).
///
/// Each run's copies are counted by an observer that knows nothing of the log, compared with the log, and what they bring with a run in which
/// every op is waited for. Of a program, what it prints takes that place, and every finding of 'assay sanitize' is an error. Writes
/// summary.json, report.html and iterations.jsonl to a folder.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay audit d2h -m model.gguf -p Hi --backend soft
  assay audit d2h --stress 1000 -- ./engine --model m.gguf
  assay audit d2h --resume -- ./engine --model m.gguf      goes on after a kill

Exit code: 0 for NOT_REPRODUCED, 1 for REPRODUCED, 2 for INCONCLUSIVE: a part whose copies were never seen is no pass.")]
pub struct D2h {
    #[command(flatten)]
    model: OptionalModelArgs,
    /// The text to continue.
    #[arg(short, long, value_name = "TEXT", default_value = "Hi", requires = "model")]
    prompt: String,
    /// Tokens to generate.
    #[arg(short, default_value_t = 4, value_name = "N", requires = "model", value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Runs without the log.
    #[arg(long, default_value_t = Mode::Baseline.iterations(), value_name = "N")]
    baseline: usize,
    /// Runs with it.
    #[arg(long, default_value_t = Mode::Audit.iterations(), value_name = "N")]
    audit: usize,
    /// Runs with it under stress.
    #[arg(long, default_value_t = Mode::Stress.iterations(), value_name = "N")]
    stress: usize,
    /// The folder for what is written.
    #[arg(long, default_value = "assay-audit", value_name = "FOLDER")]
    out: PathBuf,
    /// Goes on with the runs in the folder that were not done.
    #[arg(long)]
    resume: bool,
    /// Control: leaves the log off in every part. The verdict must be INCONCLUSIVE.
    #[arg(long)]
    no_probe: bool,
    /// Seconds that a run of a program may take.
    #[arg(long, default_value_t = 600, value_name = "SECONDS", conflicts_with = "model", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Locks the device, sets HIP's debug environment, and records what could make this run differ from another.
    #[arg(long)]
    locked: bool,
    /// This is the process that runs iterations of a mode.
    #[arg(long, hide = true)]
    inside: Option<Mode>,
    /// The first of them.
    #[arg(long, hide = true, default_value_t = 0)]
    from: usize,
    /// A program and its arguments, instead of a model.
    #[arg(last = true, value_name = "PROGRAM", conflicts_with_all = MODEL_FLAGS, conflicts_with_all = ["prompt", "n"])]
    program: Vec<OsString>,
}

/// Whose copies are looked at.
enum Subject<'a> {
    Engine(Box<Engine<'a>>),
    Program(Program<'a>),
}

impl D2h {
    pub fn run(self) -> Result<End, Trouble> {
        let wanted =
            [(Mode::Baseline, self.baseline), (Mode::Audit, self.audit), (Mode::Stress, self.stress)];
        let model = self.model.given();
        if let (Some(mode), Some(model)) = (self.inside, &model) {
            let engine = self.engine(model)?;
            let last = wanted.iter().find(|(known, _)| *known == mode).map_or(0, |(_, n)| *n);
            return engine.inside(mode, self.from..last);
        }
        if wanted.iter().all(|(_, n)| *n == 0) {
            return Err(Trouble::Input("no run at all was asked for".into()));
        }
        let locked = if self.locked {
            Some(Locked::take().map_err(|e| Trouble::Device(e.to_string()))?)
        } else {
            None
        };
        let mut subject = self.subject(model.as_ref())?;
        let environment = match &subject {
            Subject::Engine(engine) => engine.environment()?,
            Subject::Program(program) => program.environment()?,
        };
        make_folder(&self.out)?;
        let path = self.out.join("iterations.jsonl");
        let matrix = json!({
            "audit": self.name(), "environment": environment, "prompt": self.prompt, "n": self.n,
            "kv": self.model.kv.to_string(), "chunk": self.model.chunk, "sync_per_op": self.model.sync_per_op,
            "wanted": wanted.map(|(_, n)| n), "probe": !self.no_probe, "locked": self.locked,
        });
        let mut state = State::open(&path, &matrix, self.resume).map_err(Trouble::input)?;
        // What an earlier audit left must not pass as this one's.
        remove(&self.out, &[PAGE, SUMMARY])?;
        if !state.done.is_empty() {
            say(&format!("{}: {} runs are done already", path.display(), state.done.len()));
        }
        let begun = Instant::now();
        let all = wanted.iter().map(|(_, n)| n).sum();
        let mut progress = Progress::new("audit", all).after(state.done.len() as u64);
        for (mode, count) in wanted {
            let open: Vec<usize> = (0..count).filter(|number| !state.has(mode, *number)).collect();
            let mut take = |iteration: Iteration| {
                progress.step();
                state.add(iteration).map_err(Trouble::input)
            };
            match &mut subject {
                Subject::Engine(engine) => engine.go(mode, count, &open, &mut take)?,
                Subject::Program(program) => program.go(mode, &open, &mut take)?,
            }
        }
        progress.finish();
        self.report(&state.done, wanted, &environment, locked.as_ref(), begun.elapsed().as_secs_f64())
    }

    fn subject<'a>(&'a self, model: Option<&'a ModelArgs>) -> Result<Subject<'a>, Trouble> {
        if !self.program.is_empty() {
            let logs = !self.no_probe;
            return Ok(Subject::Program(Program::new(&self.program, logs, self.locked, self.timeout)?));
        }
        let none = || Trouble::Input("there is no model (-m), and no program (-- PROGRAM)".into());
        self.engine(model.ok_or_else(none)?).map(|engine| Subject::Engine(Box::new(engine)))
    }

    fn engine<'a>(&'a self, model: &'a ModelArgs) -> Result<Engine<'a>, Trouble> {
        Engine::new(model, &self.prompt, self.n as usize, !self.no_probe, self.locked)
    }

    /// What is audited, in words.
    fn name(&self) -> String {
        match self.model.given() {
            Some(model) => format!("{} on {}", model.file.model.display(), model.backend()),
            None => self.program.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "),
        }
    }

    fn report(
        &self,
        done: &[Iteration],
        wanted: [(Mode, usize); 3],
        environment: &Value,
        locked: Option<&Locked>,
        seconds: f64,
    ) -> Result<End, Trouble> {
        let summary = Summary::of(done, wanted);
        let mut more = Map::new();
        more.insert("subject".into(), self.name().into());
        more.insert("surroundings".into(), locked::surroundings());
        more.insert("locked".into(), locked.map_or(Value::Null, Locked::json));
        let file = summary.json(&Provenance::here().date, environment, more);
        let write = |name: &str, text: String| {
            let path = self.out.join(name);
            output_file::write(&path, text.as_bytes()).map_err(|e| trouble(&path, &e))
        };
        write(SUMMARY, format!("{file:#}\n"))?;
        write(PAGE, report::page(&self.name(), &summary, environment, seconds))?;
        print(&report::text(&self.name(), &summary));
        let place = |name| self.out.join(name).display().to_string();
        print(&format!("summary: {}\nreport: {}\n", place(SUMMARY), place(PAGE)));
        Ok(match summary.verdict() {
            Verdict::NotReproduced { .. } => End::Well,
            Verdict::Reproduced => End::DoesNotConform,
            Verdict::ProbeNotReached(_) | Verdict::Incomplete => End::Code(2),
        })
    }
}

/// Files that are written to the folder.
const SUMMARY: &str = "summary.json";
const PAGE: &str = "report.html";

fn trouble(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::Input(format!("{}: {error}", path.display()))
}
