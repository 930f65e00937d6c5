//! `assay triage`: which of the usual suspects is it?

mod capsule;
mod confirm;
mod engine;
mod program;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use assay_cli::locked::{self, Locked};
use assay_cli::report::triage as report;
use forensics::triage::hypothesis::Triage;
use serde_json::{Value, json};

use super::model::{MODEL_FLAGS, OptionalModelArgs};
use super::{End, Trouble, make_folder, print};

/// Decides the usual hypotheses about a failure, each by an experiment that can confirm it and can refute it: H0 provenance, H-async wrong
/// culprit, H1 use after free, H2 offset, size or dtype, H3 race, H4 alignment, H5 staging reuse, H6 overlapping copies, H7 failed allocation.
///
/// A model runs as it is, op by op and under other schedules; a program runs on the software device under all checks; a capsule runs alone.
/// Nothing is called a root cause before 'assay triage confirm' has seen it fail, pass with the fix, and fail without it again.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  assay triage -- ./engine --model m.gguf
  assay triage --objects build/ -- ./engine kernels.hsaco     is that file the one that the sources make?
  assay triage -m model.gguf -p Hi --backend soft
  assay triage fault.capsule
  assay triage confirm --fix 'git apply fix.patch && make' --revert 'git apply -R fix.patch && make' -- ./check

Exit code: 0 where nothing is wrong, 1 where something is, 2 for bad input."
)]
pub struct TriageCommand {
    #[command(subcommand)]
    confirm: Option<Command>,
    #[command(flatten)]
    model: OptionalModelArgs,
    /// A capsule: one op of a model, or one launch of a program.
    #[arg(value_name = "FILE.capsule", conflicts_with_all = MODEL_FLAGS, conflicts_with_all = ["prompt", "n", "program"])]
    capsule: Option<PathBuf>,
    /// The text to continue.
    #[arg(short, long, value_name = "TEXT", default_value = "Hi", requires = "model")]
    prompt: String,
    /// Tokens to generate.
    #[arg(short, default_value_t = 3, value_name = "N", requires = "model", value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// A folder with the files that were meant: a file that the program is given is compared with the one of the same name here, and the program
    /// runs with that one, too.
    #[arg(long, value_name = "FOLDER", requires = "program", conflicts_with_all = ["model", "capsule"])]
    objects: Option<PathBuf>,
    /// Runs at random moments, beside the one at once and the one deferred.
    #[arg(long, default_value_t = 2, value_name = "N", requires = "program", conflicts_with_all = ["model", "capsule"], value_parser = clap::value_parser!(u64).range(1..))]
    random: u64,
    /// Seconds that a run of the program may take.
    #[arg(long, default_value_t = 600, value_name = "SECONDS", requires = "program", conflicts_with_all = ["model", "capsule"], value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// The folder for evidence.
    #[arg(long, default_value = "assay-triage", value_name = "FOLDER")]
    out: PathBuf,
    /// Writes the decisions as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a page to open in a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Locks the device, sets HIP's debug environment, and records what could make this run differ from another.
    #[arg(long)]
    locked: bool,
    /// This is the process of one run of the model.
    #[arg(long, hide = true, value_enum)]
    inside: Option<engine::How>,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM", conflicts_with_all = MODEL_FLAGS, conflicts_with_all = ["prompt", "n"])]
    program: Vec<OsString>,
}

#[derive(clap::Subcommand)]
enum Command {
    Confirm(confirm::Confirm),
}

impl TriageCommand {
    pub fn run(self) -> Result<End, Trouble> {
        if let Some(Command::Confirm(confirm)) = self.confirm {
            return confirm.run();
        }
        let model = self.model.given();
        if let (Some(how), Some(model)) = (self.inside, &model) {
            return engine::inside(model, &self.prompt, self.n, how);
        }
        let locked = if self.locked {
            Some(Locked::take().map_err(|e| Trouble::Device(e.to_string()))?)
        } else {
            None
        };
        if model.is_none() && self.capsule.is_none() && self.program.is_empty() {
            return Err(Trouble::Input(
                "there is no model (-m), no program (-- PROGRAM) and no capsule".into(),
            ));
        }
        make_folder(&self.out)?;
        let (triage, fails) = match (&model, &self.capsule, &self.program[..]) {
            (Some(model), ..) => engine::triage(&self, model)?,
            (None, Some(path), _) => capsule::triage(path)?,
            (None, None, program) => program::triage(&self, program)?,
        };
        print(&report::text(&triage));
        if let Some(path) = &self.json {
            let mut all = serde_json::to_value(&triage).map_err(Trouble::input)?;
            all["confirmed"] = json!(triage.confirmed());
            all["surroundings"] = locked::surroundings();
            all["locked"] = locked.as_ref().map_or(Value::Null, Locked::json);
            write(path, &format!("{all:#}\n"))?;
        }
        if let Some(path) = &self.html {
            write(path, &report::page(&triage))?;
            print(&format!("report: {}\n", path.display()));
        }
        Ok(if fails { End::DoesNotConform } else { End::Well })
    }
}

/// What to do after a triage.
fn next(triage: &[forensics::triage::hypothesis::Hypothesis], fails: bool, otherwise: &str) -> String {
    match triage {
        [] if !fails => format!("nothing is wrong here; {otherwise}"),
        [] => otherwise.to_owned(),
        _ => "mend it, then: assay triage confirm --fix CMD --revert CMD -- CHECK".into(),
    }
}

/// A triage of these decisions.
fn whole(
    subject: String,
    symptom: String,
    decisions: Vec<forensics::triage::hypothesis::Decision>,
    fails: bool,
    otherwise: &str,
) -> Triage {
    let mut triage = Triage { subject, symptom, decisions, next: String::new() };
    triage.next = next(&triage.confirmed(), fails, otherwise);
    triage
}

fn write(path: &Path, text: &str) -> Result<(), Trouble> {
    output_file::write(path, text.as_bytes()).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
}
