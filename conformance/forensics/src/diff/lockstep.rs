//! Both runs at once, in step. The left one chooses the tokens; neither is more than a few ops ahead of the other, so that
//! nothing has to be kept.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::Instant;

use conformance::registry::{Job, Registry};
use engine::config::ModelConfig;
use engine::generate::{GenerateError, prefill};
use engine::gguf::Gguf;
use engine::kv_cache::KvConfig;
use engine::model::{Batch, Loaded, Model, ModelError, Step};
use engine::sampler::{Sampler, SamplerConfig};
use engine::taps::NoTaps;
use kernels::decor::{AnyWatch, Watched};
use kernels::{Backend, DType, DeviceError, Site, Stem};

use super::left::Teller;
use super::right::{Log, Settings, Shadow};
use super::{Cell, Diff, Finding, Kind, Side};
use crate::provenance::ModelId;

/// Ops that the left run may be ahead.
const AHEAD: usize = 8;

/// What to compare.
#[derive(Clone, Copy, Debug)]
pub struct Lockstep<'a> {
    /// The model.
    pub gguf: &'a Gguf,
    /// What it is made of.
    pub config: &'a ModelConfig,
    /// Its file.
    pub model: Option<&'a ModelId>,
    /// The prompt.
    pub prompt: &'a [u32],
    /// Tokens to generate.
    pub tokens: usize,
    /// Rows of the prompt that run together.
    pub chunk: usize,
    /// Type of the cache.
    pub kv: DType,
    /// Left backend.
    pub left: &'a str,
    /// Right backend, which is judged.
    pub right: &'a str,
    /// Goes on after a finding.
    pub collect: bool,
    /// Folder for capsules of ops that are wrong.
    pub capsules: Option<&'a Path>,
}

/// Runs that could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum DiffError<E> {
    /// A backend cannot be opened.
    #[error(transparent)]
    Open(E),
    /// A run failed.
    #[error("{side}: {source}")]
    Run {
        /// Which backend.
        side: String,
        /// What happened.
        source: Box<GenerateError>,
    },
}

impl Lockstep<'_> {
    /// Compares on backends of `registry`; `progress` is told of each op.
    pub fn run<R: Registry + Sync>(
        &self,
        registry: &R,
        progress: &mut dyn FnMut(&Cell),
    ) -> Result<Diff, DiffError<R::Error>> {
        self.run_watched(registry, &mut |_| (), progress)
    }

    /// The same; `loading` is told how far the weights are on their way to the right backend.
    pub fn run_watched<R: Registry + Sync>(
        &self,
        registry: &R,
        loading: &mut dyn FnMut(Loaded),
        progress: &mut dyn FnMut(&Cell),
    ) -> Result<Diff, DiffError<R::Error>> {
        let begin = Instant::now();
        let (tell, told) = sync_channel(AHEAD);
        let (choose, chosen) = channel();
        let log = RefCell::new(Log::default());
        let progress = RefCell::new(progress);
        let settings = Settings {
            collect: self.collect,
            capsules: self.capsules,
            backend: self.right,
            model: self.model,
            progress: &progress,
        };
        let shadow = Shadow { left: told, log: &log, settings, before: RefCell::new(None) };
        let (left, right) = std::thread::scope(|scope| {
            let teller = Teller { to: tell };
            let left =
                scope.spawn(move || registry.on_backend(self.left, Left { plan: self, teller, choose }));
            let right = registry.on_backend(self.right, Right { plan: self, shadow, chosen, loading });
            let left = left.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (left, right)
        });
        let (left, right) = (left.map_err(DiffError::Open)?, right.map_err(DiffError::Open)?);
        let mut log = log.into_inner();
        if let (true, Err(source)) = (log.orphaned, left.ended) {
            return Err(DiffError::Run { side: self.left.into(), source: Box::new(source) });
        }
        match right.ended {
            Err(error) if !log.stopped => {
                log.found += 1;
                log.findings.push(fault(error, self.right, log.current, log.kept.take())?);
            }
            Ok(()) | Err(_) => {}
        }
        let steps = log.cells.last().map_or(0, |cell| cell.site.step + 1);
        Ok(Diff {
            left: left.side,
            right: right.side,
            model: self.model.cloned(),
            prompt_tokens: self.prompt.len(),
            steps,
            cells: log.cells,
            findings: log.findings,
            found: log.found,
            compared: log.compared,
            seconds: begin.elapsed().as_secs_f64(),
        })
    }

    /// The steps on one backend; `next` takes the logits and answers with the next token.
    fn drive<B: Backend>(
        &self,
        backend: Watched<B, AnyWatch<'_, B>>,
        loading: &mut dyn FnMut(Loaded),
        next: &mut Next<'_>,
    ) -> Result<(), GenerateError> {
        let slots = self.prompt.len() + self.tokens.saturating_sub(1);
        let mut model = Model::load_watched(backend, self.gguf, self.config.clone(), loading)?;
        let mut cache = model.cache(KvConfig { dtype: self.kv, seqs: 1, slots }).map_err(ModelError::from)?;
        let mut logits = prefill(&mut model, &mut cache, 0, self.prompt, self.chunk, &mut NoTaps)?;
        for step in 1..self.tokens {
            let Some(token) = next(logits.last())? else { break };
            let position = u32::try_from(cache.len(0)).expect("a cache has fewer than 2^32 slots");
            let batch = Batch::of(&[token], 0, position);
            logits = model.forward(&mut cache, &batch, Step::decode(step), &mut NoTaps)?;
        }
        Ok(())
    }
}

