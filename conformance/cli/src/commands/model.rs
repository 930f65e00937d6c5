//! What the commands that read a model have in common: its file, its place, its cache.

#![expect(clippy::doc_markdown, reason = "doc comments of arguments are the text of --help")]

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;

use assay_cli::backends::{PLUGIN, Settings, mutated, on_backend};
use assay_cli::numbers::{self, thread_count};
use conformance::registry::Job;
use engine::chat::ChatError;
use engine::config::{ConfigError, ModelConfig};
use engine::generate::GenerateError;
use engine::gguf::{Access, Gguf, GgufError};
use engine::guard_rail::{self, GuardRailError};
use engine::kv_cache::{CacheError, KvCache, KvConfig};
use engine::model::{Loaded, Model, ModelError};
use engine::sampler::SamplerError;
use engine::taps::TapError;
use engine::tokenizer::{EncodeOptions, Encoded, Tokenizer, TokenizerError};
use forensics::provenance::ModelId;
use forensics::run::Run;
use kernels::{Backend, DType};

use super::kernels::{KernelArgs, say_what_ran};
use super::progress::Progress;
use super::{Trouble, env, say};

/// The model and where it runs.
#[derive(clap::Args)]
pub struct ModelArgs {
    #[command(flatten)]
    pub file: FileArgs,
    #[arg(long, default_value = "cpu", value_name = "NAME", help = super::backend_help())]
    backend: String,
    /// A backend of yours: a library that implements assay.h, or a Python file (.py). Ops that it lacks run on the CPU.
    #[arg(long, visible_alias = "python", value_name = "FILE", conflicts_with = "backend")]
    pub plugin: Option<PathBuf>,
    /// Threads of the backend cpu; one per core for 0. The results are the same for every number.
    #[arg(short, long, default_value_t = 0, value_name = "N", value_parser = thread_count)]
    pub threads: usize,
    #[command(flatten)]
    pub hip: HipArgs,
    #[command(flatten)]
    pub kernels: KernelArgs,
    /// Type of the KV cache: f32, f16, bf16 or q8_0.
    #[arg(long, default_value = "f16", value_name = "TYPE")]
    pub kv: DType,
    /// Tokens of a prompt that run together. It changes memory and speed, not results.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub chunk: Option<u32>,
}

/// The same for commands that can also do without a model.
#[derive(clap::Args)]
pub struct OptionalModelArgs {
    /// The model, a GGUF file; the first part of a split one.
    #[arg(short, long, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    rail: RailArgs,
    #[arg(long, default_value = "cpu", value_name = "NAME", requires = "model", help = super::backend_help())]
    backend: String,
    /// Threads of the backend cpu; one per core for 0. The results are the same for every number.
    #[arg(short, long, default_value_t = 0, value_name = "N", requires = "model", value_parser = thread_count)]
    threads: usize,
    /// GPU of the backend hip, by a part of its name or architecture.
    #[arg(long, help_heading = HIP, value_name = "NAME", requires = "model")]
    gpu: Option<String>,
    /// Synchronises after every op: the first failing op is then the culprit, not the next checked call.
    #[arg(long, help_heading = HIP, requires = "model")]
    pub sync_per_op: bool,
    /// Type of the KV cache: f32, f16, bf16 or q8_0.
    #[arg(long, default_value = "f16", value_name = "TYPE", requires = "model")]
    pub kv: DType,
    /// Tokens of a prompt that run together. It changes memory and speed, not results.
    #[arg(long, value_name = "N", requires = "model", value_parser = clap::value_parser!(u32).range(1..))]
    pub chunk: Option<u32>,
}

/// The flags of [`OptionalModelArgs`], with which commands that got something else than a model can do nothing.
pub const MODEL_FLAGS: [&str; 8] =
    ["model", "no_guard_rail", "backend", "threads", "gpu", "sync_per_op", "kv", "chunk"];

