//! `assay run`: an answer from a model.

use std::io::{BufRead, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use assay_cli::template;
use conformance::registry::Job;
use engine::chat::{ChatSource, Message};
use engine::generate::{GenerateOptions, Generation, generate};
use engine::kv_cache::KvCache;
use engine::model::Model;
use engine::sampler::{Sampler, SamplerConfig};
use engine::taps::{NoTaps, Selection, TapFile, TapSink};
use kernels::{Backend, Identity};
use serde_json::json;

use super::model::{ModelArgs, ModelFile, given_text, say_losses};
use super::{End, Trouble, interrupt, note_failure, print, say};

/// Tokens of a prompt that run together.
const CHUNK: usize = 512;

/// Tokens generated at most unless -n says otherwise.
const LENGTH: usize = 128;

/// Positions of a conversation unless --ctx says otherwise.
const CONVERSATION: usize = 4096;

/// Continues a text, or talks.
///
/// The text appears as it is generated; then come the counts, the time to the first token, and tokens per second of
/// prefill and decoding. Without --temp the most probable token is taken every time.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay run -m model.gguf -p 'The capital of France is' -n 20
  assay run -m model.gguf --chat -p 'Why is the sky blue?' --temp 0.7 --top-p 0.9 --seed 1
  assay run -m model.gguf --chat                              a conversation, one line per turn
  assay run -m model.gguf -f prompt.txt --backend ref --kv f32 --json out.json
  git log -1 | assay run -m model.gguf                        a prompt through a pipe
  assay run -m model.gguf -p Hi -n 1 --tap q_rope,x_out@0-3,logits --tap-out taps.safetensors

Trace points, in the order in which a layer runs: embed_out; x_in, attn_norm, q, k, v, q_norm, k_norm, q_rope, k_rope,
kv_write, attn_out, wo_out, x_after_attn, ffn_norm, gate, up, act, mlp_out, x_out; final_norm, logits. POINT@3 is layer 3
alone, POINT@0-5 some layers, all@3 all points of a layer, all everything.

Ctrl-C ends the answer: what there is of it is shown with its times, and the exit code is 130; a conversation goes on.")]
pub struct Run {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    input: Input,
    /// The text of the system turn of a conversation.
    #[arg(long, value_name = "TEXT", requires = "chat")]
    system: Option<String>,
    /// Tokens to generate at most; 128 unless given. The context ends the answer earlier.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    n: Option<u32>,
    /// Positions of the KV cache; as many as prompt and answer need unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ctx: Option<u32>,
    /// Goes on after a token that ends the text.
    #[arg(long)]
    ignore_eos: bool,
    #[command(flatten)]
    sampling: Sampling,
    /// Writes prompt, tokens, text and times as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Intermediate results to keep, separated by commas; see below.
    #[arg(long, value_name = "POINTS", requires = "tap_out")]
    tap: Option<Selection>,
    /// The safetensors file for them.
    #[arg(long, value_name = "FILE")]
    tap_out: Option<PathBuf>,
    /// Layers whose KV cache goes to that file at the end, separated by commas.
    #[arg(long, value_name = "LAYERS", value_delimiter = ',', requires = "tap_out")]
    dump_kv: Vec<usize>,
}

#[derive(clap::Args)]
struct Input {
    /// The text to continue; with --chat, what the user says. Without -p and -f it is read from standard input.
    #[arg(short, long, value_name = "TEXT", conflicts_with = "file")]
    prompt: Option<String>,
    /// A file with that text, - for standard input; a line break at its end does not count.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Uses the model's chat template. Without a text, turns are read from standard input.
    #[arg(long)]
    chat: bool,
}

impl Input {
    /// Whether there is one text, and no conversation.
    const fn is_single(&self) -> bool {
        !self.chat || self.prompt.is_some() || self.file.is_some()
    }
}

/// How tokens are chosen.
#[derive(clap::Args)]
struct Sampling {
    /// Temperature; 0 takes the most probable token.
    #[arg(long, help_heading = "Sampling", default_value_t = 0.0, value_name = "T")]
    temp: f32,
    /// Chooses among the K most probable tokens; 0 means all.
    #[arg(long, help_heading = "Sampling", default_value_t = 0, value_name = "K")]
    top_k: usize,
    /// Chooses among the fewest tokens that have this much probability together.
    #[arg(long, help_heading = "Sampling", default_value_t = 1.0, value_name = "P")]
    top_p: f32,
    /// Drops tokens less probable than this share of the best one.
    #[arg(long, help_heading = "Sampling", default_value_t = 0.0, value_name = "P")]
    min_p: f32,
    /// Makes recent tokens less probable; 1 does not.
    #[arg(long, help_heading = "Sampling", default_value_t = 1.0, value_name = "X")]
    repeat_penalty: f32,
    /// How many tokens count as recent.
    #[arg(long, help_heading = "Sampling", default_value_t = 64, value_name = "N")]
    repeat_last_n: usize,
    /// Decides every draw.
    #[arg(long, help_heading = "Sampling", default_value_t = 0, value_name = "S")]
    seed: u64,
}

impl Sampling {
    fn sampler(&self) -> Result<Sampler, Trouble> {
        Ok(Sampler::new(SamplerConfig {
            temperature: self.temp,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repeat_penalty: self.repeat_penalty,
            repeat_last_n: self.repeat_last_n,
            seed: self.seed,
        })?)
    }
}

impl Run {
    pub fn run(self) -> Result<End, Trouble> {
        let file = self.model.file.open()?;
        let sampler = self.sampling.sampler()?;
        if let Some(&layer) = self.dump_kv.iter().find(|&&layer| layer >= file.config.n_layer) {
            let layers = file.config.n_layer;
            return Err(Trouble::Input(format!("--dump-kv: layer {layer}, the model has {layers}")));
        }
        let text = match (&self.input.prompt, &self.input.file) {
            (None, None) if self.input.chat => None,
            (prompt, file) => Some(given_text(prompt.as_deref(), file.as_deref())?),
        };
        let template =
            self.input.chat.then(|| ChatSource::from_metadata(file.gguf.metadata(), &file.tokenizer));
        let job = Talk { args: &self, file: &file, template: template.transpose()?, sampler, text };
        self.model.run(job)
    }

    /// How many tokens to generate after `prompt` tokens in `slots` positions. The last one needs no position.
    fn length(&self, prompt: usize, slots: usize) -> Result<usize, Trouble> {
        let room = (slots + 1).saturating_sub(prompt);
        if room == 0 {
            return Err(Trouble::Input(format!(
                "context overflow: {prompt} tokens of prompt, there are {slots} positions; raise --ctx or shorten the prompt"
            )));
        }
        match self.n.map(|n| n as usize) {
            Some(n) if n > room => {
                say(&format!(
                    "note: the context has {slots} positions and ends the answer after {room} of {n} tokens; --ctx sets it"
                ));
                Ok(room)
            }
            Some(n) => Ok(n),
            None => Ok(LENGTH.min(room)),
        }
    }
}

/// One text, or a conversation.
struct Talk<'a> {
    args: &'a Run,
    file: &'a ModelFile,
    template: Option<ChatSource>,
    sampler: Sampler,
    text: Option<String>,
}

