//! `assay logits`: the logits of every position, in a file.

use std::path::PathBuf;

use conformance::registry::Job;
use engine::kv_cache::KvCache;
use engine::model::{Batch, Model, Step};
use engine::safetensors_file::SafetensorsFile;
use engine::taps::NoTaps;
use kernels::Backend;

use super::model::{ModelArgs, ModelFile, given_text, parse_ids};
use super::{End, Trouble, print};

/// Rows of logits that are held at a time.
const CHUNK: usize = 64;

/// Writes the f32 logits after every token of a prompt.
///
/// The file has one tensor `logits` [tokens, vocabulary]; its metadata name the tokens, the model, the backend and the
/// type of the KV cache.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay logits -m model.gguf -p 'The capital of France is' --out cpu.safetensors
  assay logits -m model.gguf --tokens 504,3575,282 --backend ref --kv f32 --out ref.safetensors")]
#[group(skip)]
pub struct Logits {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    input: Input,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(clap::Args)]
#[group(multiple = false)]
struct Input {
    /// The text; read from standard input without -p, -f and --tokens.
    #[arg(short, long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A file with the text, - for standard input; a line break at its end does not count.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Token ids, separated by commas or blanks; - for standard input.
    #[arg(long, value_name = "IDS")]
    tokens: Option<String>,
}

impl Logits {
    pub fn run(self) -> Result<End, Trouble> {
        let file = self.model.file.open()?;
        let Input { prompt, file: text, tokens } = &self.input;
        let ids = match tokens {
            Some(tokens) => parse_ids(tokens)?,
            None => file.prompt(&given_text(prompt.as_deref(), text.as_deref())?)?,
        };
        if ids.is_empty() {
            return Err(Trouble::Input("the prompt has no tokens".into()));
        }
        self.model.run(Write { args: &self, file: &file, ids: &ids })?;
        print(&format!("{}: {} x {} logits\n", self.out.display(), ids.len(), file.config.vocab_size));
        Ok(End::Well)
    }
}

struct Write<'a> {
    args: &'a Logits,
    file: &'a ModelFile,
    ids: &'a [u32],
}

impl Job for Write<'_> {
    type Answer = Result<(), Trouble>;

    fn run<B: Backend + 'static>(self, backend: B) -> Result<(), Trouble> {
        let Write { args, file, ids } = self;
        let failed = |e: std::io::Error| Trouble::Input(format!("{}: {e}", args.out.display()));
        let mut out = SafetensorsFile::create(&args.out).map_err(failed)?;
        out.tensor("logits", &[ids.len(), file.config.vocab_size]).map_err(failed)?;
        let identity = backend.identity();
        let (mut model, mut cache) = args.model.load(backend, file, ids.len())?;
        for_each_chunk(&mut model, &mut cache, ids, args.model.chunk_or(CHUNK), |logits| {
            out.append(logits.values()).map_err(failed)
        })?;
        let metadata = [
            ("tokens", serde_json::json!(ids).to_string()),
            ("model", args.model.file.model.display().to_string()),
            ("backend", format!("{}: {}", identity.name, identity.device)),
            ("kv", args.model.kv.to_string()),
        ];
        out.finish(metadata).map_err(failed)
    }
}

/// Runs `ids` from the start of the cache, `chunk` at a time, and hands on the logits of all of them.
pub fn for_each_chunk<B: Backend>(
    model: &mut Model<B>,
    cache: &mut KvCache<B::Buffer>,
    ids: &[u32],
    chunk: usize,
    mut each: impl FnMut(&engine::model::Logits) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    for ids in ids.chunks(chunk) {
        let first = u32::try_from(cache.len(0)).map_err(Trouble::input)?;
        let batch = Batch::of(ids, 0, first).with_all_logits();
        each(&model.forward(cache, &batch, Step::PREFILL, &mut NoTaps)?)?;
    }
    Ok(())
}
