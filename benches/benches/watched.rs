//! Cost of the unused `Watched` decorator: decoding on the bare backend, as in `assay run` and `assay bench`, and on a watched
//! one whose watch does nothing.
//!
//! The two alternate token by token, so that other load on the machine affects both alike; criterion would time
//! one after the other. The golden tiny model always runs: its ops are so small that the cost shows most. `ASSAY_MODEL`
//! names a GGUF file to run as well.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use backend_cpu::fast::Fast;
use engine::config::ModelConfig;
use engine::gguf::Gguf;
use engine::kv_cache::{KvCache, KvConfig};
use engine::model::{Batch, Model, Step};
use engine::taps::NoTaps;
use kernels::decor::{AnyWatch, Watched};
use kernels::{Backend, DType};

/// Positions of the cache; decoding restarts at position 0 when they are used up.
const SLOTS: u32 = 128;

/// Time limit of each side.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Limit of tokens of each side.
const TOKENS: usize = 4000;

/// A model that decodes token by token.
struct Decoding<B: Backend> {
    model: Model<B>,
    cache: KvCache<B::Buffer>,
    at: u32,
}

impl<B: Backend> Decoding<B> {
    fn new(gguf: &Gguf, backend: B) -> Self {
        let config = ModelConfig::from_gguf(gguf).expect("a model");
        let model = Model::load(backend, gguf, config).expect("the model loads");
        let cache = model.cache(KvConfig { dtype: DType::F16, seqs: 1, slots: SLOTS as usize });
        Decoding { model, cache: cache.expect("a cache"), at: 0 }
    }

    /// Time of one token.
    fn token(&mut self) -> Duration {
        if self.at == SLOTS {
            self.cache.truncate(0, 0).expect("a sequence");
            self.at = 0;
        }
        let batch = Batch::of(&[self.at], 0, self.at);
        let begin = Instant::now();
        let step = Step::decode(self.at as usize + 1);
        self.model.forward(&mut self.cache, &batch, step, &mut NoTaps).expect("the token runs");
        self.at += 1;
        begin.elapsed()
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn compare(path: &Path) {
    let gguf = Gguf::open(path).expect("the file opens");
    let no_watch: AnyWatch<'_, Fast> = Box::new(());
    let mut bare = Decoding::new(&gguf, Fast::default());
    let mut watched = Decoding::new(&gguf, Watched::new(Fast::default(), no_watch));
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    for _ in 0..SLOTS {
        bare.token();
        watched.token();
    }
    while a.len() < TOKENS && begin.elapsed() < 2 * TIME_LIMIT {
        // Alternate which side goes first.
        if a.len() % 2 == 0 {
            a.push(bare.token());
            b.push(watched.token());
        } else {
            b.push(watched.token());
            a.push(bare.token());
        }
    }
    let (tokens, a, b) = (a.len(), median(a), median(b));
    let ratio = b.as_secs_f64() / a.as_secs_f64();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    println!("watched/{name}: bare {a:?}, watched {b:?} a token, ratio {ratio:.4} ({tokens} tokens of each)");
}

fn main() {
    let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/tiny/llama.gguf");
    compare(&tiny);
    if let Some(model) = std::env::var_os("ASSAY_MODEL") {
        compare(&PathBuf::from(model));
    }
}
