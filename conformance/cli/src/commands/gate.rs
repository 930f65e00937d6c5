//! `assay gate`: do runs that should say the same say the same?

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use assay_cli::backends::{mutated, on_backend};
use assay_cli::locked::{self, Locked};
use assay_cli::report::{Provenance, gate as report};
use forensics::gates::folder::{FILES, SUMMARY, Stored};
use forensics::gates::gate::{Gate, Overall, Thresholds, determinism, equivalence};
use forensics::gates::rows::{Rows, Way};
use forensics::provenance;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::model::{MODEL_FLAGS, ModelArgs, ModelFile, OptionalModelArgs, given_text};
use super::{End, Trouble, make_folder, print, remove};

/// Compares runs that should say the same: run against run, prefill against decode, whole against chunked, alone against in a batch, today
/// against a stored run.
///
/// Every run is a process of its own and leaves a folder of metadata.json, logits.jsonl.gz and summary.json. Each gate must first fail on a
/// perturbed control, and refuses to compare a run with itself.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay gate -m model.gguf -p 'The capital of France is' --backend soft
  assay gate -m model.gguf -f text.txt --backend hip --out today --against yesterday
  assay gate --compare today other-engine          two folders, also of other engines

Exit code: 0 for PASS_GUARDRAIL, 1 for FAIL_GUARDRAIL, 2 for INCOMPLETE.")]
pub struct GateCommand {
    #[command(flatten)]
    model: OptionalModelArgs,
    /// The text whose logits are compared.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    prompt: Option<String>,
    /// A file with that text, - for standard input; a line break at its end does not count.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Runs of the gate about determinism.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    runs: u32,
    /// A folder with a stored run, to compare today's with.
    #[arg(long, value_name = "FOLDER")]
    against: Vec<PathBuf>,
    /// Compares two folders, and runs nothing.
    #[arg(long, num_args = 2, value_names = ["FOLDER", "FOLDER"], conflicts_with_all = MODEL_FLAGS, conflicts_with_all = ["prompt", "file", "against", "runs", "out", "locked"])]
    compare: Vec<PathBuf>,
    /// The folder for the runs; it holds today's afterwards.
    #[arg(long, default_value = "assay-gate", value_name = "FOLDER")]
    out: PathBuf,
    /// Writes a page to open in a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The largest difference of two logits.
    #[arg(long, default_value_t = Thresholds::default().max_abs_diff, value_name = "X", value_parser = limit)]
    max_abs_diff: f64,
    /// The difference that 99 % of the logits may not exceed.
    #[arg(long, default_value_t = Thresholds::default().p99_abs_diff, value_name = "X", value_parser = limit)]
    p99_abs_diff: f64,
    /// The share of tokens whose likeliest successor must be the same.
    #[arg(long, default_value_t = Thresholds::default().top1_agreement, value_name = "X", value_parser = share)]
    top1_agreement: f64,
    /// Locks the device, sets HIP's debug environment, and records what could make this run differ from another.
    #[arg(long)]
    locked: bool,
    /// This is the process of one run.
    #[arg(long, hide = true, value_parser = way)]
    inside: Option<Way>,
}

/// Tokens of a chunk at most, unless --chunk says otherwise.
const CHUNK: usize = 3;

/// The key that says whether a planted bug was reached.
const REACHED: &str = "planted_bug_reached";

fn limit(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("'{text}' is no number"))?;
    if number.is_finite() && number >= 0.0 { Ok(number) } else { Err(format!("{text}: want 0 or more")) }
}

fn share(text: &str) -> Result<f64, String> {
    limit(text).and_then(|x| if x <= 1.0 { Ok(x) } else { Err(format!("{text}: want at most 1")) })
}

fn way(text: &str) -> Result<Way, String> {
    Way::ALL.into_iter().find(|way| way.name() == text).ok_or_else(|| format!("'{text}' is no way to run"))
}