impl OptionalModelArgs {
    /// The model, if one is given.
    pub fn given(&self) -> Option<ModelArgs> {
        Some(ModelArgs {
            file: FileArgs { model: self.model.clone()?, no_mmap: false, rail: self.rail.clone() },
            backend: self.backend.clone(),
            plugin: None,
            kernels: KernelArgs::default(),
            threads: self.threads,
            hip: HipArgs { gpu: self.gpu.clone(), sync_per_op: self.sync_per_op, ..HipArgs::default() },
            kv: self.kv,
            chunk: self.chunk,
        })
    }
}

/// Heading of the arguments about HIP backends. It stands at each of them: a heading for all that follow would also stand above the
/// arguments of the command.
const HIP: &str = "HIP backends";

/// How the HIP backends run.
#[derive(Clone, Default, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct HipArgs {
    /// GPU of the backend hip, by a part of its name or architecture.
    #[arg(long, help_heading = HIP, value_name = "NAME")]
    pub gpu: Option<String>,
    /// Synchronises after every op: the first failing op is then the culprit, not the next checked call.
    #[arg(long, help_heading = HIP)]
    pub sync_per_op: bool,
    /// Logs every copy to the host, start and end (also GCORE_D2H_AUDIT=1).
    #[arg(long, help_heading = HIP)]
    pub d2h_audit: bool,
    /// File for that log; standard error without it (also GCORE_D2H_AUDIT_LOG).
    #[arg(long, help_heading = HIP, value_name = "FILE")]
    pub d2h_audit_log: Option<PathBuf>,
    /// Synchronises before and after each copy to the host and logs its extents (also GRETA_D2H_DEBUG=1).
    #[arg(long, help_heading = HIP)]
    pub d2h_debug: bool,
    /// Logs blocks before and after each copy to the host, and on an error (also GRETA_TRACE_MEMCPY=1).
    #[arg(long, help_heading = HIP)]
    pub trace_memcpy: bool,
}

/// A model file.
#[derive(clap::Args)]
pub struct FileArgs {
    /// The model, a GGUF file; the first part of a split one.
    #[arg(short, long, value_name = "FILE")]
    pub model: PathBuf,
    /// Reads the model into memory instead of mapping the file, for files that may be shortened or rewritten meanwhile.
    #[arg(long)]
    pub no_mmap: bool,
    #[command(flatten)]
    pub rail: RailArgs,
}

/// Whether a file may contradict itself.
#[derive(Clone, clap::Args)]
pub struct RailArgs {
    /// Goes on although metadata and tensors disagree (also GRETA_DISABLE_GUARD_RAIL=1). Bounds checks stay.
    #[arg(long, requires = "model")]
    pub no_guard_rail: bool,
}

impl RailArgs {
    pub fn enabled(&self) -> Result<bool, Trouble> {
        Ok(!(self.no_guard_rail || env::switch("GRETA_DISABLE_GUARD_RAIL")?))
    }
}

/// A file that has passed the guard rail.
pub struct ModelFile {
    pub gguf: Gguf,
    pub config: ModelConfig,
    pub tokenizer: Tokenizer,
}

impl FileArgs {
    /// Opens the file and compares its metadata with its tensors.
    pub fn open(&self) -> Result<ModelFile, Trouble> {
        let named = |error: Trouble| match error {
            Trouble::Input(what) => Trouble::Input(format!("{}: {what}", self.model.display())),
            device @ Trouble::Device(_) => device,
        };
        // Errors of the file itself name it already.
        let access = if self.no_mmap { Access::Copy } else { Access::Map };
        let gguf = Gguf::open_with(&self.model, access)?;
        let config = ModelConfig::from_gguf(&gguf).map_err(|e| named(e.into()))?;
        let mismatches = guard_rail::enforce(&config, &gguf, self.rail.enabled()?);
        for mismatch in mismatches.map_err(|e| named(e.into()))? {
            say(&format!("warning: {mismatch}"));
        }
        let tokenizer = Tokenizer::from_metadata(gguf.metadata()).map_err(|e| named(e.into()))?;
        Ok(ModelFile { gguf, config, tokenizer })
    }
}

