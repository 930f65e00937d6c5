//! `assay diff`: two runs side by side.

#![expect(clippy::doc_markdown, reason = "doc comments of arguments are the text of --help")]

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use assay_cli::backends::{PLUGIN, Settings};
use assay_cli::numbers::thread_count;
use assay_cli::report;
use forensics::diff::lockstep::{DiffError, Lockstep};
use forensics::diff::{self, Kind, stored};
use forensics::provenance::ModelId;
use kernels::DType;

use super::kernels::{KernelArgs, say_what_ran};
use super::model::{FileArgs, Loading, RailArgs, given_text, probe_reached};
use super::progress::Progress;
use super::{End, Trouble, print};

/// Rows of a prompt that run together unless --chunk says otherwise.
const CHUNK: u32 = 64;

/// Says which op of a run is the first to go wrong.
///
/// Two backends run the same tokens, op by op. Each op of the right one is put to the oracle on the inputs that it had, so that
/// the op at fault is named and not those that inherit its error; and is compared with the left one's, which shows how far the
/// two have drifted apart. Stops at the first op that is wrong.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay diff -m model.gguf -p 'The capital of France is' --right cpu -n 8
  assay diff -m model.gguf -p Hi --right soft --collect --html diff.html --capsules faults/
  assay diff -m model.gguf -p Hi --right mutant:rope-position-plus-one@layer=3,phase=decode
  assay diff --left-taps ours.safetensors --right-taps theirs.safetensors