impl Job for Talk<'_> {
    type Answer = Result<End, Trouble>;

    fn run<B: Backend + 'static>(mut self, backend: B) -> Result<End, Trouble> {
        let identity = backend.identity();
        if let Some(selection) = &self.args.tap {
            selection.within(self.file.config.n_layer).map_err(Trouble::input)?;
        }
        let mut taps = match (&self.args.tap_out, &self.args.tap) {
            (Some(path), selection) => Some(TapFile::create(path, selection.clone().unwrap_or_default())?),
            (None, _) => None,
        };
        let trained = self.file.config.context_length;
        let ctx = self.args.ctx.map(|ctx| ctx as usize);
        let (model, cache, last) = if let Some(text) = self.text.take() {
            let ids = self.prompt(&[Message::new("user", text)])?;
            let wanted = self.args.n.map_or(LENGTH, |n| n as usize);
            let slots = ctx.unwrap_or((ids.len() + wanted - 1).min(trained.max(ids.len())));
            let (mut model, mut cache) = self.args.model.load(backend, self.file, slots)?;
            let answer = self.turn(&mut model, &mut cache, ids, taps.as_mut())?;
            (model, cache, Some(answer))
        } else {
            let slots = ctx.unwrap_or(trained.min(CONVERSATION));
            let (mut model, mut cache) = self.args.model.load(backend, self.file, slots)?;
            let last = self.converse(&mut model, &mut cache, taps.as_mut())?;
            (model, cache, last)
        };
        if let Some(taps) = taps {
            self.finish_taps(&model, &cache, taps, &identity)?;
        }
        if let (Some(path), Some(answer)) = (&self.args.json, &last) {
            let report = format!("{:#}\n", self.report(answer, &identity));
            output_file::write(path, report.as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
        }
        // In a conversation an interrupt ends a turn, and the end of the input ends the command.
        let interrupted = self.args.input.is_single() && last.is_some_and(|answer| answer.interrupted);
        print(if interrupted { "STATUS=INTERRUPTED\n" } else { "STATUS=OK\n" });
        Ok(if interrupted { End::Interrupted } else { End::Well })
    }
}

