//! `assay bench`: how fast a model runs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use backend_cpu::fast::{Activations, Roofline, Threads};
use conformance::registry::Job;
use engine::generate::prefill;
use engine::kv_cache::KvCache;
use engine::model::{Batch, Model, Step};
use engine::taps::NoTaps;
use kernels::{Backend, DType, Identity};
use serde_json::{Value, json};

use super::model::{ModelArgs, ModelFile};
use super::progress::Progress;
use super::{End, Trouble, print};

/// Tokens of a prompt that run together.
const CHUNK: usize = 512;

/// Measures how fast a model runs: prompts of -p tokens (pp) and -n tokens one by one from an empty context (tg).
///
/// Each test runs once to warm up and then -r times; the table shows the median of tokens per second and half the distance
/// from the lowest to the highest. On the CPU, the machine's read bandwidth and its rates of f32 and 8-bit arithmetic are measured in
/// the same run: decoding is compared with the first, a prompt with the arithmetic that its weights take.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  assay bench -m model.gguf                                 pp512 and tg128, one thread per core
  assay bench -m model.gguf -p 128 -n 64 -t 2 -r 10 --json out.json
  assay bench -m model.gguf -p 0 -n 32 --backend ref        decoding alone, on the reference")]
pub struct Bench {
    #[command(flatten)]
    model: ModelArgs,
    /// Tokens of the prompt; 0 leaves the test out.
    #[arg(short, long, default_value_t = 512, value_name = "N")]
    prompt: u32,
    /// Tokens to generate; 0 leaves the test out.
    #[arg(short, long, default_value_t = 128, value_name = "N")]
    n: u32,
    /// Times that each test runs.
    #[arg(short, long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reps: u32,
    /// Leaves out the measurement of the machine.
    #[arg(long)]
    no_peaks: bool,
    /// Writes every measurement as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl Bench {
    pub fn run(self) -> Result<End, Trouble> {
        let begin = Instant::now();
        let file = self.model.file.open()?;
        let job = Measure { args: &self, file: &file, begin };
        let measured = self.model.run(job)?;
        let host = matches!(self.model.backend(), "cpu" | "cpu-exact");
        let peaks = (host && !self.no_peaks).then(|| Roofline::measure(&Threads::new(self.model.threads)));
        let size = Size::of(&file);
        print(&table(&self, &measured, &size, peaks));
        if let Some(path) = &self.json {
            let report = report(&self, &measured, &size, peaks);
            output_file::write(path, format!("{report:#}\n").as_bytes())
                .map_err(|e| Trouble::Input(format!("{}: {e}", path.display())))?;
        }
        print("STATUS=OK\n");
        Ok(End::Well)
    }
}

impl Bench {
    /// What enters products with quantised weights.
    fn activations(&self) -> Activations {
        if self.model.backend() == "cpu" { Activations::Int8 } else { Activations::Exact }
    }
}

/// A test and what came of it.
struct Test {
    name: String,
    /// Tokens per second of each run.
    rates: Vec<f64>,
    /// What bounds it.
    bound: Bound,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Every token reads all weights.
    Memory,
    /// A token's arithmetic.
    Arithmetic,
}

struct Measured {
    identity: Identity,
    /// Seconds from the start of the command until the model could run.
    load: f64,
    tests: Vec<Test>,
}

struct Measure<'a> {
    args: &'a Bench,
    file: &'a ModelFile,
    begin: Instant,
}

impl Job for Measure<'_> {
    type Answer = Result<Measured, Trouble>;

    fn run<B: Backend + 'static>(self, backend: B) -> Result<Measured, Trouble> {
        let Measure { args, file, begin } = self;
        let identity = backend.identity();
        let (prompt, generated, reps) = (args.prompt as usize, args.n as usize, args.reps as usize);
        let (mut model, mut cache) = args.model.load(backend, file, prompt.max(generated).max(1))?;
        let load = begin.elapsed().as_secs_f64();
        let vocab = u32::try_from(file.config.vocab_size).map_err(Trouble::input)?.max(1);
        // Any tokens will do: the time does not depend on them.
        let tokens: Vec<u32> = (0..args.prompt.max(args.n)).map(|i| i.wrapping_mul(7919) % vocab).collect();
        let mut progress = Progress::new("measuring", (reps + 1) * 2);
        let mut tests = Vec::new();
        let mut repeat = |test: &mut dyn FnMut() -> Result<(), Trouble>, count: usize| {
            let mut rates = Vec::with_capacity(reps);
            for run in 0..=reps {
                let begin = Instant::now();
                test()?;
                if run > 0 {
                    rates.push(count as f64 / begin.elapsed().as_secs_f64());
                }
                progress.step();
            }
            rates.sort_by(f64::total_cmp);
            Ok::<_, Trouble>(rates)
        };
        if prompt > 0 {
            let chunk = args.model.chunk_or(CHUNK);
            let mut test = || read_prompt(&mut model, &mut cache, &tokens[..prompt], chunk);
            let rates = repeat(&mut test, prompt)?;
            tests.push(Test { name: format!("pp{prompt}"), rates, bound: Bound::Arithmetic });
        }
        if generated > 0 {
            let mut test = || decode(&mut model, &mut cache, &tokens[..generated]);
            let rates = repeat(&mut test, generated)?;
            tests.push(Test { name: format!("tg{generated}"), rates, bound: Bound::Memory });
        }
        progress.finish();
        Ok(Measured { identity, load, tests })
    }
}

fn read_prompt<B: Backend>(
    model: &mut Model<B>,
    cache: &mut KvCache<B::Buffer>,
    tokens: &[u32],
    chunk: usize,
) -> Result<(), Trouble> {
    cache.truncate(0, 0)?;
    prefill(model, cache, 0, tokens, chunk, &mut NoTaps)?;
    Ok(())
}