impl ModelFile {
    /// Ids of a text as a prompt: BOS where the model wants it, control tokens recognised.
    pub fn prompt(&self, text: &str) -> Result<Vec<u32>, Trouble> {
        encode(&self.tokenizer, text, EncodeOptions { add_special: true, parse_special: true })
    }
}

impl ModelArgs {
    /// Name of the backend.
    pub fn backend(&self) -> &str {
        if self.plugin.is_some() { PLUGIN } else { &self.backend }
    }

    /// What the flags and the environment tell the backend; a flag wins.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings { threads: self.threads, ..Settings::from_env() };
        settings = settings.with_plugin(self.plugin.as_deref());
        settings.foreign = self.kernels.in_a_model();
        settings.gpu.clone_from(&self.hip.gpu);
        settings.sync_per_op = self.hip.sync_per_op;
        settings.audit.audit |= self.hip.d2h_audit;
        settings.audit.debug |= self.hip.d2h_debug;
        settings.audit.trace |= self.hip.trace_memcpy;
        settings.audit.log = self.hip.d2h_audit_log.clone().or(settings.audit.log);
        settings
    }

    /// Does `job` on the backend.
    pub fn run<T, J: Job<Answer = Result<T, Trouble>>>(&self, job: J) -> Result<T, Trouble> {
        self.kernels.need_device_code([self.backend()])?;
        let settings = self.settings();
        let answer = on_backend(self.backend(), &settings, job)??;
        probe_reached(&[self.backend()], &settings)?;
        say_what_ran(settings.foreign.as_ref())?;
        Ok(answer)
    }

    /// The model of `file` on `backend`, with an empty cache for one sequence of `slots` positions.
    pub fn load<B: Backend>(
        &self,
        backend: B,
        file: &ModelFile,
        slots: usize,
    ) -> Result<(Model<B>, KvCache<B::Buffer>), Trouble> {
        let mut loading = Loading::default();
        let watch = &mut |loaded| loading.reach(loaded);
        let model = Model::load_watched(backend, &file.gguf, file.config.clone(), watch);
        loading.finish();
        let model = model?;
        let trained = file.config.context_length;
        if slots > trained {
            say(&format!("warning: {slots} positions, the model was trained for {trained}"));
        }
        let cache = model.cache(KvConfig { dtype: self.kv, seqs: 1, slots })?;
        Ok((model, cache))
    }

    /// What the model is known by in reports and capsules.
    pub fn id(&self) -> Result<ModelId, Trouble> {
        let path = &self.file.model;
        ModelId::of(path).map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))
    }

    /// The run of `prompt` and `tokens` tokens after it, `chunk` rows at a time unless given.
    pub fn to_run<'a>(&self, file: &'a ModelFile, prompt: &'a [u32], tokens: u32, chunk: usize) -> Run<'a> {
        let (gguf, config, chunk) = (&file.gguf, &file.config, self.chunk_or(chunk));
        Run { gguf, config, prompt, tokens: tokens as usize, chunk, kv: self.kv }
    }

    /// Passes all of this but the log of copies on to a process of this program.
    pub fn pass_on(&self, command: &mut Command) {
        command.arg("-m").arg(&self.file.model);
        match &self.plugin {
            Some(plugin) => command.arg("--plugin").arg(plugin),
            None => command.arg("--backend").arg(&self.backend),
        };
        command.arg("--threads").arg(self.threads.to_string()).arg("--kv").arg(self.kv.to_string());
        if let Some(gpu) = &self.hip.gpu {
            command.arg("--gpu").arg(gpu);
        }
        if self.file.no_mmap {
            command.arg("--no-mmap");
        }
        if self.hip.sync_per_op {
            command.arg("--sync-per-op");
        }
        if let Some(chunk) = self.chunk {
            command.arg("--chunk").arg(chunk.to_string());
        }
        if let Some(files) = self.kernels.files() {
            command.args(files.flags());
        }
        if self.file.rail.no_guard_rail {
            command.arg("--no-guard-rail");
        }
    }

    /// Rows of a pass, `default` unless given.
    pub fn chunk_or(&self, default: usize) -> usize {
        self.chunk.map_or(default, |chunk| chunk as usize)
    }
}