A file of taps is what `assay run --tap all --tap-out FILE` writes; another engine's may leave out the list of taps when its
tensors are called step0.pos0.layer3.q_rope and so on.")]
pub struct Diff {
    /// The model, a GGUF file.
    #[arg(short, long, value_name = "FILE", required_unless_present = "left_taps")]
    model: Option<PathBuf>,
    /// The text to continue.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    prompt: Option<String>,
    /// A file with that text, - for standard input; a line break at its end does not count. Without -p and -f the text is read from
    /// standard input.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Tokens to generate.
    #[arg(short, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Backend that chooses the tokens.
    #[arg(long, default_value = "ref", value_name = "NAME")]
    left: String,
    /// Backend that is judged; also mutant:NAME, or mutant:NAME@layer=3,phase=decode,step=2,point=q.
    #[arg(long, default_value = "cpu", value_name = "NAME")]
    right: String,
    /// The backend that is judged: a library that implements assay.h, or a Python file (.py). Ops that it lacks run on the
    /// CPU.
    #[arg(long, visible_alias = "python", value_name = "FILE", conflicts_with = "right")]
    plugin: Option<PathBuf>,
    /// Threads of the backend cpu; one per core for 0.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = thread_count)]
    threads: usize,
    /// Type of the KV cache: f32, f16, bf16 or q8_0.
    #[arg(long, default_value = "f16", value_name = "TYPE")]
    kv: DType,
    /// Tokens of the prompt that run together.
    #[arg(long, default_value_t = CHUNK, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    chunk: u32,
    /// Reads the model into memory instead of mapping the file.
    #[arg(long)]
    no_mmap: bool,
    #[command(flatten)]
    kernels: KernelArgs,
    #[command(flatten)]
    rail: RailArgs,
    /// Goes on after the first op that is wrong.
    #[arg(long)]
    collect: bool,
    /// Folder for capsules of the ops that are wrong.
    #[arg(long, value_name = "DIR")]
    capsules: Option<PathBuf>,
    /// A stored run, instead of the left backend.
    #[arg(long, value_name = "FILE", requires = "right_taps", conflicts_with_all = ["model", "prompt", "file"])]
    left_taps: Option<PathBuf>,
    /// Another one, instead of the right backend.
    #[arg(long, value_name = "FILE", requires = "left_taps")]
    right_taps: Option<PathBuf>,
    /// Largest distance of two stored tensors, relative to the left one.
    #[arg(long, default_value_t = 0.01, value_name = "X")]
    limit: f64,
    /// Writes everything as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a page to open in a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Diff {
    pub fn run(self) -> Result<End, Trouble> {
        let diff = match (&self.left_taps, &self.right_taps) {
            (Some(left), Some(right)) => {
                stored::compare(left, right, self.limit, self.collect).map_err(Trouble::input)?
            }
            _ => self.lockstep()?,
        };
        for finding in diff.findings.iter().filter(|f| f.kind == Kind::Fault) {
            if let Some(path) = &finding.capsule {
                super::replay::cut(path, self.kernels.in_a_model())?;
            }
        }
        print(&report::diff::text(&diff));
        let write = |path: &Path, text: String| {
            output_file::write(path, text.as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
        };
        if let Some(path) = &self.json {
            let json = serde_json::to_string(&diff).map_err(Trouble::input)?;
            write(path, format!("{json}\n"))?;
        }
        if let Some(path) = &self.html {
            write(path, report::diff::page(&diff))?;
            print(&format!("report: {}\n", path.display()));
        }
        print(&self.next_steps(&diff));
        Ok(if diff.agrees() { End::Well } else { End::DoesNotConform })
    }

    /// What to do now.
    fn next_steps(&self, diff: &diff::Diff) -> String {
        let Some(first) = diff.first() else {
            return "next: a longer run (-n 64), another prompt, or --right with another backend\n".into();
        };
        match (&first.capsule, &self.model) {
            (Some(capsule), _) => {
                format!("next: assay replay {} --shrink runs the op alone\n", capsule.display())
            }
            (None, Some(_)) => {
                "next: --capsules faults/ keeps the op as a file that replays anywhere; --collect \
                                --html diff.html shows all ops\n"
                    .into()
            }
            (None, None) => "next: --collect --html diff.html shows all tensors\n".into(),
        }
    }

    fn lockstep(&self) -> Result<diff::Diff, Trouble> {
        self.kernels.need_device_code([&self.right])?;
        let Some(path) = &self.model else {
            return Err(Trouble::Input("want -m and -p, or --left-taps and --right-taps".into()));
        };
        let prompt = &given_text(self.prompt.as_deref(), self.file.as_deref())?;
        let rail = RailArgs { no_guard_rail: self.rail.no_guard_rail };
        let file = FileArgs { model: path.clone(), no_mmap: self.no_mmap, rail }.open()?;
        let prompt = file.prompt(prompt)?;
        let io = |e: std::io::Error| Trouble::Input(format!("{}: {e}", path.display()));
        let model = ModelId::of(path).map_err(io)?;
        if let Some(folder) = &self.capsules {
            std::fs::create_dir_all(folder)
                .map_err(|e| Trouble::Input(format!("{}: {e}", folder.display())))?;
        }
        let tokens = self.n as usize;
        let right = if self.plugin.is_some() { PLUGIN } else { &self.right };
        let lockstep = Lockstep {
            gguf: &file.gguf,
            config: &file.config,
            model: Some(&model),
            prompt: &prompt,
            tokens,
            chunk: self.chunk as usize,
            kv: self.kv,
            left: &self.left,
            right,
            collect: self.collect,
            capsules: self.capsules.as_deref(),
        };
        let foreign = self.kernels.in_a_model();
        let settings = Settings { threads: self.threads, foreign, ..Settings::from_env() };
        let settings = settings.with_plugin(self.plugin.as_deref());
        let mut progress = Progress::new("comparing steps", tokens);
        let mut step = 0;
        let loading = RefCell::new(Loading::default());
        let compared =
            lockstep.run_watched(&settings, &mut |loaded| loading.borrow_mut().reach(loaded), &mut |cell| {
                loading.take().finish();
                if cell.site.step > step {
                    step = cell.site.step;
                    progress.step();
                }
            });
        loading.take().finish();
        progress.finish();
        let compared = compared.map_err(|error| match error {
            DiffError::Open(error) => error.into(),
            DiffError::Run { side, source } => match Trouble::from(*source) {
                Trouble::Input(what) => Trouble::Input(format!("{side}: {what}")),
                Trouble::Device(what) => Trouble::Device(format!("{side}: {what}")),
            },
        })?;
        if compared.agrees() {
            probe_reached(&[&self.left, right], &settings)?;
            say_what_ran(settings.foreign.as_ref())?;
        }
        Ok(compared)
    }
}