/// Runs `tokens` one by one, with the logits of each.
fn decode<B: Backend>(
    model: &mut Model<B>,
    cache: &mut KvCache<B::Buffer>,
    tokens: &[u32],
) -> Result<(), Trouble> {
    cache.truncate(0, 0)?;
    for (step, (position, token)) in (0..).zip(tokens).enumerate() {
        let batch = Batch::of(&[*token], 0, position);
        model.forward(cache, &batch, Step::decode(step + 1), &mut NoTaps)?;
    }
    Ok(())
}

/// How large a model is.
struct Size {
    /// Bytes of its tensors.
    bytes: usize,
    /// Bytes that a token reads: all but the embedding, of which it reads one row; with tied embeddings all.
    read: usize,
    /// Multiplications of a prompt's token with weights that are floats: all matrices but the embedding and the output.
    floats: usize,
    /// The same with quantised weights.
    quantised: usize,
    /// The type of most bytes.
    format: String,
}

impl Size {
    fn of(file: &ModelFile) -> Self {
        let tensors = file.gguf.tensors();
        let tied = file.gguf.tensor("output.weight").is_none();
        let mut by_format = BTreeMap::new();
        let mut size = Size { bytes: 0, read: 0, floats: 0, quantised: 0, format: String::new() };
        for tensor in tensors {
            let bytes = tensor.range().len();
            let (embedding, output) =
                (tensor.name() == "token_embd.weight", tensor.name() == "output.weight");
            *by_format.entry(tensor.dtype().name()).or_insert(0) += bytes;
            size.bytes += bytes;
            size.read += if embedding && !tied { 0 } else { bytes };
            let multiplied =
                if DType::FLOATS.contains(&tensor.dtype()) { &mut size.floats } else { &mut size.quantised };
            *multiplied +=
                if embedding || output || tensor.shape().len() < 2 { 0 } else { tensor.elements() };
        }
        let most = by_format.into_iter().max_by_key(|&(_, bytes)| bytes);
        size.format = most.map_or_else(String::new, |(name, _)| name.to_string());
        size
    }

    /// The share of the machine's limit that `rate` tokens per second make, with the limit's name. Quantised weights are multiplied by
    /// `activations` of 8 bits or by floats.
    fn share(
        &self,
        bound: Bound,
        rate: f64,
        activations: Activations,
        peaks: Roofline,
    ) -> (f64, &'static str) {
        let seconds = |multiplied: usize, peak: f64| 2.0 * multiplied as f64 / peak;
        match (bound, activations) {
            (Bound::Memory, _) => (rate * self.read as f64 / peaks.read, "of read bandwidth"),
            (Bound::Arithmetic, Activations::Int8) if self.quantised > 0 => {
                let least = seconds(self.floats, peaks.flops) + seconds(self.quantised, peaks.byte_ops);
                (rate * least, "of 8-bit arithmetic")
            }
            (Bound::Arithmetic, _) => {
                (rate * seconds(self.floats + self.quantised, peaks.flops), "of f32 arithmetic")
            }
        }
    }
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Half the distance from the lowest to the highest.
fn spread(sorted: &[f64]) -> f64 {
    (sorted.last().copied().unwrap_or(0.0) - sorted.first().copied().unwrap_or(0.0)) / 2.0
}

fn table(args: &Bench, measured: &Measured, size: &Size, peaks: Option<Roofline>) -> String {
    let model = args.model.file.model.file_stem().unwrap_or_default().to_string_lossy();
    let Identity { name, device, .. } = &measured.identity;
    let mut text = String::from(
        "| model | size | format | backend | test | tokens/s | share of the machine |\n|---|---|---|---|---|---|---|\n",
    );
    for test in &measured.tests {
        let rate = median(&test.rates);
        let share = peaks.map(|peaks| size.share(test.bound, rate, args.activations(), peaks));
        let share = share.map_or_else(String::new, |(share, what)| format!("{:.0} % {what}", 100.0 * share));
        let _ = writeln!(
            text,
            "| {model} | {:.1} MB | {} | {name} | {} | {rate:.1} ± {:.1} | {share} |",
            size.bytes as f64 / 1e6,
            size.format,
            test.name,
            spread(&test.rates),
        );
    }
    let _ = writeln!(text, "\n{device}, kv {}; loaded in {:.0} ms", args.model.kv, 1e3 * measured.load);
    if let Some(peaks) = peaks {
        let [read, flops, bytes] = [peaks.read, peaks.flops, peaks.byte_ops].map(|rate| rate / 1e9);
        let _ = writeln!(
            text,
            "this machine now: {read:.1} GB/s read, {flops:.0} GFLOP/s f32, {bytes:.0} GOP/s 8-bit"
        );
    }
    text
}

fn report(args: &Bench, measured: &Measured, size: &Size, peaks: Option<Roofline>) -> Value {
    let test = |test: &Test| {
        json!({
            "test": test.name,
            "tokens_per_second": median(&test.rates),
            "runs": test.rates,
            "share": peaks.map(|peaks| size.share(test.bound, median(&test.rates), args.activations(), peaks).0),
        })
    };
    json!({
        "model": args.model.file.model.display().to_string(),
        "bytes": size.bytes,
        "format": size.format,
        "backend": measured.identity.name,
        "device": measured.identity.device,
        "kv": args.model.kv.name(),
        "load_seconds": measured.load,
        "tests": measured.tests.iter().map(test).collect::<Vec<_>>(),
        "peaks": peaks.map(|peaks| json!({
            "read_bytes_per_second": peaks.read,
            "flops": peaks.flops,
            "byte_ops": peaks.byte_ops,
        })),
    })
}