/// Progress of weights on their way to a backend.
#[derive(Default)]
pub struct Loading(Option<Progress>);

impl Loading {
    /// So far they are.
    pub fn reach(&mut self, loaded: Loaded) {
        let progress = self.0.get_or_insert_with(|| Progress::bytes("loading weights", loaded.all));
        progress.reach(loaded.bytes as u64);
    }

    /// They are there.
    pub fn finish(self) {
        if let Some(progress) = self.0 {
            progress.finish();
        }
    }
}

/// The tokens of a text. Says on standard error what of it they leave out.
pub fn encode(tokenizer: &Tokenizer, text: &str, options: EncodeOptions) -> Result<Vec<u32>, Trouble> {
    Ok(say_losses(tokenizer.encode_with_losses(text, options)?))
}

/// The tokens, after a word about what of the text they leave out.
pub fn say_losses(encoded: Encoded) -> Vec<u32> {
    if encoded.lost > 0 {
        let bytes = if encoded.lost == 1 { "byte" } else { "bytes" };
        say(&format!("note: {} {bytes} of the text left out: the vocabulary has no token", encoded.lost));
    }
    encoded.ids
}

/// A text file without the line break at its end, which editors add. `-` is standard input.
pub fn read_text(path: &Path) -> Result<String, Trouble> {
    let (name, read) = if path == Path::new("-") {
        ("standard input".into(), input_file::read_text_from(std::io::stdin(), input_file::TEXT))
    } else {
        (path.display().to_string(), input_file::read_text(path, input_file::TEXT))
    };
    let mut text = read.map_err(|e| Trouble::Input(format!("{name}: {e}")))?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// The text of `-p` or of the file of `-f`; without them that of standard input, unless somebody sits before it.
pub fn given_text(prompt: Option<&str>, file: Option<&Path>) -> Result<String, Trouble> {
    match (prompt, file) {
        (Some(text), _) => return Ok(text.into()),
        (None, Some(path)) => return read_text(path),
        (None, None) if std::io::stdin().is_terminal() => {}
        (None, None) => match read_text(Path::new("-"))? {
            text if text.is_empty() => {}
            text => return Ok(text),
        },
    }
    Err(Trouble::Input(
        "there is no text: give it with -p, in a file with -f, or through standard input".into(),
    ))
}

/// A planted bug that was never reached is an error.
pub fn probe_reached(backends: &[&str], settings: &Settings) -> Result<(), Trouble> {
    if settings.probe.was_reached() {
        return Ok(());
    }
    match backends.iter().find(|name| mutated(name).is_some() || **name == PLUGIN) {
        Some(&PLUGIN) => Err(Trouble::probe_not_reached(PLUGIN, "it implements no op of this run")),
        Some(mutant) => Err(Trouble::probe_not_reached(mutant, "no op of this run reached its bug")),
        None => Ok(()),
    }
}

/// Token ids from a command line. `-` is standard input.
pub fn parse_ids(text: &str) -> Result<Vec<u32>, Trouble> {
    let text = if text == "-" { &*read_text(Path::new("-"))? } else { text };
    numbers::ids(text).map_err(Trouble::Input)
}

/// What an engine's error means for the exit code: bad input, unless the device is at fault.
macro_rules! bad_input {
    ($($Error:ty),+) => {
        $(impl From<$Error> for Trouble {
            fn from(error: $Error) -> Self {
                Trouble::input(error)
            }
        })+
    };
}

bad_input!(GgufError, ConfigError, GuardRailError, TokenizerError, ChatError, SamplerError, TapError);

impl From<ModelError> for Trouble {
    fn from(error: ModelError) -> Self {
        if error.is_device() { Trouble::Device(error.to_string()) } else { Trouble::input(error) }
    }
}

impl From<CacheError> for Trouble {
    fn from(error: CacheError) -> Self {
        if error.is_device() { Trouble::Device(error.to_string()) } else { Trouble::input(error) }
    }
}

impl From<GenerateError> for Trouble {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Model(error) => error.into(),
            other => Trouble::input(other),
        }
    }
}
