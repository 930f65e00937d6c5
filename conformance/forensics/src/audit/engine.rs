//! One iteration of the engine, watched: every copy is counted, and what it brings is hashed.

use std::cell::RefCell;
use std::rc::Rc;

use conformance::registry::Job;
use engine::config::ModelConfig;
use engine::generate::{GenerateError, prefill};
use engine::gguf::Gguf;
use engine::kv_cache::KvConfig;
use engine::model::{Batch, Model, ModelError, Step};
use engine::taps::{Point, Tap, TapError, TapSink};
use kernels::decor::{AnyWatch, Wait, Watch, Watched};
use kernels::{Backend, DType, DeviceError, Pending, Site};
use sha2::{Digest, Sha256};

use super::iteration::CopyMade;
use super::variant::{Draw, Variant};

/// What an iteration runs, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Watching<'a> {
    /// The model.
    pub gguf: &'a Gguf,
    /// What it is made of.
    pub config: &'a ModelConfig,
    /// The prompt; the variant says how much of it runs.
    pub prompt: &'a [u32],
    /// Type of the cache.
    pub kv: DType,
    /// What is done with it.
    pub variant: &'a Variant,
}

/// What a run gave.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Given {
    /// The copies that the engine asked for, in their order.
    pub copies: Vec<CopyMade>,
    /// What they brought: a name and a hash for each step's logits and each tap.
    pub brought: Vec<(String, [u8; 32])>,
    /// Copies beside the run that brought other bytes than were written.
    pub wrong: Vec<String>,
}

impl Job for Watching<'_> {
    type Answer = Result<Given, GenerateError>;

    fn run<B: Backend + 'static>(self, backend: B) -> Self::Answer {
        let copies = Rc::new(RefCell::new(Vec::new()));
        let watch: AnyWatch<'_, B> = Box::new(Counter(Rc::clone(&copies)));
        let backend = Watched::new(backend, watch);
        let mut given = Given::default();
        if let Some(seed) = self.variant.churn {
            given.wrong = churn(&backend, seed).map_err(|source| model_error("churn", source))?;
        }
        self.generate(backend, &mut given)?;
        given.copies = copies.take();
        Ok(given)
    }
}

impl Watching<'_> {
    fn generate<B: Backend>(
        &self,
        backend: Watched<B, AnyWatch<'_, B>>,
        given: &mut Given,
    ) -> Result<(), GenerateError> {
        let Variant { prompt, tokens, chunk, taps, .. } = self.variant;
        let prompt = &self.prompt[..(*prompt).min(self.prompt.len())];
        let mut model = Model::load(backend, self.gguf, self.config.clone())?;
        let slots = prompt.len() + tokens.saturating_sub(1);
        let cache = model.cache(KvConfig { dtype: self.kv, seqs: 1, slots });
        let mut cache = cache.map_err(ModelError::from)?;
        let mut taps = Hashes { points: taps, brought: &mut given.brought };
        let mut logits = prefill(&mut model, &mut cache, 0, prompt, *chunk, &mut taps)?;
        for step in 1..=*tokens {
            taps.add(format!("step {}, logits", step - 1), logits.values());
            if step == *tokens {
                break;
            }
            let best = logits.last().iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
            let token = u32::try_from(best.map_or(0, |(id, _)| id)).unwrap_or(0);
            let position = u32::try_from(cache.len(0)).expect("a cache has fewer than 2^32 slots");
            logits = model.forward(
                &mut cache,
                &Batch::of(&[token], 0, position),
                Step::decode(step),
                &mut taps,
            )?;
        }
        Ok(())
    }
}

fn model_error(what: &str, source: DeviceError) -> GenerateError {
    ModelError::Load { what: what.into(), source }.into()
}

/// Counts copies before they are made; it knows nothing of the log.
struct Counter(Rc<RefCell<Vec<CopyMade>>>);

impl<D: Backend> Watch<D> for Counter {
    fn idle(&self) -> bool {
        true
    }

    fn wait(&self, wait: &Wait<'_>) -> Result<(), DeviceError> {
        if let Wait::Copy { range, site, .. } = wait {
            self.0.borrow_mut().push(CopyMade {
                tensor: site.point.to_string(),
                step: i64::try_from(site.step).unwrap_or(i64::MAX),
                layer: site.layer.map(|layer| layer as u64),
                bytes: range.len() as u64,
            });
        }
        Ok(())
    }
}

/// Hashes what the copies bring.
struct Hashes<'a> {
    points: &'a [Point],
    brought: &'a mut Vec<(String, [u8; 32])>,
}

impl Hashes<'_> {
    fn add(&mut self, name: String, values: &[f32]) {
        self.brought.push((name, Sha256::digest(bytemuck::cast_slice(values)).into()));
    }
}

impl TapSink for Hashes<'_> {
    fn wants(&self, point: Point, _: Option<usize>) -> bool {
        self.points.contains(&point)
    }

    fn record(&mut self, tap: &Tap<'_>) -> Result<(), TapError> {
        let layer = tap.layer.map_or(String::new(), |layer| format!(", layer {layer}"));
        self.add(format!("step {}{layer}, {}", tap.step, tap.point), tap.values);
        Ok(())
    }
}

/// Buffers that a stressed iteration makes beside the run.
const BUFFERS: usize = 6;
/// Their largest size.
const LARGEST: usize = 1 << 16;

/// Allocates, writes, reads back at other offsets and on another stream, and frees, in an order that the seed decides. Returns which copies
/// brought other bytes than were written.
fn churn<B: Backend>(backend: &B, seed: u64) -> Result<Vec<String>, DeviceError> {
    let mut draw = Draw::new(seed ^ 0x00c0_b1e5);
    let (mut kept, mut wrong) = (Vec::new(), Vec::new());
    let (writes, reads) = (backend.stream()?, backend.stream()?);
    for number in 0..BUFFERS {
        let size = 1 + draw.below(LARGEST);
        let mut buffer = backend.alloc(size, "churn")?;
        let salt = draw.below(256);
        let bytes: Vec<u8> = (0..size).map(|at| (at ^ at >> 8 ^ salt).to_le_bytes()[0]).collect();
        backend.write(&writes, &mut buffer, 0, &bytes)?;
        let written = backend.record(&writes)?;
        backend.wait_event(&reads, &written)?;
        let start = draw.below(size);
        let end = start + 1 + draw.below(size - start);
        let site = Site::outside("churn");
        let pending = backend.read_bytes(&reads, &buffer, start..end, &site)?;
        if pending.wait()? != bytes[start..end] {
            wrong.push(format!(
                "churn {number}: bytes {start}..{end} of {size} are not those that were written"
            ));
        }
        if draw.below(2) == 0 {
            kept.push(buffer);
        }
    }
    Ok(wrong)
}