/// An answer of the model.
struct Answer {
    prompt: Vec<u32>,
    text: String,
    generation: Generation,
    /// Ctrl-C ended it.
    interrupted: bool,
}

impl Talk<'_> {
    /// The ids of a text, or of a conversation up to the assistant's next turn. In a conversation the template writes control
    /// tokens, and what people say does not become one.
    fn prompt(&self, messages: &[Message]) -> Result<Vec<u32>, Trouble> {
        let Some(template) = &self.template else {
            return self.file.prompt(&messages.iter().map(|m| m.content.as_str()).collect::<String>());
        };
        let system = self.args.system.iter().map(|text| Message::new("system", text));
        let tokenizer = &self.file.tokenizer;
        let spelled = |m: Message| Ok(Message { content: tokenizer.spell(&m.content)?, ..m });
        let messages: Vec<_> =
            system.chain(messages.iter().cloned()).map(spelled).collect::<Result<_, Trouble>>()?;
        let program =
            std::env::current_exe().map_err(|e| Trouble::Input(format!("finding this program: {e}")))?;
        let text = template::render(&program, template, &messages).map_err(Trouble::input)?;
        Ok(say_losses(tokenizer.encode_conversation(&text)?))
    }

    /// Turns from standard input until it ends.
    fn converse<B: Backend>(
        &mut self,
        model: &mut Model<B>,
        cache: &mut KvCache<B::Buffer>,
        mut taps: Option<&mut TapFile>,
    ) -> Result<Option<Answer>, Trouble> {
        let mut messages = Vec::new();
        let mut last: Option<Answer> = None;
        loop {
            if std::io::stdin().is_terminal() && emit("> ").is_break() {
                return Ok(last);
            }
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            if read.map_err(|e| Trouble::Input(format!("standard input: {e}")))? == 0 {
                return Ok(last);
            }
            messages.push(Message::new("user", line.trim_end_matches(['\r', '\n'])));
            let ids = self.prompt(&messages)?;
            // What the new prompt shares with the old one and its answer is in the cache already.
            let told = last.iter().flat_map(|a| a.prompt.iter().chain(&a.generation.tokens));
            let shared = told.zip(&ids).take_while(|(a, b)| a == b).count();
            cache.truncate(0, shared.min(cache.len(0)).min(ids.len().saturating_sub(1)))?;
            let answer = self.turn(model, cache, ids, taps.as_deref_mut())?;
            messages.push(Message::new("assistant", answer.text.clone()));
            last = Some(answer);
        }
    }

    /// Generates, shows the text as it comes, then the times.
    fn turn<B: Backend>(
        &mut self,
        model: &mut Model<B>,
        cache: &mut KvCache<B::Buffer>,
        prompt: Vec<u32>,
        taps: Option<&mut TapFile>,
    ) -> Result<Answer, Trouble> {
        let tokenizer = &self.file.tokenizer;
        let ignore_eos = self.args.ignore_eos;
        let stop = |id| !ignore_eos && tokenizer.ends_generation(id);
        let options = GenerateOptions {
            max_tokens: self.args.length(prompt.len(), cache.slots())?,
            chunk: self.args.model.chunk_or(CHUNK),
            stop: &stop,
        };
        let mut nobody = NoTaps;
        let sink: &mut dyn TapSink = match taps {
            Some(file) => file,
            None => &mut nobody,
        };
        let mut stream = tokenizer.stream(false);
        let mut text = String::new();
        let mut undecodable = None;
        let watch = interrupt::watch();
        let on_token = |id| match stream.push(id) {
            Ok(piece) => {
                text += &piece;
                if watch.interrupted() { ControlFlow::Break(()) } else { emit(&piece) }
            }
            Err(error) => {
                undecodable = Some(error);
                ControlFlow::Break(())
            }
        };
        let generation = generate(model, cache, &prompt, &mut self.sampler, options, sink, on_token)?;
        if let Some(error) = undecodable {
            return Err(error.into());
        }
        let rest = stream.finish();
        text += &rest;
        print(&format!("{rest}\n\n{}", figures(&generation)));
        Ok(Answer { prompt, text, generation, interrupted: watch.interrupted() })
    }

    /// Adds the KV caches asked for and puts the file in its place.
    fn finish_taps<B: Backend>(
        &self,
        model: &Model<B>,
        cache: &KvCache<B::Buffer>,
        mut taps: TapFile,
        identity: &Identity,
    ) -> Result<(), Trouble> {
        let config = model.config();
        let shape = [cache.len(0), config.n_kv_head, config.head_dim];
        for &layer in &self.args.dump_kv {
            let [k, v] = model.dump_cache(cache, layer, 0)?;
            taps.cache(layer, "k", &shape, &k)?;
            taps.cache(layer, "v", &shape, &v)?;
        }
        let metadata = [
            ("model", self.args.model.file.model.display().to_string()),
            ("backend", format!("{}: {}", identity.name, identity.device)),
            ("kv", self.args.model.kv.to_string()),
        ];
        Ok(taps.finish(&metadata)?)
    }

    fn report(&self, answer: &Answer, identity: &Identity) -> serde_json::Value {
        let Answer { prompt, text, generation: g, .. } = answer;
        json!({
            "model": self.args.model.file.model.display().to_string(),
            "backend": identity.name,
            "device": identity.device,
            "kv": self.args.model.kv.name(),
            "seed": self.args.sampling.seed,
            "prompt_ids": prompt,
            "gen_ids": g.tokens,
            "text": text,
            "finish": g.finish.name(),
            "prompt_tokens": g.prompt_tokens,
            "prefilled_tokens": g.prefilled_tokens,
            "generated_tokens": g.tokens.len(),
            "time_to_first_token_s": g.first_token.as_secs_f64(),
            "prefill_tokens_per_s": g.prefill_rate(),
            "decode_tokens_per_s": g.decode_rate(),
            "status": "OK",
        })
    }
}

fn figures(g: &Generation) -> String {
    format!(
        "prompt tokens {}\ngenerated tokens {} ({})\ntime to first token {:.3} s\nprefill {:.1} tokens/s\n\
         decode {:.1} tokens/s\n",
        g.prompt_tokens,
        g.tokens.len(),
        g.finish.name(),
        g.first_token.as_secs_f64(),
        g.prefill_rate(),
        g.decode_rate(),
    )
}

/// Shows a piece of text at once; breaks where it cannot be written.
fn emit(text: &str) -> ControlFlow<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            note_failure(Err(error));
            ControlFlow::Break(())
        }
    }
}