impl GateCommand {
    pub fn run(self) -> Result<End, Trouble> {
        let limits = Thresholds {
            max_abs_diff: self.max_abs_diff,
            p99_abs_diff: self.p99_abs_diff,
            top1_agreement: self.top1_agreement,
        };
        if let [left, right] = &self.compare[..] {
            let (left, right) = (read(left)?, read(right)?);
            let gate = equivalence("equivalence", &left, &right, &limits, differ(&left, &right));
            return self.end(&[gate], &limits);
        }
        let Some(model) = &self.model.given() else {
            return Err(Trouble::Input("there is no model (-m), and no two folders (--compare)".into()));
        };
        let prompt = given_text(self.prompt.as_deref(), self.file.as_deref())?;
        if let Some(way) = self.inside {
            return self.inside(model, &prompt, way);
        }
        let here = |path: &Path| path.canonicalize().ok();
        if let Some(same) = self.against.iter().find(|a| here(a).is_some() && here(a) == here(&self.out)) {
            return Err(Trouble::Input(format!(
                "{}: --against and --out are the same folder: a run would be compared with itself",
                same.display()
            )));
        }
        // Bad input is told once, not by each run.
        let tokens = model.file.open()?.prompt(&prompt)?.len();
        if tokens == 0 {
            return Err(Trouble::Input("the prompt has no tokens".into()));
        }
        let locked = if self.locked {
            Some(Locked::take().map_err(|e| Trouble::Device(e.to_string()))?)
        } else {
            None
        };
        make_folder(&self.out)?;
        let stored: Vec<Stored> = self.against.iter().map(|folder| read(folder)).collect::<Result<_, _>>()?;
        let gates = self.gates(model, &prompt, tokens, &stored, &limits)?;
        self.write(&gates, &limits, locked.as_ref())?;
        self.end(&gates, &limits)
    }

    fn gates(
        &self,
        model: &ModelArgs,
        prompt: &str,
        tokens: usize,
        stored: &[Stored],
        limits: &Thresholds,
    ) -> Result<Vec<Gate>, Trouble> {
        let runs = self.out.join("runs");
        let run =
            |way: Way, folder: &Path| self.child(model, prompt, way, folder).and_then(|()| read(folder));
        let mut same = vec![run(Way::Whole, &self.out)?];
        for number in 1..self.runs {
            same.push(run(Way::Whole, &runs.join(format!("whole-{number}")))?);
        }
        let whole = &same[0];
        let was_reached = |run: &Stored| run.metadata.get(REACHED).is_some_and(|reached| reached == true);
        let mut reached = was_reached(whole);
        let mut gates = vec![determinism(&same, limits)];
        for (name, way) in
            [("prefill-decode", Way::Decode), ("one-many", Way::Batched), ("whole-chunked", Way::Chunked)]
        {
            if !way.differs(tokens, chunk(model, tokens)) {
                let text = if tokens == 1 { "1 token runs".into() } else { format!("{tokens} tokens run") };
                let they = if tokens == 1 { "it runs" } else { "they run" };
                let why = format!("{text} {} as {they} whole; give a longer text", way.name());
                gates.push(Gate::inconclusive(name, why));
                continue;
            }
            let other = run(way, &runs.join(way.name()))?;
            reached |= was_reached(&other);
            gates.push(equivalence(name, whole, &other, limits, false));
        }
        let mutant = mutated(model.backend()).is_some();
        if mutant && !reached {
            return Err(Trouble::probe_not_reached(model.backend(), "no op of any run reached its bug"));
        }
        for stored in stored {
            let name = format!("stored {}", stored.path.display());
            gates.push(equivalence(&name, stored, whole, limits, differ(stored, whole)));
        }
        Ok(gates)
    }