/// Takes the logits and answers with the next token; `None` where there is none.
type Next<'n> = dyn FnMut(&[f32]) -> Result<Option<u32>, GenerateError> + 'n;

/// How a run went.
struct Ran {
    side: Side,
    ended: Result<(), GenerateError>,
}

struct Left<'a> {
    plan: &'a Lockstep<'a>,
    teller: Teller,
    choose: Sender<u32>,
}

impl Job for Left<'_> {
    type Answer = Ran;

    fn run<B: Backend + 'static>(self, backend: B) -> Ran {
        let side = Side::new(self.plan.left, &backend.identity());
        let watch: AnyWatch<'_, B> = Box::new(self.teller);
        let ended = greedy(self.plan, Watched::new(backend, watch), &self.choose);
        Ran { side, ended }
    }
}

fn greedy<B: Backend>(
    plan: &Lockstep<'_>,
    backend: Watched<B, AnyWatch<'_, B>>,
    choose: &Sender<u32>,
) -> Result<(), GenerateError> {
    let sampler = |source| GenerateError::Sampler { step: 0, source };
    let mut greedy = Sampler::new(SamplerConfig::default()).map_err(sampler)?;
    plan.drive(backend, &mut |_| (), &mut |logits| {
        let token = greedy.sample(logits, &[]).map_err(sampler)?;
        Ok(choose.send(token).is_ok().then_some(token))
    })
}

struct Right<'a> {
    plan: &'a Lockstep<'a>,
    shadow: Shadow<'a>,
    chosen: Receiver<u32>,
    loading: &'a mut dyn FnMut(Loaded),
}

impl Job for Right<'_> {
    type Answer = Ran;

    fn run<B: Backend + 'static>(self, backend: B) -> Ran {
        let side = Side::new(self.plan.right, &backend.identity());
        let watch: AnyWatch<'_, B> = Box::new(self.shadow);
        let ended =
            self.plan.drive(Watched::new(backend, watch), self.loading, &mut |_| Ok(self.chosen.recv().ok()));
        Ran { side, ended }
    }
}

/// A device's failure as a finding. Everything before the op under way has been read back, so that the op is the one at fault.
fn fault<E>(
    error: GenerateError,
    side: &str,
    current: Option<(Stem, Site)>,
    capsule: Option<PathBuf>,
) -> Result<Finding, DiffError<E>> {
    let (Some((stem, site)), GenerateError::Model(ModelError::Device { source, .. })) = (current, &error)
    else {
        return Err(DiffError::Run { side: side.into(), source: Box::new(error) });
    };
    if let DeviceError::Unsupported { .. } = source {
        return Err(DiffError::Run { side: side.into(), source: Box::new(error) });
    }
    Ok(Finding {
        kind: Kind::Fault,
        site,
        op: stem.name().into(),
        operand: String::new(),
        layout: String::new(),
        what: source.to_string(),
        verdict: None,
        left: None,
        guesses: Vec::new(),
        histogram: None,
        capsule,
    })
}