    /// Runs this command again as the process of one run.
    fn child(&self, model: &ModelArgs, prompt: &str, way: Way, folder: &Path) -> Result<(), Trouble> {
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let mut command = Command::new(program);
        command.arg("gate").arg(format!("--prompt={prompt}")).args(["--inside", way.name()]);
        command.arg("--out").arg(folder);
        model.pass_on(&mut command);
        if self.locked {
            Locked::prepare(&mut command);
        }
        // What an earlier run left must not pass as this one's.
        remove(folder, &FILES)?;
        let output = command.output().map_err(|e| Trouble::Device(format!("the process of a run: {e}")))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let what = format!("run '{}': {}: {}", way.name(), output.status, said.trim());
        Err(if output.status.code() == Some(2) { Trouble::Input(what) } else { Trouble::Device(what) })
    }

    /// One run, into the folder.
    fn inside(&self, model: &ModelArgs, prompt: &str, way: Way) -> Result<End, Trouble> {
        let file: ModelFile = model.file.open()?;
        let tokens = file.prompt(prompt)?;
        let (gguf, config, chunk) = (&file.gguf, &file.config, chunk(model, tokens.len()));
        let rows = Rows { gguf, config, tokens: &tokens, kv: model.kv, way, chunk };
        let settings = model.settings();
        let (device, entries) = on_backend(model.backend(), &settings, rows)??;
        let stamp = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let bytes: Vec<u8> = tokens.iter().flat_map(|id| id.to_le_bytes()).collect();
        let id = model.id()?;
        let metadata = json!({
            "run_id": format!("{}-{stamp}", std::process::id()),
            "engine": "assay",
            "backend": model.backend(),
            "device": device,
            "build": provenance::build(),
            "date": Provenance::here().date,
            "model": id.file,
            "model_sha256": id.sha256,
            "tokens_sha256": provenance::hex(&Sha256::digest(&bytes)),
            "kv": model.kv.to_string(),
            "way": way,
            "logits": "after each token of the text; token_id is that token",
        });
        let mut metadata = metadata.as_object().cloned().unwrap_or_default();
        if mutated(model.backend()).is_some() {
            metadata.insert(REACHED.into(), settings.probe.was_reached().into());
        }
        Stored::new(metadata, entries).write(&self.out).map_err(Trouble::input)?;
        Ok(End::Well)
    }

    /// Tells what came of the gates.
    fn end(&self, gates: &[Gate], limits: &Thresholds) -> Result<End, Trouble> {
        print(&report::text(gates));
        if let Some(path) = &self.html {
            let page = report::page(gates, limits);
            output_file::write(path, page.as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
            print(&format!("report: {}\n", path.display()));
        }
        Ok(match Overall::of(gates) {
            Overall::PassGuardrail => End::Well,
            Overall::FailGuardrail => End::DoesNotConform,
            Overall::Incomplete => End::Code(2),
        })
    }

    /// The gates, in the summary of today's run.
    fn write(&self, gates: &[Gate], limits: &Thresholds, locked: Option<&Locked>) -> Result<(), Trouble> {
        let path = self.out.join(SUMMARY);
        let text = input_file::read_text(&path, input_file::TEXT).map_err(Trouble::input)?;
        let mut summary: Value = serde_json::from_str(&text).map_err(Trouble::input)?;
        summary["overall"] = json!(Overall::of(gates));
        summary["thresholds"] = json!(limits);
        summary["gates"] = json!(gates);
        summary["surroundings"] = locked::surroundings();
        summary["locked"] = locked.map_or(Value::Null, Locked::json);
        let written = output_file::write(&path, format!("{summary:#}\n").as_bytes());
        written.map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
    }
}

/// Tokens of a chunk of the gate whole-chunked: fewer than the text has, where it has more than one.
fn chunk(model: &ModelArgs, tokens: usize) -> usize {
    model.chunk_or(CHUNK.min(tokens.saturating_sub(1)).max(1))
}

/// Whether two runs are of different engines or backends, whose bits should not all be equal. A run that does not say counts as another.
fn differ(left: &Stored, right: &Stored) -> bool {
    ["engine", "backend"].iter().any(|key| left.text(key).is_none() || left.text(key) != right.text(key))
}

fn read(folder: &Path) -> Result<Stored, Trouble> {
    Stored::read(folder).map_err(Trouble::input)
}
